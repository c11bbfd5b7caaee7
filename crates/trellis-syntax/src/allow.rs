//! `# trellis: allow(code)`: comments by which an author marks a finding as intended.
//!
//! In goes YAML, out come the codes that its comments allow and their places: one in front of everything applies to the file, one on a line of its
//! own to the entry or item that follows, one after a value to its line.

use std::{ops::Range, sync::Arc};

use granit_parser::{Event, Parser, options};

use trellis_base::span::{Span, Spanned};

/// A comment that allows findings: `# trellis: allow(code)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Allow {
    /// The comment, from its `#`.
    pub comment: Span,
    /// The codes as they are written; none where the comment cannot be read.
    pub codes: Box<[Spanned<Arc<str>>]>,
    /// The span to which it applies; `None` means the whole file.
    pub covers: Option<Span>,
}

/// The text after the `#` with which such a comment begins.
pub(super) const MARK: &str = "trellis:";

/// Reads the `allow` comments in `yaml`.
pub(super) fn allows(text: &str, yaml: Range<usize>) -> Box<[Allow]> {
    // A `#` in a text begins no comment; only the parser knows.
    let mut parser = Parser::new_from_str_with_options(&text[yaml.clone()], options! { emit_comments: true });
    let mut allows = Vec::new();
    while let Some(Ok((event, span))) = parser.next_event() {
        if let (Event::Comment(..), Some(at)) = (event, span.byte_range()) {
            let start = yaml.start + at.start;
            let line = line_end(text, start).min(yaml.end);
            let comment = start..start + text[start..line].trim_end().len();
            allows.extend(allow(text, &yaml, comment));
        }
    }
    allows.sort_by_key(|allow| allow.comment);
    allows.dedup_by_key(|allow| allow.comment);
    allows.into()
}

fn allow(text: &str, yaml: &Range<usize>, comment: Range<usize>) -> Option<Allow> {
    let written = &text[comment.clone()];
    let mark = written.trim_start_matches('#').trim_start().strip_prefix(MARK)?;
    let inner = mark.trim().strip_prefix("allow").map(str::trim_start).and_then(|rest| rest.strip_prefix('('));
    let inner = inner.and_then(|inner| inner.split_once(')')).map(|(inner, _)| inner).unwrap_or_default();
    let mut at = comment.start + written.find('(').map_or(0, |open| open + 1);
    let mut codes = Vec::new();
    for part in inner.split(',') {
        let name = part.trim();
        let start = at + part.len() - part.trim_start().len();
        if !name.is_empty() {
            codes.push(Spanned::new(name.into(), Span::new(start, start + name.len())));
        }
        at += part.len() + 1;
    }
    let covers = covers(text, yaml, &comment);
    Some(Allow { comment: Span::new(comment.start, comment.end), codes: codes.into(), covers })
}

/// Returns the span in which a comment holds.
fn covers(text: &str, yaml: &Range<usize>, comment: &Range<usize>) -> Option<Span> {
    let line = line_start(text, comment.start);
    if !is_blank(&text[line.max(yaml.start)..comment.start]) {
        return Some(entry(text, yaml, line.max(yaml.start)));
    }
    let is_first = text[yaml.start..comment.start].lines().all(|line| is_blank(line) || line.trim_start().starts_with('#'));
    if is_first {
        return None;
    }
    let mut at = next_line(text, comment.end);
    while at < yaml.end && is_silent(&text[at..line_end(text, at)]) {
        at = next_line(text, at);
    }
    Some(entry(text, yaml, at.min(yaml.end)))
}

/// Returns the entry or item whose first line begins at `start`: that line, and the lines indented below it.
fn entry(text: &str, yaml: &Range<usize>, start: usize) -> Span {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let first = &text[start..line_end(text, start).min(yaml.end)];
    let (depth, is_item) = (indent(first), first.trim_start().starts_with("- "));
    let mut end = start + first.len();
    let mut at = next_line(text, start);
    while at < yaml.end {
        let line = &text[at..line_end(text, at).min(yaml.end)];
        // A list may be in the column of its key, and the bracket that closes one too.
        let goes_on = indent(line) > depth || indent(line) == depth && !is_item && line[depth..].starts_with(['-', ']', '}']);
        if !is_blank(line) && !goes_on {
            break;
        }
        end = at + line.len();
        at = next_line(text, at);
    }
    Span::new(start, end)
}

fn is_blank(line: &str) -> bool {
    line.trim_matches([' ', '\t', '\r', '\u{feff}']).is_empty()
}

/// Returns whether a line has no content but a comment.
fn is_silent(line: &str) -> bool {
    is_blank(line) || line.trim_start().starts_with('#')
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |before| before + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length)
}

fn next_line(text: &str, at: usize) -> usize {
    (line_end(text, at) + 1).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of each comment, and the text for which they hold.
    fn read(text: &str) -> Vec<(String, &str)> {
        let found = allows(text, 0..text.len());
        let codes = |allow: &Allow| allow.codes.iter().map(|code| code.value.to_string()).collect::<Vec<_>>().join("+");
        found.iter().map(|allow| (codes(allow), allow.covers.map_or("ALL", |span| &text[span.range()]))).collect()
    }

    #[test]
    fn a_comment_in_front_of_everything_holds_for_the_file() {
        assert_eq!(read("# why\n# trellis: allow(never-true)\nto: a\n"), [("never-true".into(), "ALL")]);
        assert_eq!(read("\u{feff}\r\n#trellis: allow( a , b,)\r\nto: a\r\n"), [("a+b".into(), "ALL")]);
    }

    #[test]
    fn one_before_an_entry_or_an_item_holds_for_it_and_what_is_below() {
        let text = "to: a\n# trellis: allow(x)\n# why\noptions:\n- a\n- text: b\n\nset:\n  # trellis: allow(y)\n  one: {\n    a: 1\n  }\n  two: 2\n";
        assert_eq!(read(text), [("x".into(), "options:\n- a\n- text: b\n"), ("y".into(), "  one: {\n    a: 1\n  }")]);
        let text = "t:\n  - to: a\n  # trellis: allow(x)\n  - to: b\n    condition: c\n  - to: d\n";
        assert_eq!(read(text), [("x".into(), "  - to: b\n    condition: c")]);
    }

    #[test]
    fn one_behind_a_value_holds_for_its_line() {
        assert_eq!(read("set:\n  a: 1\n  b: 2 # trellis: allow(x)\n  c: 3\n"), [("x".into(), "  b: 2 # trellis: allow(x)")]);
    }

    #[test]
    fn texts_are_no_comments_and_what_cannot_be_read_allows_nothing() {
        assert_eq!(read("content: |\n  # trellis: allow(x)\nto: \"# trellis: allow(y)\"\n"), []);
        assert_eq!(read("to: a\n# trellis: alow(x)\n# trellis: allow x\n"), [(String::new(), ""), (String::new(), "")]);
        assert_eq!(read("to: [a\n# trellis: allow(x)\n"), []);
    }
}
