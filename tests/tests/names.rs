//! Names of types: one crate has one type of each name, and the private words of earlier days do not come back.

use std::collections::BTreeMap;

use crate::tidy::{assert_none, rust_files, without_tests};

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
    assert!(types().iter().any(|(crate_name, name, _)| crate_name == "trellis-core" && name == "Program"));
}
