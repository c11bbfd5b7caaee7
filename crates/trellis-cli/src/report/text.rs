//! Text for a terminal: escapes control characters, measures columns, cuts excerpts.

use std::{borrow::Cow, ops::Range};

use unicode_width::UnicodeWidthChar;

/// The text in the place of a tab.
const TAB: &str = "    ";

/// The text without anything that a terminal would obey: control characters, and marks that turn the direction of what follows.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|char| if is_harmless(char) { char } else { '\u{fffd}' }).collect())
}

fn is_harmless(char: char) -> bool {
    !(char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}'))
}

/// Returns the number of columns that a text takes.
pub(crate) fn display_width(text: &str) -> usize {
    text.chars().map(|char| char.width().unwrap_or(0)).sum()
}

/// A text in lines of so many columns, broken between words where that is possible; the first line has room for less.
pub(super) fn fold(text: &str, columns: usize, used: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = columns.saturating_sub(used);
    for word in text.split_inclusive(' ') {
        let bare = display_width(word.trim_end());
        let is_begun = lines.last().is_some_and(|line| !line.is_empty()) || room < columns;
        if bare > room && is_begun {
            lines.push(String::new());
            room = columns;
        }
        for char in word.chars() {
            let width = char.width().unwrap_or(0);
            // A blank at the end of a line is not seen.
            if width > room && char != ' ' {
                lines.push(String::new());
                room = columns;
            }
            room = room.saturating_sub(width);
            lines.last_mut().into_iter().for_each(|line| line.push(char));
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A line as it is shown, with the columns of a place in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The line as it is shown.
    pub(super) line: String,
    /// Columns before the place.
    pub(super) before: usize,
    /// Columns of the place, at least 1.
    pub(super) width: usize,
}

/// Shows `line` in at most `room` columns, so that the bytes of `place` are seen.
///
/// Offsets outside the line, or inside a character, move to the nearest that is none.
pub(super) fn excerpt(line: &str, place: Range<usize>, room: usize) -> Excerpt {
    let start = floor(line, place.start);
    let end = floor(line, place.end).max(start);
    let before = shown(&line[..start]);
    let marked = shown(&line[start..end]);
    let after = shown(&line[end..]);
    let (before, cut) = cut_front(&before, room, display_width(&marked));
    let before_width = display_width(before) + usize::from(cut);
    let mut text = if cut { String::from("…") } else { String::new() };
    text.push_str(before);
    let from = text.len();
    text.push_str(&marked);
    text.push_str(&after);
    let text = cut_back(text.trim_end(), room);
    let width = display_width(text.get(from..).unwrap_or_default()).min(display_width(&marked)).max(1);
    Excerpt { line: text, before: before_width, width }
}

/// The nearest character boundary at or before `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// A part of a line as it is shown: tabs become spaces, the rest harmless.
fn shown(part: &str) -> String {
    let part = part.strip_prefix('\u{feff}').unwrap_or(part);
    printable(&part.replace('\t', TAB)).into_owned()
}

/// Returns the end of `before`, if all of it and the marked text would not fit, and whether it was cut.
fn cut_front(before: &str, room: usize, marked: usize) -> (&str, bool) {
    if display_width(before) + marked.min(room / 2) <= room.saturating_sub(room / 8) {
        return (before, false);
    }
    let keep = room / 3;
    let mut width = 0;
    let from = before.char_indices().rev().take_while(|(_, char)| {
        width += char.width().unwrap_or(0);
        width <= keep
    });
    let from = from.last().map_or(before.len(), |(at, _)| at);
    (&before[from..], from > 0)
}

/// `text`, or its beginning and `…`.
fn cut_back(text: &str, room: usize) -> String {
    if display_width(text) <= room {
        return text.to_owned();
    }
    let mut width = 1;
    let shortened = text.chars().take_while(|char| {
        width += char.width().unwrap_or(0);
        width <= room
    });
    shortened.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_wide_characters_keep_the_mark_below_its_place() {
        let found = excerpt("\t日本 {{ x }}", 11..12, 80);
        assert_eq!((found.line.as_str(), found.before, found.width), ("    日本 {{ x }}", 12, 1));
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides_of_the_place() {
        let line = format!("{}HERE{}", "a".repeat(5000), "b".repeat(5000));
        let found = excerpt(&line, 5000..5004, 60);
        assert!(found.line.starts_with("…aaa") && found.line.ends_with("bb…"), "{}", found.line);
        assert_eq!(display_width(&found.line), 60);
        let at = found.line.chars().skip(found.before).take(found.width).collect::<String>();
        assert_eq!(at, "HERE");
    }

    #[test]
    fn places_outside_the_line_or_inside_a_character_move() {
        for (start, end) in [(0, 0), (1, 2), (3, 900), (900, 901), (2, 1)] {
            let found = excerpt("é\u{1b}[31m€", start..end, 20);
            assert!(found.width >= 1 && !found.line.contains('\u{1b}'));
        }
        assert_eq!(excerpt("", 0..5, 20), Excerpt { line: String::new(), before: 0, width: 1 });
    }

    #[test]
    fn long_texts_are_folded_between_words_and_long_words_anywhere() {
        assert_eq!(fold("did you mean `receipt`?", 80, 6), ["did you mean `receipt`?"]);
        assert_eq!(fold("did you mean `receipt`?", 14, 6), ["did you", "mean", "`receipt`?"]);
        assert_eq!(fold("abcdefghij kl", 4, 0), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(fold("ab 日本日本", 5, 3), ["ab", "日本", "日本"]);
        assert_eq!(fold("a b", 3, 3), ["", "a b"]);
        assert_eq!(fold("", 3, 0), [""]);
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        assert_eq!(printable("a\u{1b}[2Jb\u{202e}c"), "a\u{fffd}[2Jb\u{fffd}c");
    }
}
