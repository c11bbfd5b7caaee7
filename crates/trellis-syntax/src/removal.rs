//! Removal of an entry of a mapping or an item of a list from a text, with the text that belongs to it: its dash, its comma, its lines.
//!
//! **Invariant:** the removed text has nothing but the entry, blanks, and one comma, dash or line break.

use trellis_base::span::Span;

/// Returns the text to remove so that the entry or item at `whole` is gone; `None` if its lines do not show it.
pub fn removal(text: &str, whole: Span) -> Option<Span> {
    let range = whole.range();
    let (mut start, mut end) = (range.start, range.end);
    text.get(range)?;
    // The quotes of a scalar are not part of its place.
    let quote = text[..start].chars().next_back().filter(|quote| matches!(quote, '"' | '\''));
    if quote.is_some_and(|quote| text[end..].starts_with(quote)) {
        (start, end) = (start - 1, end + 1);
    }
    let line = text[..start].rfind('\n').map_or(0, |before| before + 1);
    let before = text[line..start].trim_matches([' ', '\u{feff}']);
    let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
    let rest = text[end..line_end].trim_matches([' ', '\r']);
    if rest.is_empty() && (before.is_empty() || before == "-") {
        let first = text[line..].len() - text[line..].trim_start_matches('\u{feff}').len();
        return Some(Span::new(line + first, (line_end + 1).min(text.len())));
    }
    // In brackets, behind another one: the comma before it goes too.
    let comma = text[..start].trim_end_matches([' ', '\n', '\r']).strip_suffix(',')?.len();
    let closed = text[end..].trim_start_matches([' ', '\n', '\r']).starts_with([',', '}', ']']);
    closed.then(|| Span::new(comma, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str, part: &str) -> Option<String> {
        let at = text.rfind(part).unwrap();
        let span = removal(text, Span::new(at, at + part.len()))?;
        Some(format!("{}{}", &text[..span.start as usize], &text[span.end as usize..]))
    }

    #[test]
    fn what_stands_alone_on_its_lines_goes_with_them() {
        for (text, part, left) in [
            ("---\nto: a\nto: a\n---\n", "to: a", "---\nto: a\n---\n"),
            ("to: a\r\nto: a\r\n", "to: a", "to: a\r\n"),
            ("l:\n  - x\n  - x\n", "x", "l:\n  - x\n"),
            ("l:\n  - 'x'\n  - 'x'\n", "x", "l:\n  - 'x'\n"),
            ("l:\n  - x\n  - x", "x", "l:\n  - x\n"),
            ("a:\n  b: 1\n  b: 1 \nc: 2\n", "b: 1", "a:\n  b: 1\nc: 2\n"),
            ("s:\n  k: [1,\n    2]\n", "k: [1,\n    2]", "s:\n"),
            ("\u{feff}to: a\nx: b\n", "to: a", "\u{feff}x: b\n"),
        ] {
            assert_eq!(without(text, part).as_deref(), Some(left), "{text:?}");
        }
    }

    #[test]
    fn in_brackets_the_comma_goes_too() {
        for (text, part, left) in [
            ("o: [a, b, a]\n", "a", "o: [a, b]\n"),
            ("o: {a: 1, a: 1}\n", "a: 1", "o: {a: 1}\n"),
            ("o: [a ,\n  a, c]\n", "a", "o: [a , c]\n"),
        ] {
            assert_eq!(without(text, part).as_deref(), Some(left), "{text:?}");
        }
    }

    #[test]
    fn what_shares_its_line_with_something_else_stays() {
        for (text, part) in
            [("to: a # why\n", "to: a"), ("- to: a\n  x: b\n", "- to: a\n  x"), ("o: [a]\n", "a"), ("o: [a, b] c", "[a, b]")]
        {
            assert_eq!(without(text, part), None, "{text:?}");
        }
    }
}
