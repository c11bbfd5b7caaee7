//! The extension of VS Code in `editors/vscode`: its types, its tests and its package; `.ci/install` installs what builds it. `./test long` drives it in
//! a browser.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use trellis_tests::peers::peer;

/// The largest package, in bytes.
const MAX_PACKAGE: u64 = 300 * 1024;

fn peers() -> PathBuf {
    peer("vscode/installed").parent().expect("a folder").to_owned()
}

/// A copy of the sources beside what builds them.
fn copy() -> tempfile::TempDir {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode");
    let copy = tempfile::tempdir().unwrap();
    for folder in ["", "src", "test"] {
        fs::create_dir_all(copy.path().join(folder)).unwrap();
        for entry in fs::read_dir(sources.join(folder)).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            fs::copy(entry.path(), copy.path().join(folder).join(entry.file_name())).unwrap();
        }
    }
    std::os::unix::fs::symlink(peers().join("node_modules"), copy.path().join("node_modules")).unwrap();
    copy
}

fn run(folder: &Path, script: &str) {
    let node = peers().join("node").canonicalize().unwrap();
    let path = format!("{}:{}", node.parent().unwrap().display(), env::var("PATH").unwrap());
    let ran = Command::new("npm").args(["run", "--silent", script]).current_dir(folder).env("PATH", path).output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(ran.status.success(), "npm run {script}: {}{}", said[0], said[1]);
}

/// `editors/vscode/README.md`: it passes its tests, and is small.
#[test]
fn the_extension_is_typed_tested_and_small() {
    let copy = copy();
    for script in ["check", "test", "package"] {
        run(copy.path(), script);
    }
    let package = fs::metadata(copy.path().join("dist/trellis-graph.vsix")).unwrap();
    assert!(package.len() <= MAX_PACKAGE, "{} bytes", package.len());
}

/// `editors/vscode/README.md`: the program is a setting of the machine, so that no workspace names it; play and the studio want trust.
#[test]
fn no_workspace_chooses_what_is_run() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode/package.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["contributes"]["configuration"]["properties"]["trellis.path"]["scope"], "machine");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let commands = manifest["contributes"]["commands"].as_array().unwrap();
    for name in ["trellis.play", "trellis.playHere", "trellis.studio"] {
        let command = commands.iter().find(|command| command["command"] == name).unwrap();
        assert_eq!(command["enablement"], "isWorkspaceTrusted", "{name}");
    }
}
