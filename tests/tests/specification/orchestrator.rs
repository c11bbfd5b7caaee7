//! The page of what `trellis up` promises: every number of it has a row, every row leads to tests that are there, of which one cites it, and every
//! citation leads to a row.

use std::collections::{BTreeMap, BTreeSet};

use super::{Link, assert_none, citations::cited_by, files, links, no_test, prose, read};

const PAGE: &str = "docs/orchestrator-rules.md";
/// The numbers of the promises, in order; chapters that only hold others have none.
const PROMISES: [&str; 49] = [
    "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "2.1", "2.2", "2.3", "2.4", "2.5", "3", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7",
    "3.8", "3.9", "3.10", "4", "4.1", "4.2", "5.1", "5.2", "5.3", "5.4", "5.5", "6", "6.1", "6.2", "6.3", "7.1", "7.2", "7.3", "8.1",
    "8.2", "8.3", "8.4", "8.5", "9", "9.1", "9.2", "10.1", "10.2", "10.3", "10.4",
];

/// The rows of the page: the line of each, its number, and the links of its last cell.
fn rows() -> Vec<(usize, String, Vec<Link>)> {
    let text = read(PAGE);
    let is_row = |row: &str| row.strip_prefix("| ").is_some_and(|cell| cell.starts_with(|first: char| first.is_ascii_digit()));
    let rows = prose(&text).filter(|(_, line)| is_row(line));
    let row = |(line, row): (usize, &str)| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{PAGE}:{line}: {row}");
        (line, cells[0].to_owned(), links(cells[2]))
    };
    rows.map(row).collect()
}

/// The citations of a line: `orchestrator 3.5` as `3.5`.
fn promised(line: &str) -> Vec<String> {
    cited_by(line, &["orchestrator ", "Orchestrator "]).into_iter().map(|number| number.to_string()).collect()
}

/// The text that belongs to a test: what its file opens with, the comment above it, and the function.
fn of_test(text: &str, name: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().take_while(|line| line.starts_with("//!"));
    let Some(at) = lines.iter().position(|line| line.contains(&format!("fn {name}("))) else { return String::new() };
    let is_above = |line: &&&str| ["//", "#["].iter().any(|mark| line.trim_start().starts_with(mark));
    let above = lines[..at].iter().rev().take_while(is_above);
    let end = format!("{}}}", " ".repeat(lines[at].len() - lines[at].trim_start().len()));
    let within = lines[at..].iter().take_while(|line| ***line != *end);
    head.chain(above).chain(within).copied().collect::<Vec<_>>().join("\n")
}

#[test]
fn every_promise_has_a_row() {
    let numbers: Vec<String> = rows().into_iter().map(|(_, number, _)| number).collect();
    assert_eq!(numbers, PROMISES, "the rows of {PAGE}");
}

#[test]
fn every_promise_is_held_by_a_test_that_cites_it() {
    let texts: BTreeMap<String, String> = files().into_iter().collect();
    let mut found = Vec::new();
    for (line, number, tests) in rows() {
        let at = format!("{PAGE}:{line}: `{number}`");
        found.extend(tests.iter().filter_map(|link| Some(format!("{at}: {}", no_test(link)?))));
        let cites = |link: &Link| {
            let text = link.target.strip_prefix("../").and_then(|path| texts.get(path)).map_or("", String::as_str);
            of_test(text, link.text.trim_matches('`')).lines().any(|line| promised(line).contains(&number))
        };
        if !tests.iter().any(cites) {
            found.push(format!("{at}: none of its tests cites it"));
        }
    }
    assert_none(found);
}

#[test]
fn every_citation_of_a_promise_leads_to_a_row() {
    let known: BTreeSet<String> = rows().into_iter().map(|(_, number, _)| number).collect();
    let chapters: BTreeSet<&str> = PROMISES.iter().filter_map(|number| number.split('.').next()).collect();
    let mut found = Vec::new();
    for (path, text) in files() {
        for (at, line) in text.lines().enumerate() {
            let missing = promised(line).into_iter().filter(|number| !known.contains(number) && !chapters.contains(&**number));
            found.extend(missing.map(|number| format!("{path}:{}: {PAGE} has no `{number}`", at + 1)));
        }
    }
    assert_none(found);
}

#[test]
fn promises_are_found_in_every_form() {
    for (line, expected) in [
        ("// orchestrator 3.5, source 003.4.3.1: several at once", "3.5"),
        ("//! Heartbeats (orchestrator 5.4, 8.2).", "5.4 8.2"),
        ("// source 003.5, 003.6: and 003.7; orchestrator 10.1", "10.1"),
        ("// an orchestrator 8.3.1, orchestrators 4", ""),
    ] {
        assert_eq!(promised(line).join(" "), expected, "{line}");
    }
    let text = "//! Head.\n\n// no\nfn other() {\n}\n\n// yes\n#[test]\nfn it() {\n    // within\n}\n// no\n";
    assert_eq!(of_test(text, "it"), "//! Head.\n#[test]\n// yes\nfn it() {\n    // within");
}
