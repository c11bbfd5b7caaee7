//! The live rows at the bottom of a terminal, and the updates that change them.
//!
//! In: the rows on the terminal and the rows to show. Out: text for the terminal.
//!
//! **Invariant:** nothing above the rows is touched, and no more is written than the rows that changed.

use std::fmt::Write as _;

use crate::columns::width;

/// Rows without line breaks, none wider than the terminal; and where the cursor stands, if it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) rows: Vec<String>,
    pub(super) cursor: Option<(usize, usize)>,
}

/// Begins a row anew.
const CLEAR_ROW: &str = "\r\x1b[K";
/// Removes everything from here on.
const CLEAR_BELOW: &str = "\r\x1b[J";
/// A row that is wider than the terminal believes is cut there, not wrapped.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

impl Frame {
    /// Returns the place where the terminal's cursor really stands: behind the last row where it is not shown.
    fn place(&self) -> (usize, usize) {
        let last = self.rows.len().saturating_sub(1);
        self.cursor.map_or_else(|| (last, 0), |(row, column)| (row.min(last), column))
    }

    /// Returns the text that turns these rows into `next`, with `said` above them, which goes on its own lines.
    pub(super) fn turned_into(&self, next: &Self, said: &str) -> String {
        let mut out = String::new();
        if said.is_empty() && self == next {
            return out;
        }
        if said.is_empty() && self.rows.len() == next.rows.len() {
            self.change(next, &mut out);
        } else {
            out.push_str(&up(self.place().0));
            out.push_str(CLEAR_BELOW);
            out.push_str(&said.replace('\n', "\r\n"));
            next.draw(&mut out);
        }
        out
    }

    /// Returns the text that removes these rows, of which a terminal made more when it became narrower.
    pub(super) fn removed(&self, columns: usize) -> String {
        let (row, column) = self.place();
        let rows = |columns_of_row: usize| columns_of_row.max(1).div_ceil(columns.max(1));
        let above = self.rows.iter().take(row).map(|row| rows(width(&anstream::adapter::strip_str(row).to_string()))).sum::<usize>();
        format!("{}{CLEAR_BELOW}", up(above + column / columns.max(1)))
    }

    fn draw(&self, out: &mut String) {
        out.push_str(WRAP_OFF);
        for (at, row) in self.rows.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "\r\n" });
            out.push_str(row);
        }
        out.push_str(WRAP_ON);
        self.settle(self.rows.len().saturating_sub(1), out);
    }

    fn change(&self, next: &Self, out: &mut String) {
        let mut at = self.place().0;
        out.push_str(WRAP_OFF);
        for (row, (is, should)) in self.rows.iter().zip(&next.rows).enumerate() {
            if is != should {
                out.push_str(&moved(at, row));
                let _ = write!(out, "{CLEAR_ROW}{should}");
                at = row;
            }
        }
        out.push_str(WRAP_ON);
        next.settle(at, out);
    }

    /// Puts the cursor where it belongs, from row `at`.
    fn settle(&self, at: usize, out: &mut String) {
        let (row, column) = self.place();
        out.push_str(&moved(at, row));
        out.push('\r');
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        out.push_str(if self.cursor.is_some() { SHOW } else { HIDE });
    }
}

fn up(rows: usize) -> String {
    moved(rows, 0)
}

fn moved(from: usize, to: usize) -> String {
    match from.cmp(&to) {
        std::cmp::Ordering::Greater => format!("\x1b[{}A", from - to),
        std::cmp::Ordering::Less => format!("\x1b[{}B", to - from),
        std::cmp::Ordering::Equal => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(rows: &[&str], cursor: (usize, usize)) -> Frame {
        Frame { rows: rows.iter().map(|row| (*row).to_owned()).collect(), cursor: Some(cursor) }
    }

    #[test]
    fn only_rows_that_changed_are_written() {
        let (one, two) = (frame(&["a", "b", "c"], (2, 1)), frame(&["a", "x", "c"], (2, 1)));
        let change = one.turned_into(&two, "");
        assert!(change.contains("\x1b[1A\r\x1b[Kx") && !change.contains('a') && !change.contains('c'), "{change:?}");
        assert_eq!(one.turned_into(&one, ""), "");
    }

    #[test]
    fn what_is_said_goes_above() {
        let one = frame(&["a", "b"], (1, 0));
        assert_eq!(one.turned_into(&one, "hello\n"), "\x1b[1A\r\x1b[Jhello\r\n\x1b[?7la\r\nb\x1b[?7h\r\x1b[?25h");
        assert_eq!(Frame::default().turned_into(&Frame::default(), "hello\n"), "\r\x1b[Jhello\r\n\x1b[?7l\x1b[?7h\r\x1b[?25l");
    }

    #[test]
    fn rows_that_were_wrapped_again_are_removed_with_the_rest() {
        assert_eq!(frame(&["0123456789", "ab"], (1, 2)).removed(4), "\x1b[3A\r\x1b[J");
        assert_eq!(frame(&["ab", "0123456789"], (1, 9)).removed(4), "\x1b[3A\r\x1b[J");
        assert_eq!(Frame::default().removed(0), "\r\x1b[J");
    }
}
