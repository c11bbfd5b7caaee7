//! Names of types: one crate has one type of each name, and the private words of earlier days do not come back.

use std::collections::BTreeMap;

use crate::tidy::{assert_none, rust_files, without_tests, words};

/// Names that a crate may give twice, with the reason.
const SHARED: [(&str, &str); 8] = [
    ("Call", "the engine's call to carry out, and the program's call that it is made from"),
    ("Effect", "the effect that a tool declares, and the one that a session had"),
    ("Violation", "the serialized form, in a witness"),
    ("Pending", "the future of a store, and that of a binding: each trait names its own"),
    ("Process", "without the feature `processes` there is none"),
    ("Tty", "without a terminal there is none"),
    ("System", "one for each operating system"),
    ("Progress", "the wire form"),
];

/// Types of `trellis_host::wire` have the names of what they are the wire form of.
const WIRE: &str = "crates/trellis-host/src/wire/";

/// Names that said nothing to a reader from the field.
const PRIVATE_WORDS: [&str; 18] = [
    "Bell",
    "Course",
    "Facts",
    "Farewell",
    "Few",
    "Glance",
    "Grief",
    "Happening",
    "Keeping",
    "Knowledge",
    "Lane",
    "Letter",
    "Lore",
    "Passage",
    "Scene",
    "Sketcher",
    "Standing",
    "Veil",
];

/// Modules whose names only their authors understood, at their old places.
const OLD_MODULES: &[&str] = &[
    "crates/trellis-compiler/src/check/data",
    "crates/trellis-compiler/src/check/wild",
    "crates/trellis-compiler/src/check/web",
    "crates/trellis-compiler/src/check/flow",
    "crates/trellis-compiler/src/check/gap",
    "crates/trellis-compiler/src/check/never",
    "crates/trellis-compiler/src/check/literals",
    "crates/trellis-compiler/src/check/reach",
    "crates/trellis-compiler/src/settle",
    "crates/trellis-compiler/src/again",
    "crates/trellis-compiler/src/glance",
    "crates/trellis-compiler/src/frame",
    "crates/trellis-syntax/src/slips",
    "crates/trellis-syntax/src/matter",
    "crates/trellis-syntax/src/tree/quick",
    "crates/trellis-base/src/template/sorts",
    "crates/trellis-base/src/template/trial",
    "crates/trellis-base/src/template/reads/blind",
    "crates/trellis-engine/src/engine/elsewhere",
    "crates/trellis-engine/src/engine/late",
    "crates/trellis-engine/src/program/ways",
    "crates/trellis-host/src/history/veil",
    "crates/trellis-host/src/history/hops",
    "crates/trellis-host/src/history/open",
    "crates/trellis-host/src/sessions/keep",
    "crates/trellis-host/src/sessions/others",
    "crates/trellis-host/src/sessions/swap",
    "crates/trellis-host/src/sessions/waking",
    "crates/trellis-host/src/store/aside",
    "crates/trellis-host/src/runner/farewell",
    "crates/trellis-host/src/binding/obstacles",
    "crates/trellis-host/src/binding/group",
    "crates/trellis-host/src/values",
    "crates/trellis-project/src/watch/bell",
    "crates/trellis-project/src/watch/trail",
    "crates/trellis-project/src/live/stamp",
    "crates/trellis-project/src/live/remembered",
    "crates/trellis-project/src/linked",
    "crates/trellis-cli/src/kept",
    "crates/trellis-cli/src/ready",
    "crates/trellis-cli/src/mending",
    "crates/trellis-cli/src/demands",
    "crates/trellis-cli/src/unbound",
    "crates/trellis-cli/src/walk",
    "crates/trellis-cli/src/waking",
    "crates/trellis-cli/src/offer",
    "crates/trellis-cli/src/seeing",
    "crates/trellis-cli/src/commands/session/stand",
    "crates/trellis-cli/src/commands/session/named",
    "crates/trellis-cli/src/commands/session/times",
    "crates/trellis-cli/src/console/said",
    "crates/trellis-cli/src/console/talk",
    "crates/trellis-cli/src/console/absent",
    "crates/trellis-cli/src/console/words",
    "crates/trellis-cli/src/watch/shown",
    "crates/trellis-cli/src/watch/following",
    "crates/trellis-cli/src/replace",
    "crates/trellis-cli/src/difference",
];

/// Constants that a crate may define twice, with the reason.
const SHARED_CONSTANTS: [(&str, &str); 1] = [("ROUTES", "each module of routes has its own list")];

#[test]
fn a_crate_gives_a_name_to_one_type() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (crate_name, name, path) in types().into_iter().filter(|(.., path)| !path.starts_with(WIRE)) {
        places.entry((crate_name, name)).or_default().push(path);
    }
    let twice = places.into_iter().filter(|((_, name), paths)| paths.len() > 1 && !SHARED.iter().any(|(shared, _)| shared == name));
    assert_none(twice.map(|((crate_name, name), paths)| format!("{crate_name} has several types `{name}`: {}", paths.join(", "))));
}

#[test]
fn the_house_speaks_the_words_of_its_field() {
    let private = types().into_iter().filter(|(_, name, _)| PRIVATE_WORDS.contains(&&**name));
    assert_none(private.map(|(_, name, path)| format!("{path}: `{name}` is no word of the field")));
}

/// Words that no identifier of the crates has: each stood for several things, and none of them was its noun.
const PRIVATE_PARTS: [&str; 25] = [
    "aside",
    "bell",
    "farewell",
    "glance",
    "grief",
    "happening",
    "keeping",
    "kept",
    "knowledge",
    "lore",
    "mended",
    "mending",
    "passage",
    "scene",
    "seat",
    "seats",
    "spoken",
    "told",
    "untold",
    "unwound",
    "veil",
    "way",
    "ways",
    "weave",
    "wild",
];

/// Identifiers with such a word, with the reason.
const KNOWN_IDENTIFIERS: [(&str, &str); 6] = [
    ("NoWayOut", "the diagnostic code `no-way-out`"),
    ("kept", "stored in records: how many effects are left"),
    ("Kept", "the answer `keep` to the question whether a pending call is kept"),
    ("DepthKept", "the call whose depth is counted is kept"),
    ("on_the_way", "stored in the backups of skills"),
    ("ways", "printed by `search` of the server"),
];

#[test]
fn identifiers_are_words_of_the_field() {
    let mut found = Vec::new();
    for (path, text) in rust_files().into_iter().filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/")) {
        for (number, line) in without_tests(&path, &text).lines().enumerate() {
            for name in identifiers(line).filter(|name| !KNOWN_IDENTIFIERS.iter().any(|(known, _)| known == name)) {
                if words(name).iter().any(|word| PRIVATE_PARTS.contains(&&*word.to_lowercase())) {
                    found.push(format!("{path}:{}: `{name}` has a word that says nothing to a reader from the field", number + 1));
                }
            }
        }
    }
    assert_none(found);
    assert_eq!(identifiers(r#"let a_b = "told"; // seat"#).collect::<Vec<_>>(), ["let", "a_b"]);
}

/// The identifiers of a line of code: what is in quotes, and what follows `//`, is left out.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split('"')
        .step_by(2)
        .flat_map(|code| code.split(|char: char| !char.is_alphanumeric() && char != '_'))
        .filter(|name| !name.is_empty())
}

#[test]
fn modules_have_names_of_the_field() {
    let is_old =
        |path: &str| OLD_MODULES.iter().any(|old| path.strip_prefix(old).is_some_and(|rest| rest == ".rs" || rest.starts_with('/')));
    assert!(is_old("crates/trellis-host/src/values.rs") && is_old("crates/trellis-compiler/src/check/data/script/mod.rs"));
    assert_none(rust_files().into_iter().filter(|(path, _)| is_old(path)).map(|(path, _)| format!("{path} has a name that was given up")));
}

#[test]
fn a_crate_defines_a_constant_once() {
    let mut places: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    for (path, text) in rust_files() {
        let Some((crate_name, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else { continue };
        for line in without_tests(&path, &text).lines() {
            let Some((name, kind)) = constant(line) else { continue };
            places.entry((crate_name.to_owned(), name.to_owned(), kind)).or_default().push(path.clone());
        }
    }
    assert!(places.keys().any(|(_, name, _)| name == "MAX_DEBUG_DEPTH"), "no constant is found");
    let twice =
        places.into_iter().filter(|((_, name, _), paths)| paths.len() > 1 && !SHARED_CONSTANTS.iter().any(|(known, _)| known == name));
    assert_none(twice.map(|((crate_name, name, kind), paths)| {
        format!("{crate_name} has several constants `{name}: {kind}`; say what each bounds, or define it once: {}", paths.join(", "))
    }));
}

/// The name and the type of a constant that a line at the top of a module defines; of an array, without its length.
fn constant(line: &str) -> Option<(&str, String)> {
    let rest = ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|visibility| line.strip_prefix(visibility)).unwrap_or(line);
    let (name, rest) = ["const ", "static "].iter().find_map(|kind| rest.strip_prefix(kind))?.split_once(": ")?;
    let kind = rest.split_once(" = ").map_or(rest, |(kind, _)| kind).replace("'static ", "").replace("std::time::", "");
    let kind = kind.split_once("; ").map_or(kind.clone(), |(item, _)| format!("{item}]"));
    Some((name, kind))
}

/// The types at the top of each module of the crates: crate, name, path.
fn types() -> Vec<(String, String, String)> {
    let mut types = Vec::new();
    for (path, text) in rust_files() {
        let Some((crate_name, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else { continue };
        for line in without_tests(&path, &text).lines() {
            let rest = ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|visibility| line.strip_prefix(visibility)).unwrap_or(line);
            let Some(name) = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind)) else { continue };
            let name: String = name.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
            types.push((crate_name.to_owned(), name, path.clone()));
        }
    }
    types
}

#[test]
fn types_are_found_by_this_test() {
    assert!(types().iter().any(|(crate_name, name, _)| crate_name == "trellis-engine" && name == "Program"));
}
