//! The page of the documents that Trellis was made after: its places are numbered without a gap, every row leads to tests that are there, every
//! citation leads to a row, and no row puts off what there is.

use super::{Link, assert_none, files, links, no_test, prose, read};

const PAGE: &str = "docs/sources.md";
/// The documents, and the last place of each.
const DOCUMENTS: [(&str, u32); 5] = [("000", 9), ("001", 3), ("002", 12), ("003", 17), ("004", 5)];
/// Words that put something off. What differs says how; what is not there yet has no row, since the page speaks of the program as it is.
const PUT_OFF: [&str; 6] = [" yet", "not exist", "planned", "not part of", "later version", "to come"];

/// A row: a place in a document, the cells behind it, and the tests of the last one.
struct Row {
    line: usize,
    place: Place,
    cells: Vec<String>,
    tests: Vec<Link>,
}

/// A place, `000.4.10`: the document, and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    document: String,
    numbers: Vec<u32>,
}

impl Place {
    /// The place at the beginning of a text: three digits, and a number behind each dot.
    fn read(text: &str) -> Option<Self> {
        let (document, mut rest) = text.split_at_checked(3)?;
        let mut numbers = Vec::new();
        while let Some(behind) = rest.strip_prefix('.') {
            let digits = behind.len() - behind.trim_start_matches(|char: char| char.is_ascii_digit()).len();
            let Ok(number) = behind[..digits].parse() else { break };
            numbers.push(number);
            rest = &behind[digits..];
        }
        let is_whole = !rest.starts_with(|char: char| char.is_ascii_alphanumeric());
        (document.starts_with("00") && document.bytes().all(|byte| byte.is_ascii_digit()) && is_whole)
            .then(|| Self { document: document.to_owned(), numbers })
    }

    /// Returns whether this place is the next one, or the first one within the last: `4.1` behind `3.2` or `3`, `4.1.1` behind `4`.
    fn follows(&self, last: &[u32]) -> bool {
        let shared = self.numbers.iter().zip(last).take_while(|(number, last)| number == last).count();
        let next = last.get(shared).map_or(1, |last| last + 1);
        self.numbers.get(shared) == Some(&next) && self.numbers[shared + 1..].iter().all(|number| *number == 1)
    }

    fn is_within(&self, other: &Self) -> bool {
        self.document == other.document && self.numbers.starts_with(&other.numbers)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.document)?;
        self.numbers.iter().try_for_each(|number| write!(out, ".{number}"))
    }
}

fn rows() -> Vec<Row> {
    let text = read(PAGE);
    let row = |(line, text): (usize, &str)| {
        let place = Place::read(text.strip_prefix("| ")?).filter(|place| !place.numbers.is_empty())?;
        let cells: Vec<String> = text.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        let tests = links(cells.last().map_or("", String::as_str));
        Some(Row { line, place, cells, tests })
    };
    prose(&text).filter_map(row).collect()
}

/// The places that a line cites: `source 000.4.2`, and others behind a comma.
fn cited_places(line: &str) -> Vec<Place> {
    let lists = line.match_indices("ource 00").map(|(at, _)| &line[at + "ource ".len()..]);
    lists.flat_map(|list| list.split(", ").map_while(Place::read)).collect()
}

#[test]
fn every_place_of_every_document_has_a_row() {
    let (rows, mut found) = (rows(), Vec::new());
    for (document, last_place) in DOCUMENTS {
        let mut last = Vec::new();
        for row in rows.iter().filter(|row| row.place.document == document) {
            if !row.place.follows(&last) {
                found.push(format!("{PAGE}:{}: `{}` does not follow `{last:?}`", row.line, row.place));
            }
            last.clone_from(&row.place.numbers);
        }
        if last.first() != Some(&last_place) {
            found.push(format!("{PAGE}: {document} ends at {last:?}, not in {last_place}"));
        }
    }
    assert_none(found);
}

#[test]
fn every_row_is_held_by_tests() {
    let mut found = Vec::new();
    for row in rows() {
        let at = format!("{PAGE}:{}: `{}`", row.line, row.place);
        if row.cells.len() != 4 || row.tests.is_empty() {
            found.push(format!("{at} has {} cells and {} tests", row.cells.len(), row.tests.len()));
        }
        let here = row.cells.get(2).map_or("", String::as_str);
        if !["Holds", "Differs"].iter().any(|word| here.starts_with(word)) {
            found.push(format!("{at} says neither that it holds nor that it differs"));
        }
        found.extend(row.tests.iter().filter_map(|link| Some(format!("{at}: {}", no_test(link)?))));
    }
    assert_none(found);
}

#[test]
fn no_row_puts_off_what_there_is() {
    let puts_off = |text: &str| PUT_OFF.into_iter().find(|words| text.to_lowercase().contains(words));
    for text in ["Servers for HTTP and MCP do not exist.", "Not part of the program.", "Does not exist yet.", "A planned port."] {
        assert!(puts_off(text).is_some(), "{text}");
    }
    let finding = |row: Row| Some(format!("{PAGE}:{}: `{}` says `{}`", row.line, row.place, puts_off(&row.cells[1..3].join(" "))?.trim()));
    assert_none(rows().into_iter().filter_map(finding).collect());
}

#[test]
fn every_citation_of_a_document_leads_to_a_row() {
    let rows = rows();
    let mut found = Vec::new();
    for (path, text) in files().into_iter().filter(|(path, _)| !path.ends_with("specification/sources.rs")) {
        for (at, line) in text.lines().enumerate() {
            let missing = cited_places(line).into_iter().filter(|place| !rows.iter().any(|row| row.place.is_within(place)));
            found.extend(missing.map(|place| format!("{path}:{}: {PAGE} has no `{place}`", at + 1)));
        }
    }
    assert_none(found);
}

#[test]
fn places_are_read_and_follow_each_other() {
    let cited = |line: &str| cited_places(line).iter().map(Place::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(cited("// source 000.4.2, 001.3: so it is; Source 002"), "000.4.2 001.3 002");
    assert_eq!(cited("resource 0, source 3, the source 0042"), "");
    for (last, next, is_next) in [
        ("000.1.1", "000.1.2", true),
        ("000.1.2", "000.2.1", true),
        ("000.1", "000.2.1.1", true),
        ("000.3.2", "000.3.2.1", true),
        ("000.3.2", "000.4", true),
        ("000.1.1", "000.1.3", false),
        ("000.1.2", "000.3.1", false),
        ("000.1.2", "000.2.2", false),
        ("000.1.2", "000.1.2", false),
    ] {
        let last = Place::read(last).expect("a place").numbers;
        assert_eq!(Place::read(next).expect("a place").follows(&last), is_next, "{next} behind {last:?}");
    }
}
