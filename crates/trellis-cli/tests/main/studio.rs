//! The studio of `trellis serve`, in a real browser; `.ci/install` installs what drives and builds it.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use trellis_tests::peers::{announce, peer};

use crate::{open::Open, sandbox::Sandbox};

/// The folder of what drives the browser, and of what builds the page.
fn peers() -> PathBuf {
    peer("studio/installed").parent().expect("a folder").to_owned()
}

pub(crate) fn script(name: &str) -> Command {
    let (peers, here) = (peers(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut command = Command::new(peers.join("node"));
    command
        .arg(here.join("tests/studio").join(name))
        .env("TRELLIS_STUDIO_PEERS", &peers)
        .env("TRELLIS", env!("CARGO_BIN_EXE_trellis"))
        .env("TRELLIS_GRAPHS", here.join("../../graphs"));
    command
}

/// Runs a script to its end, which says `wanted`, and announces its browser.
fn run(script: &mut Command, wanted: &str) {
    let ran = script.output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    let started = out.lines().find_map(|line| line.strip_prefix("chromium: ")?.strip_suffix(" ms")?.parse().ok());
    announce("Chromium", Duration::from_millis(started.unwrap_or_default()));
    assert!(ran.status.success() && out.contains(wanted), "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
}

/// Plays every journey; `form` is empty for the pointer.
fn play(form: &str) {
    run(script("journeys.mjs").env("FORM", form), "journeys\n");
}

#[test]
fn people_walk_decide_and_travel_in_a_browser() {
    play("");
}

/// The same by `Tab`, `Enter` and letters; `./test long` plays it in the dark and on a narrow page besides.
#[test]
fn people_do_all_of_it_without_a_pointer() {
    play("keyboard");
}

/// The chat and the dashboard of an agent, each with the pointer, by keyboard, on a phone, in the dark, and against axe (orchestrator 4, 8.5).
#[test]
fn people_chat_with_an_agent_and_mend_it_in_a_browser() {
    run(&mut script("agent.mjs"), "journeys\n");
}

/// The arguments of a program are seen by everybody, so the token stands in a file that only its user may read.
#[test]
fn the_browser_gets_a_file_that_leads_to_the_address() {
    let sandbox = Sandbox::new(&[("start.md", "Hello.\n")]);
    sandbox.write("bin/xdg-open", b"#!/bin/sh\nstat -c %a \"$1\" >part && cat \"$1\" >>part && echo \"$1\" >>part && mv part opened\n");
    let opener = sandbox.path().join("bin/xdg-open");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.command(&["serve", "--open"]);
    command.env("PATH", format!("{}:{}", sandbox.path().join("bin").display(), env::var("PATH").unwrap()));
    let open = Open::start(command);
    let address = open.line();
    let (opened, until) = (sandbox.path().join("opened"), Instant::now() + Duration::from_secs(120));
    while !opened.exists() {
        assert!(Instant::now() < until, "no browser was opened");
        thread::sleep(Duration::from_millis(20));
    }
    let page = fs::read_to_string(opened).unwrap();
    let lines: Vec<_> = page.lines().collect();
    let [mode, .., file] = lines[..] else { panic!("{page}") };
    assert!(mode == "600" && page.contains(&format!("url={address}\"")), "{page}");
    assert!(!file.contains(address.rsplit('#').next().unwrap()), "{file}");
}

/// Measures the size and the speed of the page.
#[test]
fn the_page_stays_within_its_budgets() {
    run(&mut script("budgets.mjs"), "within");
}

/// The page that the server embeds is the one that its sources build, byte for byte.
#[test]
fn the_embedded_page_is_what_its_sources_build() {
    let peers = peers();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trellis-server/studio");
    let folder = tempfile::tempdir().unwrap();
    copy(&sources, folder.path());
    std::os::unix::fs::symlink(peers.join("build/node_modules"), folder.path().join("node_modules")).unwrap();
    for program in [["typescript/bin/tsc", "--noEmit"], ["vite/bin/vite.js", "build"]] {
        let [path, argument] = program;
        let ran = Command::new(peers.join("node"))
            .arg(folder.path().join("node_modules").join(path))
            .arg(argument)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    }
    let built = files(&folder.path().join("dist"));
    assert_eq!(built, files(&sources.join("dist")), "`dist` holds other files than the build");
    for file in built {
        let same = fs::read(folder.path().join("dist").join(&file)).unwrap() == fs::read(sources.join("dist").join(&file)).unwrap();
        assert!(same, "`{file}` is not what the sources build: run `npm ci && npm run build` in crates/trellis-server/studio");
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Copies the sources, without what was built or installed.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        if name == "node_modules" || name == "dist" {
            continue;
        }
        if kind.is_dir() {
            fs::create_dir(to.join(&name)).unwrap();
            copy(&entry.path(), &to.join(&name));
        } else {
            fs::copy(entry.path(), to.join(&name)).unwrap();
        }
    }
}
