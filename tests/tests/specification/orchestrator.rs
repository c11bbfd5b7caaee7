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
/// The number of demands: 003.1, 003.2 and so on.
const DEMANDS: u32 = 15;

/// The sections of the source that say what a program does.
const SECTIONS: std::ops::RangeInclusive<u32> = 3..=17;

/// The rows of the page whose number begins so: the line of each, its number, and the links of its last cell.
fn rows_of(is_row: impl Fn(&str) -> bool) -> Vec<(usize, String, Vec<Link>)> {
    let text = read(PAGE);
    let rows = prose(&text).filter(|(_, line)| line.strip_prefix("| ").is_some_and(&is_row));
    let row = |(line, row): (usize, &str)| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{PAGE}:{line}: {row}");
        (line, cells[0].to_owned(), links(cells[2]))
    };
    rows.map(row).collect()
}

/// The promises and demands.
fn rows() -> Vec<(usize, String, Vec<Link>)> {
    rows_of(|cell| cell.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the citations of a line: `orchestrator 3.5` as `3.5`, `requirements 003.5` as `003.5`.
fn promised(line: &str) -> Vec<String> {
    let own = cited_by(line, &["orchestrator ", "Orchestrator "]).into_iter().map(|number| number.to_string());
    let demand = |text: &str| {
        let digits: String = text.strip_prefix("003.")?.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then(|| format!("003.{digits}"))
    };
    let lists = line.match_indices("requirements ").map(|(at, word)| &line[at + word.len()..]);
    own.chain(lists.flat_map(|list| list.split(", ").map_while(demand))).collect()
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
fn every_promise_and_every_demand_has_a_row() {
    let numbers: Vec<String> = rows().into_iter().map(|(_, number, _)| number).collect();
    let promises = PROMISES.iter().map(ToString::to_string);
    let expected: Vec<String> = promises.chain((1..=DEMANDS).map(|number| format!("003.{number}"))).collect();
    assert_eq!(numbers, expected, "the rows of {PAGE}");
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

// orchestrator 10.4: sections 3 to 17 of the source
#[test]
fn every_section_of_the_source_is_held_by_tests() {
    let sections = rows_of(|cell| cell.starts_with("source "));
    let numbers: Vec<String> = sections.iter().map(|(_, number, _)| number.clone()).collect();
    assert_eq!(numbers, SECTIONS.map(|number| format!("source {number}")).collect::<Vec<_>>(), "the sections of {PAGE}");
    let missing = |(line, number, tests): &(usize, String, Vec<Link>)| {
        let at = format!("{PAGE}:{line}: `{number}`");
        let without = tests.is_empty().then(|| format!("{at}: no test holds it"));
        without
            .into_iter()
            .chain(tests.iter().filter_map(|link| Some(format!("{at}: {}", no_test(link)?))).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    assert_none(sections.iter().flat_map(missing).collect());
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
        ("// orchestrator 3.5, requirements 003.3: several at once", "3.5 003.3"),
        ("//! Heartbeats (orchestrator 5.4, 8.2).", "5.4 8.2"),
        ("// requirements 003.5, 003.6: and 003.7; orchestrator 10.1", "10.1 003.5 003.6"),
        ("// an orchestrator 8.3.1, orchestrators 4, requirements 004.1", ""),
    ] {
        assert_eq!(promised(line).join(" "), expected, "{line}");
    }
    let text = "//! Head.\n\n// no\nfn other() {\n}\n\n// yes\n#[test]\nfn it() {\n    // within\n}\n// no\n";
    assert_eq!(of_test(text, "it"), "//! Head.\n#[test]\n// yes\nfn it() {\n    // within");
}
