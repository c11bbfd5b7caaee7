//! Breaks text into rows of a bounded width, and selects the visible ones.
//!
//! In: graphemes and a cursor between two of them. Out: rows, and the cursor's position in them.

use crate::{
    columns::{self, width},
    terminal::Look,
};

/// Rows of the text around its cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VisibleRows {
    pub(super) rows: Vec<String>,
    pub(super) cursor: (usize, usize),
    /// True if the first of them is the first of the text.
    pub(super) from_top: bool,
}

/// Graphemes being put into rows.
pub(super) struct RowLayout {
    rows: Vec<String>,
    column: usize,
    room: usize,
    cursor: Option<(usize, usize)>,
}

impl RowLayout {
    /// An empty one, of whose first row `first` columns are taken.
    pub(super) fn new(room: usize, first: usize) -> Self {
        let room = room.max(1);
        Self { rows: vec![String::new()], column: first.min(room - 1), room, cursor: None }
    }

    pub(super) fn put(&mut self, text: &str) {
        let columns = width(text);
        if self.column > 0 && self.column + columns > self.room {
            self.next_row();
        }
        if let Some(row) = self.rows.last_mut() {
            row.push_str(text);
        }
        self.column += columns;
    }

    pub(super) fn next_row(&mut self) {
        self.rows.push(String::new());
        self.column = 0;
    }

    /// The position of the cursor.
    pub(super) fn mark(&mut self) {
        if self.column >= self.room {
            self.next_row();
        }
        self.cursor = Some((self.rows.len() - 1, self.column));
    }

    /// The rows around the cursor, at most `most`.
    pub(super) fn around_cursor(self, most: usize) -> VisibleRows {
        let (row, column) = self.cursor.unwrap_or((self.rows.len() - 1, self.column));
        let top = (row + 1).saturating_sub(most.div_ceil(2)).min(self.rows.len().saturating_sub(most));
        VisibleRows { rows: self.rows.into_iter().skip(top).take(most).collect(), cursor: (row - top, column), from_top: top == 0 }
    }
}

/// Renders a text in one row, for an answer.
pub(super) fn in_one_row(text: &str, room: usize, look: Look) -> String {
    // Marks take no columns, so more characters than columns may be seen.
    let start = text.chars().take(room.saturating_mul(8).saturating_add(8)).collect::<String>();
    let line = start.replace('\n', look.pick("⏎", "^J")).replace('\t', look.pick("⇥", "^I"));
    columns::cut(&line, room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_is_one_row() {
        let look = Look { styled: true, unicode: true };
        assert_eq!(in_one_row(&"日本語\n".repeat(1000), 10, look), "日本語⏎日…");
        assert_eq!(in_one_row("a\tb", 10, look), "a⇥b");
        for room in 0..70 {
            assert!(width(&in_one_row(&"é日👩‍👩‍👧e\u{301}".repeat(50), room, look)) <= room, "{room}");
        }
    }
}
