//! Wraps styled pieces into lines of a bounded width: between words, between the characters of scripts without spaces, and
//! inside a word that is longer than a line.

use std::fmt::Write as _;

use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation;

use crate::columns::{split_some, width};

/// A run of text in one style; `\n` ends the line, spaces may be broken.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) style: Style,
}

/// A finished line.
#[derive(Default)]
pub(super) struct Line {
    pub(super) text: String,
    /// Columns of the text.
    pub(super) width: usize,
    /// The style that is on.
    style: Style,
}

/// A piece of text that is not broken while it fits on a line.
#[derive(Default)]
struct Unit<'p> {
    parts: Vec<(&'p str, Style)>,
    width: usize,
    /// True if a space precedes it.
    spaced: bool,
}

/// Pieces as lines of at most `room` columns.
pub(super) fn wrapped(pieces: &[Piece], room: usize) -> Vec<Line> {
    let room = room.max(1);
    let mut lines = vec![Line::default()];
    for unit in units(pieces) {
        let Some(unit) = unit else {
            lines.push(Line::default());
            continue;
        };
        let Some(line) = lines.last_mut() else { break };
        let space = unit.spaced && line.width > 0;
        if line.width > 0 && line.width + usize::from(space) + unit.width > room {
            lines.push(Line::default());
        }
        let Some(line) = lines.last_mut() else { break };
        let space = space && line.width > 0;
        if line.width + usize::from(space) + unit.width <= room {
            line.take(&unit, space);
        } else {
            broken(&unit, room, &mut lines);
        }
    }
    lines.into_iter().map(Line::finished).collect()
}

/// Columns that pieces take on one line, and those of the widest unit.
pub(super) fn measured(pieces: &[Piece]) -> (usize, usize) {
    let (mut line, mut longest, mut widest) = (0, 0, 0);
    for unit in units(pieces) {
        let Some(unit) = unit else {
            line = 0;
            continue;
        };
        line += unit.width + usize::from(unit.spaced && line > 0);
        (longest, widest) = (longest.max(line), widest.max(unit.width));
    }
    (longest, widest)
}

/// A unit that is wider than a line, over as many as it takes.
fn broken(unit: &Unit<'_>, room: usize, lines: &mut Vec<Line>) {
    for &(mut text, style) in &unit.parts {
        while let Some(line) = lines.last_mut().filter(|_| !text.is_empty()) {
            if line.width >= room {
                lines.push(Line::default());
                continue;
            }
            let (part, rest, columns) = split_some(text, room - line.width);
            if line.width > 0 && line.width + columns > room {
                lines.push(Line::default());
                continue;
            }
            line.push(part, columns, style, false);
            text = rest;
        }
    }
}

impl Line {
    fn take(&mut self, unit: &Unit<'_>, space: bool) {
        for (at, &(text, style)) in unit.parts.iter().enumerate() {
            self.push(text, width(text), style, space && at == 0);
        }
    }

    /// Adds a word. The space before it is styled only where both sides are, so that underlines go through.
    fn push(&mut self, word: &str, columns: usize, style: Style, space: bool) {
        let space = if space { " " } else { "" };
        if style == self.style {
            self.text.push_str(space);
        } else {
            let _ = write!(self.text, "{:#}{space}{style}", self.style);
        }
        self.text.push_str(word);
        self.width += columns + space.len();
        self.style = style;
    }

    fn finished(mut self) -> Self {
        let _ = write!(self.text, "{:#}", self.style);
        self
    }
}

/// The units of pieces; `None` is the end of a line.
fn units(pieces: &[Piece]) -> Vec<Option<Unit<'_>>> {
    let mut all = Vec::new();
    let mut open = Unit::default();
    let mut spaced = false;
    for piece in pieces {
        for part in piece.text.split_inclusive([' ', '\n']) {
            let word = part.trim_end_matches([' ', '\n']);
            for (unit, may_break) in breakable(word) {
                if may_break && !open.parts.is_empty() {
                    all.push(Some(std::mem::take(&mut open)));
                }
                if open.parts.is_empty() {
                    open.spaced = std::mem::take(&mut spaced);
                }
                open.parts.push((unit, piece.style));
                open.width += width(unit);
            }
            if word.len() < part.len() {
                if !open.parts.is_empty() {
                    all.push(Some(std::mem::take(&mut open)));
                }
                spaced = part.ends_with(' ');
                if part.ends_with('\n') {
                    all.push(None);
                }
            }
        }
    }
    if !open.parts.is_empty() {
        all.push(Some(open));
    }
    all
}

/// A word cut where its script may be broken without a space, and whether it may be broken before each part.
fn breakable(word: &str) -> Vec<(&str, bool)> {
    if !word.chars().any(is_ideograph) {
        return if word.is_empty() { Vec::new() } else { vec![(word, false)] };
    }
    let mut parts = Vec::new();
    let (mut start, mut breaks, mut was_ideograph) = (0, false, false);
    for (at, grapheme) in word.grapheme_indices(true) {
        let is_ideograph = grapheme.chars().any(is_ideograph);
        let may_break = (is_ideograph || was_ideograph) && !grapheme.starts_with(|char| "、。，．：；！？）」』】〉》〕ー".contains(char));
        if at > 0 && may_break {
            parts.push((&word[start..at], breaks));
            (start, breaks) = (at, true);
        } else if at == 0 {
            breaks = may_break;
        }
        was_ideograph = is_ideograph && !grapheme.starts_with(|char| "（「『【〈《〔".contains(char));
    }
    parts.push((&word[start..], breaks));
    parts
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3fffd}')
}
