//! Tables: boxes if they fit, otherwise one row below the other, each cell after the name of its column.

use pulldown_cmark::Alignment;

use super::{
    isolated,
    wrap::{Line, Piece, measured, wrapped},
};
use crate::terminal::Look;

/// Columns of text below which a cell is not pressed.
const MIN_CELL_COLUMNS: usize = 8;

/// A table in the making.
#[derive(Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// Rows of cells; the first is the head.
    pub(super) rows: Vec<Vec<Vec<Piece>>>,
}

impl Table {
    /// The table in at most `room` columns.
    pub(super) fn lines(&self, room: usize, look: Look) -> Vec<String> {
        match self.widths(room) {
            Some(widths) => self.boxed(&widths, look),
            None => self.stacked(room),
        }
    }

    /// The columns of each cell, if the table fits: what every cell needs, and the rest to those that want more.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let mut wanted = vec![1; count];
        let mut least = vec![1; count];
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate().take(count) {
                let (line, unit) = measured(cell);
                wanted[column] = wanted[column].max(line);
                least[column] = least[column].max(unit.min(line)).max(line.min(MIN_CELL_COLUMNS));
            }
        }
        let mut spare = room.checked_sub(3 * count + 1)?.checked_sub(least.iter().sum())?;
        let mut widths = least;
        // The narrowest of those that want more grows first, so that long texts share what short ones leave.
        while spare > 0 {
            let next = (0..count).filter(|&column| widths[column] < wanted[column]).min_by_key(|&column| widths[column]);
            let Some(column) = next else { break };
            widths[column] += 1;
            spare -= 1;
        }
        Some(widths)
    }

    fn boxed(&self, widths: &[usize], look: Look) -> Vec<String> {
        let rule = |left: &str, cross: &str, right: &str| {
            let parts = widths.iter().map(|width| look.pick("─", "-").repeat(width + 2)).collect::<Vec<_>>();
            format!("{left}{}{right}", parts.join(cross))
        };
        let rows = self.rows.iter().map(|row| self.row(row, widths, look)).collect::<Vec<_>>();
        let is_tall = rows.iter().skip(1).any(|row| row.len() > 1);
        let mut lines = vec![rule(look.pick("┌", "+"), look.pick("┬", "+"), look.pick("┐", "+"))];
        for (at, row) in rows.into_iter().enumerate() {
            if at == 1 || (at > 1 && is_tall) {
                lines.push(rule(look.pick("├", "+"), look.pick("┼", "+"), look.pick("┤", "+")));
            }
            lines.extend(row);
        }
        lines.push(rule(look.pick("└", "+"), look.pick("┴", "+"), look.pick("┘", "+")));
        lines
    }

    /// The lines of one row, as many as its tallest cell has.
    fn row(&self, cells: &[Vec<Piece>], widths: &[usize], look: Look) -> Vec<String> {
        let cells = widths.iter().enumerate().map(|(at, &width)| cells.get(at).map_or_else(Vec::new, |cell| wrapped(cell, width)));
        let cells = cells.collect::<Vec<_>>();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let side = look.pick("│", "|");
        let empty = Line::default();
        let lines = (0..height).map(|at| {
            let cells = cells.iter().zip(widths).zip(&self.alignments);
            let cells = cells.map(|((lines, &width), alignment)| padded(lines.get(at).unwrap_or(&empty), width, *alignment));
            format!("{side} {} {side}", cells.collect::<Vec<_>>().join(&format!(" {side} ")))
        });
        lines.collect()
    }

    fn stacked(&self, room: usize) -> Vec<String> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            for (at, cell) in row.iter().enumerate().take(self.alignments.len()) {
                let mut pieces = head.get(at).cloned().unwrap_or_default();
                let is_named = pieces.iter().any(|piece| !piece.text.trim().is_empty());
                if let Some(last) = pieces.last_mut().filter(|_| is_named) {
                    last.text.push_str(": ");
                }
                pieces.extend(cell.iter().cloned());
                for (at, line) in wrapped(&pieces, room.saturating_sub(2)).iter().enumerate() {
                    lines.push(format!("{}{}", if at == 0 { "" } else { "  " }, isolated(&line.text)));
                }
            }
        }
        if rows.is_empty() {
            lines.extend(head.iter().flat_map(|cell| wrapped(cell, room)).map(|line| line.text));
        }
        lines
    }
}

fn padded(line: &Line, room: usize, alignment: Alignment) -> String {
    let gap = room.saturating_sub(line.width);
    let before = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => gap / 2,
        Alignment::Right => gap,
    };
    format!("{}{}{}", " ".repeat(before), isolated(&line.text), " ".repeat(gap - before))
}
