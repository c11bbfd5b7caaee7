//! Lines: curves along the corners of edges. Shared parts of edges are drawn once, so that dashes do not cover each other.

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::layout::Direction;

type LinePoint = (i64, i64);

/// The drawn parts of the lines of one kind.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    bends: FxHashSet<(LinePoint, LinePoint)>,
    /// Straight pieces along the direction, by their places across it.
    straight: FxHashMap<i64, Vec<LinePoint>>,
    heads: FxHashSet<(LinePoint, LinePoint)>,
}

impl Drawn {
    /// The pieces of a line that are not drawn yet.
    pub(super) fn line(&mut self, direction: Direction, points: &[LinePoint]) -> String {
        let mut out = String::new();
        let mut pen = None;
        for pair in points.windows(2) {
            let (begin, end) = (turned(direction, pair[0]), turned(direction, pair[1]));
            if begin.0 == end.0 {
                for (from, to) in self.uncovered(begin.0, (begin.1, end.1)) {
                    let (from, to) = (turned(direction, (begin.0, from)), turned(direction, (begin.0, to)));
                    move_to(&mut out, pen, from);
                    let _ = write!(out, "L{} {}", to.0, to.1);
                    pen = Some(to);
                }
            } else if self.bends.insert((begin, end)) {
                move_to(&mut out, pen, pair[0]);
                let middle = i64::midpoint(begin.1, end.1);
                let ((x1, y1), (x2, y2)) = (turned(direction, (begin.0, middle)), turned(direction, (end.0, middle)));
                let (x, y) = pair[1];
                let _ = if begin.1 == end.1 { write!(out, "L{x} {y}") } else { write!(out, "C{x1} {y1} {x2} {y2} {x} {y}") };
                pen = Some(pair[1]);
            }
        }
        out
    }

    /// The parts of a straight piece that are not drawn yet, in its direction.
    fn uncovered(&mut self, across: i64, (begin, end): LinePoint) -> Vec<LinePoint> {
        let covered = self.straight.entry(across).or_default();
        let mut parts = vec![(begin.min(end), begin.max(end))];
        for &(from, to) in &*covered {
            let cut = |&(low, high): &LinePoint| [(low, high.min(from)), (low.max(to), high)].into_iter().filter(|(low, high)| low < high);
            parts = parts.iter().flat_map(cut).collect();
        }
        covered.extend(&parts);
        parts.sort_unstable();
        if begin > end {
            parts.reverse();
            parts.iter_mut().for_each(|part| *part = (part.1, part.0));
        }
        parts
    }

    /// The head at the end of a line, unless it is drawn.
    pub(super) fn head(&mut self, direction: Direction, points: &[LinePoint]) -> String {
        let &[.., before, (x, y)] = points else { return String::new() };
        let (before, end) = (turned(direction, before), turned(direction, (x, y)));
        // A line arrives along the direction, but for one that leads back to its own item.
        let along = if before.1 == end.1 { ((end.0 - before.0).signum(), 0) } else { (0, (end.1 - before.1).signum()) };
        let (dx, dy) = turned(direction, along);
        if !self.heads.insert(((x, y), (dx, dy))) {
            return String::new();
        }
        let (bx, by, sx, sy) = (x - 7 * dx, y - 7 * dy, 4 * dy, 4 * dx);
        format!("M{x} {y}L{} {}L{} {}Z", bx + sx, by + sy, bx - sx, by - sy)
    }
}

fn move_to(out: &mut String, pen: Option<LinePoint>, (x, y): LinePoint) {
    if pen != Some((x, y)) {
        let _ = write!(out, "M{x} {y}");
    }
}

/// Returns a point across and along, from left and down, or the reverse.
fn turned(direction: Direction, (one, other): LinePoint) -> LinePoint {
    match direction {
        Direction::Down => (one, other),
        Direction::Right => (other, one),
    }
}
