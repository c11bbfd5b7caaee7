//! A drawing in characters, for a terminal: boxes with their names, lines with corners, from the top to the bottom.
//!
//! In: a drawing and its layout. Out: rows of characters.
//!
//! **Invariant:** a box covers the lines behind it, and every line ends in the head of an arrow.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Drawing, DrawnKind, DrawnNode, Path,
    layout::{Area, Direction, Layout, LayoutSettings, PlacedEdge},
    path::marks,
};

/// Pixels of a row.
const ROW: i64 = 15;
/// Pixels of a column, and whether labels have room: from the widest drawing on.
const COLUMNS: [(i64, bool); 3] = [(6, true), (8, false), (12, false)];

/// The sides of a cell that lines lead to.
const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// Draws in at most `room` columns, where that is possible.
pub(super) fn spell(drawing: &Drawing<'_>, collapsed: &BTreeSet<String>, path: Option<&Path>, room: usize) -> String {
    let mut drawn = Vec::new();
    for (column, has_labels) in COLUMNS {
        let settings = LayoutSettings { direction: Direction::Down, collapsed: collapsed.clone(), has_labels };
        let layout = Layout::with_path(drawing, &settings, None, path);
        drawn = rows(drawing, &layout, path, column);
        if drawn.iter().all(|row| row.chars().count() <= room) {
            break;
        }
    }
    drawn.iter().map(|row| format!("{row}\n")).collect()
}

fn rows(drawing: &Drawing<'_>, layout: &Layout, path: Option<&Path>, column: i64) -> Vec<String> {
    let mut canvas = Canvas { column, lines: BTreeMap::new(), cells: BTreeMap::new() };
    layout.edges.iter().for_each(|edge| canvas.line(edge));
    let spots: BTreeMap<_, _> = drawing.spots.iter().enumerate().map(|(at, spot)| (&*spot.id, at)).collect();
    for module in layout.modules.iter().filter(|module| module.is_collapsed) {
        canvas.frame(&module.area, &format!("{}/", module.id), None);
    }
    for node in &layout.nodes {
        let Some(&at) = spots.get(&*node.id) else { continue };
        let walked = path.and_then(|path| path.spots.get(&at)).map(|walked| marks(walked));
        canvas.frame(&node.area, &name(&drawing.spots[at]), walked.as_deref());
    }
    for label in layout.edges.iter().filter_map(|edge| edge.label.as_ref()) {
        let (x, y) = canvas.cell((label.area.x, label.area.y + label.area.height / 2));
        canvas.text((x, y), &label.text);
    }
    canvas.rows()
}

/// The text of a box.
fn name(spot: &DrawnNode<'_>) -> String {
    let sign = match (spot.kind, &*spot.id) {
        (DrawnKind::End, "end:finished") => "✓ ",
        (DrawnKind::End, _) => "✕ ",
        (DrawnKind::Rollback, _) => "↶ ",
        (DrawnKind::Listen, _) => "? ",
        (DrawnKind::Act, _) => "! ",
        (DrawnKind::Pass, _) => "",
    };
    format!("{}{sign}{}", if spot.entry { "● " } else { "" }, spot.id.trim_start_matches("end:"))
}

/// Cells by row and column.
struct Canvas {
    /// Pixels of a column.
    column: i64,
    /// The sides that the lines in a cell lead to.
    lines: BTreeMap<(i64, i64), u8>,
    cells: BTreeMap<(i64, i64), char>,
}

impl Canvas {
    /// The cell of a point.
    fn cell(&self, (x, y): (i64, i64)) -> (i64, i64) {
        (x / self.column, y / ROW)
    }

    fn line(&mut self, edge: &PlacedEdge) {
        let corners: Vec<_> = edge.points.iter().map(|point| self.cell(*point)).collect();
        for pair in corners.windows(2) {
            let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
            let between = (y + to_y) / 2;
            self.upright(x, y, between);
            self.level(between, x, to_x);
            self.upright(to_x, between, to_y);
        }
        let mut last = corners.iter().rev();
        if let (Some(&(x, y)), Some(&(_, before))) = (last.next(), last.next()) {
            let (row, head) = if before > y { (y + 1, '▲') } else { (y - 1, '▼') };
            self.cells.insert((row, x), head);
        }
    }

    fn upright(&mut self, x: i64, from: i64, to: i64) {
        for y in from.min(to)..from.max(to) {
            self.join((y, x), DOWN);
            self.join((y + 1, x), UP);
        }
    }

    fn level(&mut self, y: i64, from: i64, to: i64) {
        for x in from.min(to)..from.max(to) {
            self.join((y, x), RIGHT);
            self.join((y, x + 1), LEFT);
        }
    }

    fn join(&mut self, cell: (i64, i64), side: u8) {
        *self.lines.entry(cell).or_default() |= side;
    }

    /// A box of three rows.
    fn frame(&mut self, area: &Area, text: &str, marks: Option<&str>) {
        let (x, y) = self.cell((area.x, area.y));
        let width = (area.width / self.column).max(5);
        let inner = usize::try_from(width - 2).unwrap_or(3);
        let mut text: String = text.chars().take(inner).collect();
        if text.chars().count() == inner && inner > 1 {
            text.pop();
            text.push('…');
        }
        let marks: String = marks.unwrap_or_default().chars().take(inner).collect();
        self.text((x, y), &format!("┌{marks:─<inner$}┐"));
        self.text((x, y + 1), &format!("│{text:^inner$}│"));
        self.text((x, y + 2), &format!("└{}┘", "─".repeat(inner)));
    }

    fn text(&mut self, (x, y): (i64, i64), text: &str) {
        (x..).zip(text.chars()).for_each(|(x, char)| {
            self.cells.insert((y, x), char);
        });
    }

    fn rows(mut self) -> Vec<String> {
        for (cell, sides) in std::mem::take(&mut self.lines) {
            self.cells.entry(cell).or_insert(corner(sides));
        }
        let last = self.cells.keys().map(|(y, _)| *y).max().unwrap_or(-1);
        let row = |y: i64| {
            let mut row = String::new();
            let mut at = 0;
            for (&(_, x), char) in self.cells.range((y, 0)..(y + 1, 0)) {
                (at..x).for_each(|_| row.push(' '));
                row.push(*char);
                at = x + 1;
            }
            row.trim_end().to_owned()
        };
        let rows: Vec<String> = (0..=last).map(row).skip_while(String::is_empty).collect();
        let margin = rows.iter().filter(|row| !row.is_empty()).map(|row| row.len() - row.trim_start().len()).min().unwrap_or(0);
        rows.into_iter().map(|row| row.chars().skip(margin).collect()).collect()
    }
}

/// The character of a line with these sides.
fn corner(sides: u8) -> char {
    const CHARS: [char; 16] = [' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼'];
    CHARS[usize::from(sides & 15)]
}
