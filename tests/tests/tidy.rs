//! The rules of the house that no compiler knows: what a file opens with, how long it is, what it may not name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use trellis_core::Code;

use crate::repository;

/// Files above 600 lines, with the reason why each holds one thing.
const LONG_FILES: [(&str, &str); 0] = [];

#[test]
fn every_rust_file_opens_with_what_it_is() {
    assert_none(
        rust_files().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(path, _)| format!("{path} does not open with `//! `")),
    );
}

#[test]
fn files_hold_one_thing() {
    let long = rust_files().into_iter().map(|(path, text)| (text.lines().count(), path)).filter(|(lines, _)| *lines > 600);
    let excused = |path: &str| LONG_FILES.iter().any(|(known, _)| *known == path);
    assert_none(long.filter(|(_, path)| !excused(path)).map(|(lines, path)| format!("{path} has {lines} lines: does it hold one thing?")));
    for (path, _) in LONG_FILES {
        let lines = fs::read_to_string(repository().join(path)).map_or(0, |text| text.lines().count());
        assert!(lines > 600, "{path} has {lines} lines and needs no excuse any more");
    }
}

#[test]
fn names_say_what_a_thing_is() {
    let empty = ["Manager", "Service", "Helper", "Util", "Utils", "Base", "Impl"];
    let kinds = ["struct ", "enum ", "trait ", "type ", "mod "];
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
            let Some(name) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else { continue };
            let name: String = name.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
            if words(&name).iter().any(|word| empty.iter().any(|empty| empty.eq_ignore_ascii_case(word))) {
                found.push(format!("{path}:{}: `{name}` does not say what it is", number + 1));
            }
        }
    }
    assert_none(found);
}

/// The words of a name in either case.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for char in name.chars() {
        if char == '_' || char.is_uppercase() {
            words.push(String::new());
        }
        if char != '_' {
            words.last_mut().expect("there is a first word").push(char);
        }
    }
    words
}

#[test]
fn no_test_is_switched_off_and_no_work_is_left() {
    let marks = [["#[ig", "nore"].concat(), ["tod", "o!("].concat(), ["unimpl", "emented!("].concat(), ["FIX", "ME"].concat()];
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            found.extend(marks.iter().filter(|mark| line.contains(&***mark)).map(|mark| format!("{path}:{}: {mark}", number + 1)));
        }
    }
    assert_none(found);
}

/// The crates of the core: those below the facade, and the facade.
const PURE: [&str; 7] =
    ["trellis-base", "trellis-syntax", "trellis-engine", "trellis-compiler", "trellis-draw", "trellis-ide", "trellis-core"];

#[test]
fn of_documents_only_a_program_knows() {
    let program = "crates/trellis-engine/src/program/mod.rs";
    let found = mentions("crates/trellis-engine/src/", &["trellis_syntax"]);
    assert_none(found.into_iter().filter(|line| !line.starts_with(&format!("{program}:"))));
    let text = fs::read_to_string(repository().join(program)).expect("the module of the program");
    let uses = text.split("use trellis_syntax::").nth(1).and_then(|rest| rest.split(';').next()).expect("its uses of the syntax");
    assert_none(
        ["node::", "condition::"].iter().filter(|name| uses.contains(**name)).map(|name| format!("{program}: trellis_syntax::{name}")),
    );
}

#[test]
fn one_place_knows_how_a_rollback_continues() {
    let known = ["crates/trellis-engine/src/program/edges.rs:", "crates/trellis-draw/src/lib.rs:"];
    let found = PURE.iter().flat_map(|name| mentions(&format!("crates/{name}/src/"), &["edges_after_rollback("]));
    assert_none(found.filter(|line| !known.iter().any(|file| line.starts_with(file))));
}

#[test]
fn the_core_does_not_know_the_world() {
    let parts = ["fs", "env", "net", "process", "thread", "os"];
    let mut found = Vec::new();
    let is_pure = |path: &str| PURE.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    for (path, text) in rust_files().into_iter().filter(|(path, _)| is_pure(path)) {
        for (number, line) in without_tests(&path, &text).lines().enumerate() {
            let named = parts.iter().any(|part| line.contains(&format!("std::{part}")) || line.contains(&format!("std::{{{part}")));
            let clock = ["Instant", "SystemTime", "tokio", "async fn"].iter().any(|word| line.contains(word));
            if named || clock {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none(found);
    let banned = fs::read_to_string(repository().join("crates/trellis-core/clippy.toml")).expect("the core's clippy.toml");
    for line in fs::read_to_string(repository().join("clippy.toml")).expect("clippy.toml").lines() {
        assert!(banned.contains(line), "the core's clippy.toml replaces the root one and must repeat `{line}`");
    }
    for name in PURE.iter().filter(|name| **name != "trellis-core") {
        let link = fs::read_link(repository().join(format!("crates/{name}/clippy.toml"))).ok();
        assert_eq!(
            link.as_deref(),
            Some(Path::new("../trellis-core/clippy.toml")),
            "{name} bans what the core bans, by a link to its file"
        );
    }
}

#[test]
fn shapes_on_the_wire_have_one_owner() {
    let lines =
        ["RENDER_CONTENT", "REQUEST_INPUT", "APPROVAL", "CALL_TOOL", "PROGRESS", "TOOL_RESULT", "RELOAD", "NEEDS", "CHANGED", "END"];
    let names: Vec<String> = lines.iter().map(|line| format!("{line:?}")).chain(["end_column".into()]).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let folders = [
        "crates/trellis-host/src",
        "crates/trellis-project/src",
        "crates/trellis-server/src",
        "crates/trellis-orchestrator/src",
        "crates/trellis-cli/src",
        "examples",
    ];
    assert_none(folders.iter().flat_map(|folder| mentions(folder, &names)).filter(|place| !place.contains("/src/wire/")));
}

#[test]
fn a_door_says_and_does_not_decide() {
    let server = "crates/trellis-server/src";
    let hosts = [" Engine", "{Engine", "SessionStore", "Operator", "Sessions::"];
    let found = mentions(&format!("{server}/http"), &hosts).into_iter();
    assert_none(found.filter(|line| !line.contains("/http/engine.rs:")));
    assert_none(mentions(&format!("{server}/act"), &["axum", "rmcp", "hyper", "StatusCode"]));
    let tokens = ["AUTHORIZATION", "Bearer"];
    let elsewhere = mentions(server, &tokens).into_iter().filter(|line| !line.contains("/src/gate/"));
    // An instruction to a client is no token.
    assert_none(elsewhere.filter(|line| !line.contains("/http/problem.rs:")));
    let stops = ["Ask", "Call", "Approve", "Predicate", "Keys", "Changed", "Ended", "Running"].map(|stop| format!("Stop::{stop} {{"));
    let stops: Vec<&str> = stops.iter().map(|stop| &**stop).collect();
    assert_none(mentions(server, &stops));
}

/// Each crate and those that it depends on. A crate stands behind all that it uses, so none can use another in return.
const WALLS: [(&str, &[&str]); 14] = [
    ("trellis-base", &[]),
    ("trellis-syntax", &["trellis-base"]),
    // A program keeps the documents that it was compiled from.
    ("trellis-engine", &["trellis-base", "trellis-syntax"]),
    ("trellis-compiler", &["trellis-base", "trellis-engine", "trellis-syntax"]),
    // Of the syntax only the texts that findings point into, behind the feature `miette`.
    ("trellis-draw", &["trellis-base", "trellis-engine", "trellis-syntax"]),
    ("trellis-ide", &["trellis-base", "trellis-compiler", "trellis-engine", "trellis-syntax"]),
    ("trellis-core", &["trellis-base", "trellis-compiler", "trellis-draw", "trellis-engine", "trellis-ide", "trellis-syntax"]),
    ("trellis-project", &["trellis-core"]),
    // Nothing of a session: a trial asks the engine alone.
    ("trellis-trial", &["trellis-core", "trellis-project"]),
    // Requests are answered in order, by one thread; nothing of a graph runs.
    ("trellis-lsp", &["trellis-core", "trellis-project"]),
    // Of the project only what a graph on disk needs, behind the feature `reload`.
    ("trellis-host", &["trellis-core", "trellis-project"]),
    ("trellis-server", &["trellis-core", "trellis-host", "trellis-project"]),
    ("trellis-orchestrator", &["trellis-core", "trellis-host", "trellis-project", "trellis-server"]),
    (
        "trellis-cli",
        &["trellis-core", "trellis-host", "trellis-lsp", "trellis-orchestrator", "trellis-project", "trellis-server", "trellis-trial"],
    ),
];

/// Crates of others that only some of ours may use.
const OWNERS: [(&str, &[&str]); 15] = [
    ("minijinja", &["trellis-base"]),
    ("jsonschema", &["trellis-base"]),
    ("granit-parser", &["trellis-syntax"]),
    ("petgraph", &["trellis-compiler"]),
    ("miette", &["trellis-base", "trellis-draw", "trellis-cli"]),
    ("ignore", &["trellis-project"]),
    ("notify", &["trellis-project"]),
    ("tokio", &["trellis-host", "trellis-server", "trellis-orchestrator", "trellis-cli"]),
    ("tracing", &["trellis-host"]),
    ("opentelemetry", &["trellis-host"]),
    ("prometheus-client", &["trellis-host"]),
    ("axum", &["trellis-server"]),
    ("lsp-server", &["trellis-lsp"]),
    ("clap", &["trellis-cli"]),
    ("anyhow", &["trellis-cli"]),
];

#[test]
fn crates_depend_only_on_what_they_may() {
    let mut found = Vec::new();
    for (at, (name, walls)) in WALLS.iter().enumerate() {
        let all = dependencies(&format!("crates/{name}/Cargo.toml"));
        let ours: Vec<&str> = all.iter().map(String::as_str).filter(|dependency| dependency.starts_with("trellis-")).collect();
        if ours != *walls {
            found.push(format!("{name} depends on {ours:?}, and may on {walls:?}"));
        }
        let is_above = |wall: &&&str| !WALLS[..at].iter().any(|(below, _)| below == *wall);
        found.extend(walls.iter().filter(is_above).map(|wall| format!("{name} stands before {wall}, which it uses")));
        let foreign = OWNERS.iter().filter(|(dependency, owners)| all.iter().any(|one| one == dependency) && !owners.contains(name));
        found.extend(foreign.map(|(dependency, _)| format!("{name} depends on {dependency}")));
    }
    let folders = fs::read_dir(repository().join("crates")).expect("the crates").flatten();
    let folders = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    found.extend(folders.filter(|name| !WALLS.iter().any(|(known, _)| known == name)).map(|name| format!("{name} is not in the table")));
    for name in ["trellis-base", "trellis-draw"] {
        let manifest = fs::read_to_string(repository().join(format!("crates/{name}/Cargo.toml"))).expect("a manifest");
        if !manifest.contains("\nmiette = { workspace = true, optional = true }\n") {
            found.push(format!("{name} needs `miette` without its feature of that name"));
        }
    }
    assert_none(found);
}

/// Items that a host meets first, by the crate that has them.
const MAIN_ITEMS: [(&str, &[&str]); 7] = [
    ("trellis-base", &["struct Schema", "enum Value"]),
    ("trellis-syntax", &["struct Document"]),
    ("trellis-compiler", &["fn compile", "struct Compiler"]),
    (
        "trellis-host",
        &[
            "struct Assembly",
            "struct Bindings",
            "struct CallContext",
            "struct Clock",
            "struct FilesStore",
            "struct History",
            "struct JsonLines",
            "struct MemoryStore",
            "struct Operator",
            "struct Redacted",
            "enum Reply",
            "struct Runner",
            "struct Sealed",
            "struct Sent",
            "trait Hooks",
            "trait Interceptor",
            "trait Binding",
            "trait SessionStore",
            "struct Sessions",
            "struct SqliteStore",
            "struct TestClock",
            "struct TextConsole",
            "struct Turn",
        ],
    ),
    ("trellis-project", &["struct Fixer", "struct Live", "struct Memory", "struct Project"]),
    ("trellis-trial", &["struct Suite"]),
    ("trellis-server", &["struct Server"]),
];

#[test]
fn main_items_have_an_example() {
    let mut found = Vec::new();
    for (name, items) in MAIN_ITEMS {
        let folder = format!("crates/{name}/src/");
        let files: Vec<_> = rust_files().into_iter().filter(|(path, _)| path.starts_with(&folder) && !path.contains("/wire/")).collect();
        for item in items {
            let is_item = |line: &str| {
                let rest = line.strip_prefix("pub ").and_then(|line| line.strip_prefix(item));
                rest.is_some_and(|rest| !rest.starts_with(|char: char| char.is_alphanumeric() || char == '_'))
            };
            let docs = files.iter().find_map(|(_, text)| {
                let lines: Vec<&str> = text.lines().collect();
                let at = lines.iter().position(|line| is_item(line))?;
                let above = lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
                Some(above.copied().collect::<String>())
            });
            match docs {
                Some(docs) if docs.contains("/// ```") || docs.contains("include_str!") => {}
                Some(_) => found.push(format!("{name}: `{item}` has no example")),
                None => found.push(format!("{name}: there is no `pub {item}`")),
            }
        }
    }
    assert_none(found);
}

/// A program comes from the compiler, which the engine may not know: the facade over both has the examples.
#[test]
fn the_facade_has_the_examples_of_the_engine() {
    let root = fs::read_to_string(repository().join("crates/trellis-core/src/lib.rs")).expect("the root of the facade");
    let docs: Vec<&str> = root.lines().filter(|line| line.starts_with("//!")).collect();
    for item in ["Engine::new(program, Predicates::new())", ".start(", ".render(", ".navigate(", "Predicates::new().with("] {
        assert!(docs.iter().any(|line| line.contains(item)), "`{item}` has no example");
    }
}

/// A crate root of tests stands beside the folder of its modules, since Cargo finds it there.
#[test]
fn a_module_is_a_file_or_a_folder() {
    let files = rust_files();
    let is_root = |path: &str| path.rsplit_once('/').is_some_and(|(folder, _)| folder.ends_with("/tests") || folder.ends_with("/benches"));
    let beside = files.iter().filter_map(|(path, _)| {
        let folder = format!("{}/", path.strip_suffix(".rs")?);
        (!is_root(path) && files.iter().any(|(path, _)| path.starts_with(&folder))).then(|| format!("{path} stands beside {folder}"))
    });
    assert_none(beside);
}

/// The names under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(manifest)).expect("a manifest");
    let section = text.lines().skip_while(|line| *line != "[dependencies]").skip(1).take_while(|line| !line.starts_with('['));
    section.filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_crate_root_is_a_short_story() {
    let mut found = Vec::new();
    for (path, text) in rust_files().into_iter().filter(|(path, _)| path.starts_with("crates/") && path.ends_with("/src/lib.rs")) {
        let uses = text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
        // The modules that the facade shows are none of its names.
        let is_item = |name: &&str| name.rsplit("::").next().is_some_and(|name| name.trim().starts_with(char::is_uppercase));
        let count: usize = uses.map(|list| list.split([',', '{', '}']).filter(is_item).count()).sum();
        if count > 25 {
            found.push(format!("{path} re-exports {count} names"));
        }
    }
    assert_none(found);
}

#[test]
fn every_code_has_a_page_that_teaches_it() {
    let mut found = Vec::new();
    for code in Code::ALL {
        let page = code.page();
        for part in [format!("# {code}\n"), "\n## Wrong\n".into(), "\n## Right\n".into()] {
            if !page.contains(&part) {
                found.push(format!("the page of `{code}` has no `{}`", part.trim()));
            }
        }
    }
    let pages = fs::read_dir(repository().join("docs/reference/diagnostics")).expect("pages");
    for page in pages.flatten() {
        let name = page.path().file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if Code::named(&name).is_none() {
            found.push(format!("the page `{name}` explains no code"));
        }
    }
    assert_none(found);
}

#[test]
fn what_readers_look_for_is_there() {
    let lines = |path: &str| fs::read_to_string(repository().join(path)).map_or(0, |text| text.lines().count());
    for path in ["README.md", "CHANGELOG.md", "docs/architecture.md", "docs/decisions.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(lines(path) > 0, "there is no {path}");
    }
    assert!(lines("docs/architecture.md") < 200, "docs/architecture.md has {} lines", lines("docs/architecture.md"));
}

#[test]
fn json_numbers_are_read_as_the_core_needs_them() {
    let number: serde_json::Number = serde_json::from_str("1.10").expect("a number");
    assert_eq!(number.to_string(), "1.1", "some crate switches `arbitrary_precision` on, which breaks tagged enums");
    let hard = "8.41e21";
    assert_eq!(serde_json::from_str::<f64>(hard).expect("a number"), hard.parse::<f64>().expect("a number"));
    for text in ["3.8e-322", "2.2250738585072014e-308", "0.3", "123456789012345.67"] {
        assert_eq!(
            serde_json::from_str::<f64>(text).expect("a number").to_bits(),
            text.parse::<f64>().expect("a number").to_bits(),
            "{text}"
        );
    }
}

/// A time from outside may be as long as its type allows: added to a moment it would panic. A bound of the program is a constant.
#[test]
fn no_time_from_outside_is_added_to_a_moment() {
    let mut found = Vec::new();
    for (path, text) in rust_files().into_iter().filter(|(path, _)| path.starts_with("crates/")) {
        for (number, line) in without_tests(&path, &text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let added = code.split("now() + ").skip(1).filter(|rest| !rest.starts_with(char::is_uppercase));
            found.extend(added.map(|rest| format!("{path}:{}: `now() + {rest}`: use `checked_add`", number + 1)));
        }
    }
    assert_none(found);
}

/// A busy machine takes its time, so a test bounds time only to end what hangs: no time that a test measured is held to less than this.
const PATIENCE_SECONDS: u64 = 60;

#[test]
fn no_test_asserts_on_time() {
    let mut found = Vec::new();
    // A clock that is paused is the test's own; that of the standard library never is.
    let is_paused = |text: &str| text.contains("start_paused") && !text.contains("std::time::Instant");
    for (path, text) in rust_files().into_iter().filter(|(_, text)| !is_paused(text)) {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.contains("assert")) {
            let bounds = line.split("elapsed() < Duration::from_").skip(1).filter_map(|rest| {
                let (unit, rest) = rest.split_once('(')?;
                Some((unit, rest.split_once(')')?.0.replace('_', "").parse::<u64>().ok()?))
            });
            let short = bounds.filter(|(unit, count)| *unit != "secs" || *count < PATIENCE_SECONDS);
            found.extend(short.map(|(unit, count)| format!("{path}:{}: less than {count} {unit}: wait for a condition", number + 1)));
        }
    }
    assert_none(found);
}

/// Lines below a folder that mention one of the names, tests left out.
fn mentions(folder: &str, names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in rust_files().into_iter().filter(|(path, _)| path.starts_with(folder)) {
        for (number, line) in without_tests(&path, &text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            found.extend(names.iter().filter(|name| code.contains(*name)).map(|name| format!("{path}:{}: {name}", number + 1)));
        }
    }
    found
}

/// A file up to its tests; nothing for a file of tests.
pub(crate) fn without_tests<'t>(path: &str, text: &'t str) -> &'t str {
    if path.ends_with("/tests.rs") || path.contains("/tests/") { "" } else { text.split("#[cfg(test)]").next().unwrap_or_default() }
}

/// Every Rust file of the repository with its path below it and its text.
pub(crate) fn rust_files() -> Vec<(String, String)> {
    let root = repository();
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = ["crates", "tests", "examples", "fuzz"].iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((below(&root, &path), fs::read_to_string(&path).expect("a Rust file is text")));
            }
        }
    }
    files.sort();
    files
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).expect("it is below the root").to_string_lossy().replace('\\', "/")
}

pub(crate) fn assert_none(found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}
