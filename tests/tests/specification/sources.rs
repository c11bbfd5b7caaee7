//! The page that goes through the architecture document: every number of it has a row, and every row leads to a test, a decision or a rule.

use super::{Link, assert_none, links, no_test, prose, read};

const PAGE: &str = "docs/sources.md";
/// The numbers of the document, in order.
const NUMBERS: [&str; 32] = [
    "1.1", "1.2", "1.3", "2", "3.1", "3.2", "3.3", "4.1", "5", "6.1", "6.2", "6.3", "6.4", "6.5", "7.1", "7.2", "7.3", "8.1", "8.2", "8.3",
    "8.4", "9.1", "9.2", "9.3", "10.1", "10.2", "10.3", "10.4", "11.1", "11.2", "11.3", "12",
];

#[test]
fn every_number_of_the_architecture_document_is_gone_through() {
    let text = read(PAGE);
    let rows: Vec<(usize, Vec<&str>)> = prose(&text)
        .filter(|(_, line)| line.starts_with("| ") && line.as_bytes().get(2).is_some_and(u8::is_ascii_digit))
        .map(|(line, row)| (line, row.trim_matches('|').split(" | ").map(str::trim).collect()))
        .collect();
    let numbers: Vec<&str> = rows.iter().map(|(_, row)| row[0]).collect();
    assert_eq!(numbers, NUMBERS, "the rows of {PAGE}");
    let mut found = Vec::new();
    for (line, row) in &rows {
        let at = format!("{PAGE}:{line}: `{}`", row[0]);
        let holders = links(row.last().copied().unwrap_or_default());
        if row.len() != 3 || holders.is_empty() {
            found.push(format!("{at} names no test, decision or rule"));
        }
        found.extend(holders.iter().filter_map(|link| Some(format!("{at}: {}", holds_nothing(link)?))));
    }
    assert_none(found);
}

/// Returns the reason why a link leads to no test, no decision and no rule.
fn holds_nothing(link: &Link) -> Option<String> {
    if link.target == "decisions.md" {
        let is_there = read("docs/decisions.md").lines().any(|line| line.starts_with("**") && line.contains(&format!(". {}**", link.text)));
        return (!is_there).then(|| format!("there is no decision \"{}\"", link.text));
    }
    // Another test checks the headings of all links.
    if link.target.starts_with("specification.md#") { None } else { no_test(link) }
}
