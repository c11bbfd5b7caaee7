//! Styled pieces become lines of a bounded width, broken between words.

use std::fmt::Write as _;

use anstyle::Style;

use crate::report::display_width;

/// A run of text in one style; `\n` ends the line, spaces may be broken.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) style: Style,
}

/// Pieces as lines of at most `room` columns; a word that is longer stands on a line of its own.
pub(super) fn wrapped(words: &[Piece], room: usize) -> Vec<String> {
    let mut lines = vec![Line::default()];
    let mut space = false;
    for (token, style, glued) in tokens(words) {
        let Some(line) = lines.last_mut() else { break };
        let length = display_width(token);
        match token {
            "\n" => {
                lines.push(Line::default());
                space = false;
            }
            " " => space = line.width > 0,
            _ if space && !glued && line.width + 1 + length > room => {
                let mut next = Line::default();
                next.push(token, style, false);
                lines.push(next);
                space = false;
            }
            _ => line.push(token, style, std::mem::take(&mut space)),
        }
    }
    lines.into_iter().map(Line::finish).collect()
}

/// A line in the making.
#[derive(Default)]
struct Line {
    text: String,
    width: usize,
    /// The style that is on.
    style: Style,
}

impl Line {
    /// Adds a word. The space before it is styled only where both sides are, so that underlines go through.
    fn push(&mut self, word: &str, style: Style, space: bool) {
        if style == self.style {
            self.text.push_str(if space { " " } else { "" });
        } else {
            let _ = write!(self.text, "{:#}{}{style}", self.style, if space { " " } else { "" });
        }
        self.text.push_str(word);
        self.width += display_width(word) + usize::from(space);
        self.style = style;
    }

    fn finish(mut self) -> String {
        let _ = write!(self.text, "{:#}", self.style);
        self.text
    }
}

/// Words, spaces and line ends; a word is glued when no space stands before it.
fn tokens(words: &[Piece]) -> impl Iterator<Item = (&str, Style, bool)> {
    let split = words.iter().flat_map(|piece| {
        let parts = piece.text.split_inclusive([' ', '\n']);
        let parts = parts.flat_map(|part| match part.strip_suffix([' ', '\n']) {
            Some(word) => [word, &part[word.len()..]],
            None => [part, ""],
        });
        parts.filter(|part| !part.is_empty()).map(|part| (part, piece.style))
    });
    let mut after_space = true;
    split.map(move |(token, style)| {
        let glued = !after_space;
        after_space = matches!(token, " " | "\n");
        (token, style, glued)
    })
}
