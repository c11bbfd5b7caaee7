//! Text in columns of a terminal: measured, cut and broken by grapheme, never inside one.
//!
//! In: text without control characters. Out: columns, and parts of the text.
//!
//! **Invariant:** what is counted as one unit is drawn as one: a letter with its accents, a family of emoji.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns the number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    if is_simple(text) { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// The longest beginning of `text` that takes at most `room` columns, the rest, and the columns of the beginning.
pub(crate) fn split(text: &str, room: usize) -> (&str, &str, usize) {
    if is_simple(text) {
        let at = room.min(text.len());
        return (&text[..at], &text[at..], at);
    }
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        let columns = grapheme.width();
        if used + columns > room {
            return (&text[..at], &text[at..], used);
        }
        used += columns;
    }
    (text, "", used)
}

/// As [`split`], but never nothing: where not even the first grapheme fits, it is taken all the same.
pub(crate) fn split_some(text: &str, room: usize) -> (&str, &str, usize) {
    match split(text, room) {
        ("", rest, _) if !rest.is_empty() => {
            let end = rest.graphemes(true).next().map_or(rest.len(), str::len);
            (&rest[..end], &rest[end..], rest[..end].width())
        }
        parts => parts,
    }
}

/// `text`, or as much of it as fits before a `…`.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    match room.checked_sub(1) {
        Some(room) => format!("{}…", split(text, room).0),
        None => String::new(),
    }
}

/// Wraps plain text into lines of at most `room` columns, between words where possible.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let (mut open, mut used) = (String::new(), 0);
        let before = lines.len();
        for word in line.split_inclusive(' ') {
            let mut word = word;
            if used > 0 && used + width(word.trim_end()) > room {
                lines.push(std::mem::take(&mut open).trim_end().to_owned());
                used = 0;
            }
            while !word.is_empty() && used + width(word.trim_end()) > room {
                let (part, rest, _) = split_some(word, room - used);
                lines.push(std::mem::take(&mut open) + part);
                (word, used) = (rest, 0);
            }
            open.push_str(word);
            used += width(word);
        }
        if !open.is_empty() || lines.len() == before {
            lines.push(open.trim_end().to_owned());
        }
    }
    lines
}

/// Returns whether a text holds letters that are written from right to left.
pub(crate) fn is_right_to_left(text: &str) -> bool {
    text.chars().any(|char| matches!(char, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'))
}

/// Returns whether each byte is one column.
fn is_simple(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_graphemes() {
        for (text, columns) in [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("🇵🇹", 2), ("", 0), ("שלום", 4), ("\u{200b}", 0)]
        {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn plain_text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  a\n\nlong-long-word b", 6), ["  a", "", "long-l", "ong-wo", "rd b"]);
        assert_eq!(wrapped("日本", 1), ["日", "本"]);
        assert_eq!(wrapped("", 0), [""]);
    }

    #[test]
    fn nothing_is_cut_inside_a_grapheme() {
        assert_eq!(split("e\u{301}e\u{301}", 1), ("e\u{301}", "e\u{301}", 1));
        assert_eq!(split("日本", 3), ("日", "本", 2));
        assert_eq!(split_some("日本", 1), ("日", "本", 2));
        assert_eq!(split("a👩‍👩‍👧", 2), ("a", "👩‍👩‍👧", 1));
        assert_eq!(
            (cut("日本語", 5), cut("abc", 3), cut("abc", 1), cut("abc", 0)),
            ("日本…".into(), "abc".into(), "…".into(), String::new())
        );
        assert_eq!(split_some("", 0), ("", "", 0));
    }
}
