//! Headings, anchors and links of a Markdown text, as a browser of the repository shows them. Fenced blocks hold none.

use std::collections::{BTreeMap, BTreeSet};

use trellis_project::sheet::{Item, items};

/// `## title`.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    /// Number of `#`.
    pub(super) level: usize,
    /// The text.
    pub(super) title: String,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// `[text](target)`.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Its text.
    pub(super) text: String,
    /// Its target.
    pub(super) target: String,
    /// Its line, from 1.
    pub(super) line: usize,
}

fn read(text: &str) -> Vec<Item> {
    items(text).unwrap_or_else(|line| panic!("the block of line {line} is never closed"))
}

/// The headings, in order.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let heading = |item| match item {
        Item::Heading { level, title, line } => Some(Heading { level, title, line }),
        Item::Block(_) | Item::Folder { .. } => None,
    };
    read(text).into_iter().filter_map(heading).collect()
}

/// Returns the texts behind `#` in links to the headings. Of equal ones the second has `-1` at its end, and so on.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, u32>::new();
    let anchor = |heading: Heading| {
        let anchor = slug(&heading.title);
        let count = seen.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    };
    headings(text).into_iter().map(anchor).collect()
}

/// Letters, digits, `-` and `_` in lower case, with `-` for each space.
fn slug(title: &str) -> String {
    let kept = title.to_lowercase().replace(' ', "-");
    kept.chars().filter(|char| char.is_alphanumeric() || matches!(char, '-' | '_')).collect()
}

/// The lines outside of fenced blocks, with their numbers from 1.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let block = |item: Item| match item {
        Item::Block(block) => Some(block.line..=block.line + text[block.range.start..block.end].lines().count()),
        Item::Heading { .. } | Item::Folder { .. } => None,
    };
    let blocks: Vec<_> = read(text).into_iter().filter_map(block).collect();
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter(move |(line, _)| !blocks.iter().any(|block| block.contains(line)))
}

/// The links of the prose.
pub(super) fn links(text: &str) -> Vec<Link> {
    prose(text).flat_map(|(line, text)| links_of_line(line, text)).collect()
}

fn links_of_line(line: usize, text: &str) -> Vec<Link> {
    let parts = text.match_indices("](").filter_map(|(at, _)| {
        let target = text[at + 2..].split_once(')')?.0;
        Some(Link { text: text[opening(&text[..at])?..at].to_owned(), target: target.to_owned(), line })
    });
    parts.filter(|link| !link.target.contains(' ')).collect()
}

/// Behind the bracket that the text before `]` opens, past pairs inside of it.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, char) in text.char_indices().rev() {
        match char {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at + 1),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[test]
fn links_and_anchors_are_those_of_the_prose() {
    let text = "# A `b`: c\n\n[`f(x)`](../a.rs) and ![x [y]](b.md#z)\n\n```md\n[no](where)\n# no\n```\n\n# A b c\n";
    let all: Vec<_> = links(text).into_iter().map(|link| (link.line, link.text, link.target)).collect();
    assert_eq!(all, [(3, "`f(x)`".into(), "../a.rs".into()), (3, "x [y]".into(), "b.md#z".into())]);
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a-b-c", "a-b-c-1"]);
}
