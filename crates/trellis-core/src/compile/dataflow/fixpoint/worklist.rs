//! Part by part to the fixed point.

use super::*;
use crate::compile::dataflow::index::to_u32;

/// Ways to each point of a part, on average, beyond which it pays to keep what can be at any of its points.
const MIN_EDGES_TO_KEEP_BOUND: usize = 8;

impl Analysis<'_, '_> {
    /// Works out who leads to whom, and in which parts: by the ways, and by what children return to who called them.
    pub(crate) fn weave(&mut self) {
        let solved = &mut self.solved;
        let count = to_u32(self.program.points.len());
        if solved.children.is_empty() {
            solved.digraph = Arc::clone(&solved.ways);
        } else {
            let mut pairs: Vec<(u32, u32)> = (0..count).flat_map(|from| solved.ways.forward.of(from).map(move |to| (from, to))).collect();
            // Between the ends of a child and its callers stands one number for it, since both may be many.
            for (between, (node, child)) in (count..).zip(&solved.children) {
                let node = self.program.node(*node);
                let entry = node.gate.unwrap_or(node.body).0;
                pairs.extend(child.callers.iter().flat_map(|caller| [(*caller, entry), (between, *caller)]));
                let ends =
                    (0..count).filter(|end| child.inside[*end as usize] && self.tables.steps.point_ops(PointIndex(*end)).output.is_some());
                pairs.extend(ends.map(|end| (end, between)));
            }
            solved.digraph = Arc::new(Digraph::new(count as usize + solved.children.len(), &pairs));
        }
        let first = self.first();
        self.solved.parts = Arc::new(self.solved.digraph.components(first.0));
    }

    /// Works out the parts that have to be, one behind the other, and those behind them of which something else is known now.
    pub(crate) fn solve(&mut self, mut open: Vec<bool>) {
        let parts = Arc::clone(&self.solved.parts);
        let mut worklist = Worklist::of(self.solved.at.len());
        // A way that is gone may have led to a part that stands before it now; what that part leads to stands behind.
        while open.contains(&true) {
            for part in 0..parts.count() {
                if open[part as usize] {
                    self.solve_component(part, &parts, &mut worklist, &mut open);
                    open[part as usize] = false;
                }
            }
        }
    }

    fn solve_component(&mut self, part: u32, parts: &Components, worklist: &mut Worklist, open: &mut [bool]) {
        let count = to_u32(self.solved.at.len());
        let points = || parts.members(part).iter().copied().filter(|member| *member < count);
        let returned = self.forget_ends(part, parts);
        let before: Vec<_> = points().map(|point| std::mem::take(&mut self.solved.onward[point as usize])).collect();
        let is_in_part = |point: u32| parts.of(point) == Some(part);
        let ways: usize = points().map(|point| self.solved.digraph.backward.of(point).len()).sum();
        worklist.bound = if ways > MIN_EDGES_TO_KEEP_BOUND * points().count() { UpperBound::kept() } else { UpperBound::default() };
        for point in points() {
            self.touched.push(point);
            self.solved.notes[point as usize] = Box::default();
            self.solved.at[point as usize] = (point == self.first().0).then(|| self.solved.begun.clone());
            worklist.opened.clear();
            self.letters(point, |from| !is_in_part(from), &mut worklist.opened);
            self.meet(point, &worklist.opened, &worklist.bound);
            worklist.begun[point as usize] = self.solved.at[point as usize].is_some();
            if worklist.begun[point as usize] {
                worklist.wait(point, Pending::ForLook);
            }
        }
        while worklist.left > 0 {
            for point in points() {
                self.process(point, &is_in_part, worklist);
            }
        }
        worklist.sent.clear();
        for (point, before) in points().zip(&before) {
            differences(before, &self.solved.onward[point as usize], &mut |to| {
                if let Some(of) = parts.of(to.0) {
                    open[of as usize] = true;
                }
            });
        }
        for caller in self.callers_since(&returned) {
            if let Some(of) = parts.of(caller) {
                open[of as usize] = true;
            }
        }
    }

    /// Takes in what came to a point since the last time, and passes on what comes of it.
    fn process(&mut self, point: u32, is_in_part: &impl Fn(u32) -> bool, worklist: &mut Worklist) {
        let at = point as usize;
        let waited = worklist.take(point);
        let before = match waited {
            Pending::Not => return,
            Pending::ForMore => self.solved.at[at].clone(),
            Pending::ForLook => None,
        };
        worklist.open(point);
        let more = self.meet(point, &worklist.opened, &worklist.bound);
        if !more && waited != Pending::ForLook {
            return;
        }
        let passes = before.is_some_and(|before| self.forward_unchanged(point, &before));
        let changed = if passes { Vec::new() } else { self.look_at(PointIndex(point), &mut worklist.bound, worklist.begun[at]) };
        for (place, (to, _)) in (0..).zip(&self.solved.onward[at]).filter(|(_, (to, _))| is_in_part(to.0)) {
            worklist.send(to.0, (point, place));
            worklist.wait(to.0, Pending::ForMore);
        }
        let callers = changed.into_iter().filter(|caller| is_in_part(*caller) && self.solved.at[*caller as usize].is_some());
        callers.for_each(|caller| worklist.wait(caller, Pending::ForLook));
    }

    /// What leads to a point from some others.
    fn letters(&self, point: u32, is_from: impl Fn(u32) -> bool, into: &mut Vec<EdgeRef>) {
        let mut last = None;
        // They are sorted, and more than one way may lead from one to the other.
        let from = self.solved.digraph.backward.of(point).filter(|from| last.replace(*from) != Some(*from));
        let from = from.filter(|from| (*from as usize) < self.solved.onward.len() && is_from(*from));
        let letter = |from: u32| {
            let at = self.solved.onward[from as usize].binary_search_by_key(&point, |(to, _)| to.0).ok()?;
            Some((from, u32::try_from(at).ok()?))
        };
        into.extend(from.filter_map(letter));
    }

    /// Takes in what leads to a point; says whether that is more.
    fn meet(&mut self, point: u32, letters: &[EdgeRef], bound: &UpperBound) -> bool {
        let Solution { at, onward, .. } = &mut self.solved;
        // Who was looked at again may lead elsewhere; then there is another letter.
        let env = |(from, place): &EdgeRef| onward[*from as usize].get(*place as usize).filter(|(to, _)| to.0 == point).map(|(_, env)| env);
        let all = letters.iter().filter_map(env);
        match &mut at[point as usize] {
            Some(known) if bound.is_reached(known) => {
                debug_assert!(
                    !known.clone().join(&all.collect::<Vec<_>>(), &UpperBound::default(), &mut self.types),
                    "more than the bound"
                );
                false
            }
            Some(known) => known.join(&all.collect::<Vec<_>>(), bound, &mut self.types),
            unknown => {
                let mut all = all;
                *unknown = all.next().cloned();
                let Some(known) = unknown else { return false };
                known.join(&all.collect::<Vec<_>>(), bound, &mut self.types);
                true
            }
        }
    }

    /// Where a point gets to know more of nothing but keys that it has nothing to do with, that leads on as it is. Says whether it was so.
    fn forward_unchanged(&mut self, point: u32, before: &Env) -> bool {
        let (point_ops, keys) = (self.tables.steps.point_ops(PointIndex(point)), &self.tables.keys);
        let by_engine = [VISITS, "sys.rollback"].into_iter().filter_map(|name| keys.slot_of(name));
        let own = self.tables.steps.names(point_ops).filter_map(|name| keys.slot(name)).chain(by_engine);
        let at = point as usize;
        let Solution { at: known, onward, notes, .. } = &mut self.solved;
        let Some(known) = &known[at] else { return false };
        let noted = notes[at].iter_mut().filter_map(|note| if let Observation::Gap { env, .. } = note { Some(env) } else { None });
        let mut made: Vec<&mut Env> = onward[at].iter_mut().map(|(_, env)| env).chain(noted).collect();
        let passes = known.is_same_at(before, own) && made.iter().all(|env| env.is_on(before));
        if passes {
            made.iter_mut().for_each(|env| env.lay_on(known));
            debug_assert!(self.is_as_looked_at(point), "what was passed on is not what a look gives");
        }
        passes
    }

    /// Whether a look at a point would come to what is remembered of it.
    fn is_as_looked_at(&mut self, point: u32) -> bool {
        let Some(env) = self.solved.at[point as usize].clone() else { return false };
        let point_ops = self.tables.steps.point_ops(PointIndex(point)).clone();
        let mut now = self.look(PointIndex(point), &point_ops, env);
        let (notes, onward) = (now.noted(), self.sorted(now.onward, &UpperBound::default()));
        self.solved.onward[point as usize] == onward && self.solved.notes[point as usize].len() == notes.len()
    }

    /// Looks at a point with what is known there, and remembers what comes of it. Gives the callers that get something else by that. `is_begun`:
    /// something of what is known there came from outside of its part.
    pub(crate) fn look_at(&mut self, point: PointIndex, bound: &mut UpperBound, is_begun: bool) -> Vec<u32> {
        let Some(env) = self.solved.at[point.index()].clone() else { return Vec::new() };
        let point_ops = self.tables.steps.point_ops(point).clone();
        let mut now = self.look(point, &point_ops, env);
        self.solved.notes[point.index()] = now.noted();
        let entering = self.solved.at[point.index()].as_ref().filter(|_| !is_begun);
        now.onward.iter().for_each(|(_, env)| bound.take_in(env, entering, &mut self.types));
        self.solved.onward[point.index()] = self.sorted(now.onward, bound);
        now.returned.map_or_else(Vec::new, |output| self.ended(point, output))
    }

    /// What leads on, by where it does: what leads to one point several times is joined.
    fn sorted(&mut self, mut onward: Vec<(PointIndex, Env)>, bound: &UpperBound) -> Box<[(PointIndex, Env)]> {
        onward.sort_by_key(|(to, _)| *to);
        onward.dedup_by(|more, known| {
            let is_same = more.0 == known.0;
            if is_same {
                known.1.join(&[&more.1], bound, &mut self.types);
            }
            is_same
        });
        onward.into()
    }
}

/// What a point waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    Not,
    /// Something may come from a point that was looked at.
    ForMore,
    /// It has to be looked at, whether or not anything comes.
    ForLook,
}

/// A way to a point: from whom, and at which place of what leads on from there.
type EdgeRef = (u32, u32);

/// How far the points are.
struct Worklist {
    waits: Vec<Pending>,
    /// How many wait.
    left: usize,
    /// Letters of this part, each with the one before it to the same point; and the last to each point: numbers from one, or none.
    sent: Vec<(EdgeRef, u32)>,
    last: Vec<u32>,
    /// Those that a point takes in.
    opened: Vec<EdgeRef>,
    /// What leads on from any point of this part to another, and which points know something from outside of it.
    bound: UpperBound,
    begun: Vec<bool>,
}

impl Worklist {
    fn of(points: usize) -> Self {
        Self {
            waits: vec![Pending::Not; points],
            left: 0,
            sent: Vec::new(),
            last: vec![0; points],
            opened: Vec::new(),
            bound: UpperBound::default(),
            begun: vec![false; points],
        }
    }

    fn send(&mut self, to: u32, letter: EdgeRef) {
        let before = self.last[to as usize];
        self.sent.push((letter, before));
        self.last[to as usize] = to_u32(self.sent.len());
    }

    /// Opens what was sent to a point, from whom was looked at last first: most is known there.
    fn open(&mut self, point: u32) {
        self.opened.clear();
        let mut at = std::mem::take(&mut self.last[point as usize]);
        while let Some((letter, before)) = (at as usize).checked_sub(1).and_then(|at| self.sent.get(at)) {
            self.opened.push(*letter);
            at = *before;
        }
    }

    fn wait(&mut self, point: u32, waits: Pending) {
        let known = &mut self.waits[point as usize];
        self.left += usize::from(*known == Pending::Not);
        *known = waits.max(*known);
    }

    fn take(&mut self, point: u32) -> Pending {
        let waited = std::mem::replace(&mut self.waits[point as usize], Pending::Not);
        self.left -= usize::from(waited != Pending::Not);
        waited
    }
}

/// The points to which something else leads now.
pub(crate) fn differences(before: &[(PointIndex, Env)], now: &[(PointIndex, Env)], see: &mut impl FnMut(PointIndex)) {
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    loop {
        match (before.peek(), now.peek()) {
            (None, None) => return,
            (Some((old, env)), Some((new, others))) if old == new => {
                if env != others {
                    see(*old);
                }
                before.next();
                now.next();
            }
            (Some((old, _)), new) if new.is_none_or(|(new, _)| old < new) => {
                see(*old);
                before.next();
            }
            (_, Some((new, _))) => {
                see(*new);
                now.next();
            }
            (Some(_), None) => unreachable!("what was there and is not came first"),
        }
    }
}
