//! The path of a session over a drawing: which spots and arrows it took, in which order.
//!
//! A record has the place where a step began, the place where it led, and its input. If exactly one arrow matches, it was taken; if several do, or
//! none any more, the hop is drawn as an arrow of its own.

use std::collections::BTreeMap;

use super::{Drawing, label};

/// One hop of a path, from spot to spot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// The spot that was left: a node's id, or `rollback`; `None` at the start of the session.
    pub from: Option<String>,
    /// The spot that was reached: a node's id, `rollback`, or `end:<reason>`.
    pub to: String,
    /// The outcome at which it is taken, as JSON has it; `None` if the session was moved there by hand.
    pub on: Option<&'static str>,
    /// The number of the record of the hop.
    pub seq: u64,
}

/// The hops that passed an item, by their numbers from 1.
pub(super) type Marks = Vec<usize>;

/// A path laid over a drawing.
#[derive(Debug, Default)]
pub struct Path {
    /// By the index of the spot.
    pub(super) spots: BTreeMap<usize, Marks>,
    /// By the index of the arrow.
    pub(super) arrows: BTreeMap<usize, Marks>,
    /// Hops without an arrow of their own: from, to, and whether the session was moved there by hand.
    pub(super) others: BTreeMap<(usize, usize, bool), Marks>,
    /// Spots of the path that the graph does not have any more, each once.
    pub gone: Vec<String>,
}

impl Path {
    /// Lays a path over a drawing.
    pub fn new(drawing: &Drawing<'_>, hops: &[PathStep]) -> Self {
        let mut path = Self::default();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, spot) in drawing.spots.iter().enumerate() {
            known.entry(&spot.id).or_insert(at);
        }
        let mut between: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (at, arrow) in drawing.arrows.iter().enumerate() {
            between.entry((arrow.from, arrow.to)).or_default().push(at);
        }
        for (number, hop) in (1..).zip(hops) {
            let mut find = |id: &str| {
                let found = known.get(id).copied();
                if found.is_none() && !path.gone.iter().any(|gone| gone == id) {
                    path.gone.push(id.to_owned());
                }
                found
            };
            let (from, to) = (hop.from.as_deref().and_then(&mut find), find(&hop.to));
            let Some(to) = to else { continue };
            path.spots.entry(to).or_default().push(number);
            let Some(from) = from else { continue };
            match between.get(&(from, to)).and_then(|arrows| taken(drawing, arrows, hop.on?)) {
                Some(arrow) => path.arrows.entry(arrow).or_default().push(number),
                None => path.others.entry((from, to, hop.on.is_none())).or_default().push(number),
            }
        }
        path
    }
}

/// The one arrow among `arrows` that is taken then.
fn taken(drawing: &Drawing<'_>, arrows: &[usize], on: &str) -> Option<usize> {
    let mut like = arrows.iter().copied().filter(|&at| label::outcome_name(drawing.arrows[at].outcome) == on);
    match (like.next(), like.next(), arrows) {
        (Some(only), None, _) | (None, _, &[only]) => Some(only),
        _ => None,
    }
}

/// `1, 4, 7`, and of many the first ones and their number.
pub(super) fn marks(marks: &[usize]) -> String {
    /// Numbers that are shown.
    const SHOWN: usize = 5;
    let numbers = |marks: &[usize]| marks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if marks.len() <= SHOWN { numbers(marks) } else { format!("{} … {}×", numbers(&marks[..SHOWN]), marks.len()) }
}
