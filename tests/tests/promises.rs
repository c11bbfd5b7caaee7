//! The promises of the crates: the features that their tables list, and the enums that gain no variant.

use std::{collections::BTreeSet, fs};

use crate::repository;

/// The crates that programs of others use, with the pages that list their features.
const TABLES: [(&str, &[&str]); 7] = [
    ("trellis-base", &["README.md"]),
    ("trellis-draw", &["README.md"]),
    ("trellis-core", &["README.md", "src/lib.rs"]),
    ("trellis-project", &["README.md", "src/lib.rs"]),
    ("trellis-host", &["README.md", "src/lib.rs", "../../docs/embedding.md"]),
    ("trellis-server", &["README.md", "src/lib.rs"]),
    ("trellis-trial", &["README.md", "src/lib.rs"]),
];

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The features of a crate, without `default`.
fn features(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| *line != "[features]").skip(1).take_while(|line| !line.starts_with('['));
    let names = section.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.trim().to_owned());
    names.filter(|name| name != "default" && !name.starts_with(['#', '"'])).collect()
}

/// The features in the first column of the tables of a page.
fn rows_of(page: &str) -> BTreeSet<String> {
    let rows = page.lines().map(|line| line.trim_start_matches("//! ")).filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn every_feature_is_in_the_tables_and_every_row_is_a_feature() {
    let mut found = Vec::new();
    for (name, pages) in TABLES {
        let features = features(&text(&format!("crates/{name}/Cargo.toml")));
        for page in pages {
            let (page, text) = (format!("crates/{name}/{page}"), text(&format!("crates/{name}/{page}")));
            let named = |feature: &&String| !text.contains(&format!("`{feature}`"));
            found.extend(features.iter().filter(named).map(|feature| format!("{page} does not name `{feature}`")));
            // The guide has tables of other things too.
            let rows =
                text.split("## Features\n").nth(1).or_else(|| page.ends_with("README.md").then_some(text.as_str())).unwrap_or_default();
            let rows = rows_of(rows.split("\n## ").next().unwrap_or_default());
            found.extend(rows.difference(&features).map(|feature| format!("{page} lists `{feature}`, which is no feature of {name}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The public enums of the host that are complete: no `#[non_exhaustive]` stands before them.
fn complete_enums() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![repository().join("crates/trellis-host/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = fs::read_to_string(&entry).expect("a file");
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let Some(name) = line.strip_prefix("pub enum ") else { continue };
                let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with(['#', '/', ' ', ')']));
                if !attributes.into_iter().any(|line| *line == "#[non_exhaustive]") {
                    found.insert(name.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn an_enum_of_the_host_may_grow_or_is_promised_not_to() {
    let root = text("crates/trellis-host/src/lib.rs");
    let section = root.split("//! # What may grow\n").nth(1).expect("the section of `lib.rs`");
    let section: Vec<&str> = section.lines().take_while(|line| line.starts_with("//!")).collect();
    let section = section.join("\n");
    let promised = section.split("Every other enum").next().unwrap_or_default();
    let promised: BTreeSet<String> =
        promised.split('`').skip(1).step_by(2).map(|name| name.rsplit("::").next().unwrap_or_default().to_owned()).collect();
    assert_eq!(promised, complete_enums(), "left: the list in `lib.rs`; right: enums without `#[non_exhaustive]`");
}
