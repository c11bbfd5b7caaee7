//! A model's text, shown beside the conversation while it is written.

use crate::{binding::Delta, controls::is_steering};

/// A text that streams.
#[derive(Default)]
pub(super) struct StreamedText {
    /// True if a part of it is shown without its last line break.
    is_open: bool,
}

impl StreamedText {
    /// Returns the text to write for the next piece. One that revokes those before it begins on a line of its own.
    pub(super) fn next(&mut self, delta: &Delta) -> String {
        let apart = if delta.is_reset && self.is_open { "\n" } else { "" };
        self.is_open |= !delta.text.is_empty();
        let is_shown = |char: &char| !char.is_ascii_control() || matches!(char, '\n' | '\t');
        let text: String = delta.text.chars().filter(is_shown).collect();
        format!("{apart}{}", text.replace(is_steering, "\u{fffd}"))
    }

    /// Returns the text to write before any other output.
    pub(super) fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_open) { "\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_taken_back_begins_anew_on_its_own_line() {
        // language 9.21
        let mut stream = StreamedText::default();
        let mut next = |text: &str, is_reset| stream.next(&Delta { text: text.into(), is_reset });
        assert_eq!(next("He", false) + &next("llo\x1b[2J", false) + &next("Hi", true), "Hello[2J\nHi");
        assert_eq!((stream.end(), stream.end()), ("\n", ""));
    }
}
