//! The input line: its text, its cursor, and the text that was removed last.
//!
//! In: keys. Out: the text, and its rows at a given width.
//!
//! **Invariant:** the text never exceeds its bound and has no control characters but line breaks and tabs, and the cursor is always
//! between graphemes. Omitted characters are counted and reported.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::{
    keys::Key,
    layout::{RowLayout, VisibleRows},
};
use crate::terminal::Look;

#[derive(Debug)]
pub(super) struct Editor {
    text: String,
    cursor: usize,
    removed: String,
    /// Bytes that the text may have.
    bound: u64,
    /// Bytes that came and did not fit.
    over: u64,
    /// Control characters, and bytes that are no UTF-8, that came and were left out.
    left_out: usize,
    junk: usize,
    secret: bool,
}

/// The distance around the cursor to which a long text is laid out, in bytes; from a multiple of it, so that lines do not dance.
const BLOCK: usize = 8192;

impl Editor {
    pub(super) fn new(bound: u64, secret: bool) -> Self {
        Self { text: String::new(), cursor: 0, removed: String::new(), bound, over: 0, left_out: 0, junk: 0, secret }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_secret(&self) -> bool {
        self.secret
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.over == 0
    }

    /// The number of bytes, if they were too many.
    pub(super) fn too_large(&self) -> Option<(u64, u64)> {
        (self.over > 0).then(|| (self.text.len() as u64 + self.over, self.bound))
    }

    pub(super) fn clear(&mut self) {
        self.replace("");
    }

    /// Replaces the text, with the cursor at its end.
    pub(super) fn replace(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        (self.cursor, self.over, self.left_out, self.junk) = (text.len(), 0, 0, 0);
    }

    /// Describes input that was not added to the text.
    pub(super) fn notice(&self) -> Option<String> {
        if let Some((size, bound)) = self.too_large() {
            return Some(format!("the input is {size} bytes, the limit is {bound}"));
        }
        let counted = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let controls = counted(self.left_out, "control character", "control characters");
        let junk = counted(self.junk, "byte that is no UTF-8", "bytes that are no UTF-8");
        let is_one = self.left_out + self.junk == 1;
        let all = controls.into_iter().chain(junk).collect::<Vec<_>>().join(", ");
        (!all.is_empty()).then(|| format!("{all} {} left out", if is_one { "was" } else { "were" }))
    }

    /// Applies a key; returns false if the key has no meaning for a line.
    pub(super) fn press(&mut self, key: &Key) -> bool {
        if !matches!(key, Key::Text(_) | Key::Paste(_) | Key::Junk(_) | Key::Break) {
            self.over = 0;
        }
        match key {
            Key::Text(text) | Key::Paste(text) => self.insert(text),
            Key::Break => self.insert("\n"),
            Key::Junk(bytes) => self.junk += bytes,
            Key::Backspace => self.remove(self.before(), self.cursor, false),
            Key::Delete | Key::Eof => self.remove(self.cursor, self.after(), false),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::KillStart => self.remove(self.line_start(), self.cursor, true),
            Key::KillEnd => self.remove(self.cursor, self.line_end(), true),
            Key::KillWord => self.remove(self.word_before(), self.cursor, true),
            Key::Yank => {
                let removed = std::mem::take(&mut self.removed);
                self.insert(&removed);
                self.removed = removed;
            }
            _ => return false,
        }
        true
    }

    fn insert(&mut self, text: &str) {
        let cleaned = cleaned(text);
        self.left_out += cleaned.left_out;
        let size = (self.text.len() + cleaned.text.len()) as u64;
        if self.over > 0 || size > self.bound {
            self.over += cleaned.text.len() as u64;
            return;
        }
        self.text.insert_str(self.cursor, &cleaned.text);
        self.cursor += cleaned.text.len();
        // A mark that was inserted belongs to the letter before it; one that follows joins what was inserted.
        self.cursor = self.boundary();
    }

    fn remove(&mut self, start: usize, end: usize, keep: bool) {
        if keep && start < end {
            self.text[start..end].clone_into(&mut self.removed);
        }
        self.text.replace_range(start..end, "");
        self.cursor = start;
        self.cursor = self.boundary();
    }

    fn boundary(&self) -> usize {
        let mut at = GraphemeCursor::new(self.cursor, self.text.len(), true);
        if at.is_boundary(&self.text, 0).unwrap_or(true) { self.cursor } else { self.after() }
    }

    fn before(&self) -> usize {
        GraphemeCursor::new(self.cursor, self.text.len(), true).prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn after(&self) -> usize {
        GraphemeCursor::new(self.cursor, self.text.len(), true).next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    fn word_before(&self) -> usize {
        let trimmed = self.text[..self.cursor].trim_end();
        trimmed.rfind(char::is_whitespace).map_or(0, |at| at + trimmed[at..].chars().next().map_or(1, char::len_utf8))
    }

    fn word_after(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let word = rest.find(|char: char| !char.is_whitespace()).unwrap_or(rest.len());
        rest[word..].find(char::is_whitespace).map_or(self.text.len(), |end| self.cursor + word + end)
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// The text in rows of `room` columns, at most `most` of them around the cursor; and where the cursor stands in them.
    /// `first` columns of the first row are taken, if it is shown.
    pub(super) fn rows(&self, room: usize, first: usize, most: usize, look: Look) -> VisibleRows {
        let mut layout = RowLayout::new(room, first);
        let (start, end) = self.window();
        if start > 0 {
            layout.put("…");
        }
        for (at, grapheme) in self.text[start..end].grapheme_indices(true) {
            if start + at == self.cursor {
                layout.mark();
            }
            match grapheme {
                _ if self.secret => layout.put(look.pick("•", "*")),
                "\n" | "\r\n" => {
                    layout.put(look.pick("⏎", "^J"));
                    layout.next_row();
                }
                "\t" => layout.put(look.pick("⇥", "^I")),
                grapheme => layout.put(grapheme),
            }
        }
        if self.cursor >= end {
            layout.mark();
        }
        if end < self.text.len() {
            layout.put("…");
        }
        layout.around_cursor(most.max(1))
    }

    /// The part of the text that is laid out.
    fn window(&self) -> (usize, usize) {
        let snapped = |at: usize| {
            let mut at = at.min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let block = self.cursor / BLOCK;
        (snapped(block.saturating_sub(1) * BLOCK), snapped((block + 2) * BLOCK))
    }
}

struct CleanedText {
    text: String,
    left_out: usize,
}

/// A text without control characters; line breaks of any kind are `\n`, tabs stay.
fn cleaned(text: &str) -> CleanedText {
    let mut cleaned = CleanedText { text: String::with_capacity(text.len()), left_out: 0 };
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {
                chars.next_if_eq(&'\n');
                cleaned.text.push('\n');
            }
            '\n' | '\t' => cleaned.text.push(char),
            char if char.is_control() => cleaned.left_out += 1,
            // They turn the direction of what stands around them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => cleaned.left_out += 1,
            char => cleaned.text.push(char),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::width;

    const LOOK: Look = Look { styled: true, unicode: true };

    fn editor(text: &str) -> Editor {
        let mut editor = Editor::new(100, false);
        editor.press(&Key::Text(text.into()));
        editor
    }

    fn pressed(mut editor: Editor, keys: &[Key]) -> String {
        for key in keys {
            editor.press(key);
        }
        let (before, after) = editor.text.split_at(editor.cursor);
        format!("{before}|{after}")
    }

    #[test]
    fn the_cursor_moves_by_graphemes_words_and_lines() {
        let family = "👩‍👩‍👧";
        assert_eq!(pressed(editor(&format!("a{family}")), &[Key::Left]), format!("a|{family}"));
        assert_eq!(pressed(editor(&format!("a{family}e\u{301}")), &[Key::Backspace, Key::Backspace]), "a|");
        assert_eq!(pressed(editor("one two  "), &[Key::WordLeft, Key::WordLeft, Key::WordRight]), "one| two  ");
        assert_eq!(pressed(editor("one two"), &[Key::KillWord, Key::Home, Key::Yank]), "two|one ");
        assert_eq!(pressed(editor("one two"), &[Key::WordLeft, Key::KillEnd]), "one |");
        assert_eq!(pressed(editor("one two"), &[Key::WordLeft, Key::KillStart]), "|two");
        assert_eq!(pressed(editor("ab"), &[Key::Break, Key::Text("cd".into()), Key::Home, Key::Left, Key::End]), "ab|\ncd");
        assert_eq!(pressed(editor(""), &[Key::Left, Key::Right, Key::Backspace, Key::Delete, Key::WordLeft, Key::WordRight]), "|");
        assert_eq!(pressed(editor("e x"), &[Key::Left, Key::Left, Key::Text("\u{301}".into())]), "e\u{301}| x");
    }

    #[test]
    fn a_paste_keeps_its_lines_and_leaves_control_codes_out() {
        let mut pasted = editor("");
        pasted.press(&Key::Paste("a\r\nb\tc\r\u{1b}[31md\u{202e}".into()));
        assert_eq!(pasted.text(), "a\nb\tc\n[31md");
        assert_eq!(pasted.notice().unwrap(), "2 control characters were left out");
        assert_eq!(pasted.rows(40, 2, 5, LOOK).rows, ["a⏎", "b⇥c⏎", "[31md"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_counted() {
        let mut odd = editor("a\u{7}");
        odd.press(&Key::Junk(2));
        assert_eq!((odd.text(), odd.notice().unwrap().as_str()), ("a", "1 control character, 2 bytes that are no UTF-8 were left out"));
    }

    #[test]
    fn what_does_not_fit_is_refused_whole_and_named() {
        let mut full = editor(&"x".repeat(99));
        full.press(&Key::Text("yz".into()));
        full.press(&Key::Paste("more".into()));
        assert_eq!((full.text().len(), full.too_large()), (99, Some((105, 100))));
        assert_eq!(full.notice().unwrap(), "the input is 105 bytes, the limit is 100");
        full.press(&Key::Left);
        assert_eq!(full.too_large(), None);
    }

    #[test]
    fn a_text_is_shown_around_the_cursor() {
        let mut long = Editor::new(1 << 20, false);
        long.press(&Key::Paste("0123456789".repeat(10_000)));
        let VisibleRows { rows, cursor, from_top } = long.rows(20, 2, 3, LOOK);
        assert_eq!((rows.len(), cursor.0, from_top), (3, 2, false));
        assert!(rows.iter().all(|row| width(row) <= 20), "{rows:?}");
        long.press(&Key::Home);
        let VisibleRows { rows, cursor, from_top } = long.rows(20, 2, 3, LOOK);
        assert_eq!(rows, ["012345678901234567", "89012345678901234567", "89012345678901234567"]);
        assert_eq!((cursor, from_top), ((0, 2), true));
    }

    #[test]
    fn rows_end_at_every_width_and_wide_letters_stay_whole() {
        let wide = editor("日本e\u{301}👩‍👩‍👧 x");
        for room in 0..12 {
            for most in 0..4 {
                let VisibleRows { rows, cursor: (row, column), .. } = wide.rows(room, 2, most, LOOK);
                assert!(row < rows.len() && column <= room.max(1), "{room} {most}: {rows:?} {row} {column}");
            }
        }
        assert_eq!(wide.rows(5, 2, 9, LOOK).rows, ["日", "本e\u{301}👩‍👩‍👧", " x"]);
    }

    #[test]
    fn a_secret_is_as_many_dots() {
        let mut secret = Editor::new(100, true);
        secret.press(&Key::Text("pass\u{301}".into()));
        assert_eq!(secret.rows(40, 0, 1, LOOK), VisibleRows { rows: vec!["••••".into()], cursor: (0, 4), from_top: true });
    }
}
