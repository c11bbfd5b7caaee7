//! Worklist iteration, component by component.
//!
//! **Algorithm.** Components are solved in topological order. Within one, points are visited in reverse postorder while any is pending. A
//! visit joins the environments of all edges that changed since the last one, executes the point and puts the targets of its edges on the
//! worklist. Two shortcuts skip executions: a point that reached the upper bound of its component cannot grow, and a point that none of the
//! grown keys concerns forwards its input unchanged.
//!
//! **State.** [`Worklist`]: a pending flag for each point, and the references of changed edges, in a linked list for each target.
//!
//! **Termination.** A point is pending only after one of its incoming edges changed, an edge changes only if its source grew, and
//! environments of a component grow finitely often.
//!
//! **Soundness.** At the end every edge has been joined into its target since it last changed, so `at` is a post-fixpoint: for each edge,
//! target ⊒ transfer(source). Debug builds check both shortcuts against an execution.
//!
//! **Example.** In a loop `a → b → a`, `a` is executed with the environment from outside, then `b`, then `a` again with the join of both
//! edges; if that does not grow, the component is solved.

use super::*;
use crate::dataflow::index::to_u32;

/// Average number of incoming edges of a point beyond which an upper bound of the component pays.
const MIN_EDGES_TO_KEEP_BOUND: usize = 8;

impl Analysis<'_, '_> {
    /// Builds the control-flow graph with the calls and returns of children, and its components.
    pub(crate) fn build_digraph(&mut self) {
        let solved = &mut self.solved;
        let count = to_u32(self.program.points.len());
        if solved.children.is_empty() {
            solved.digraph = Arc::clone(&solved.edges);
        } else {
            let mut pairs: Vec<(u32, u32)> = (0..count).flat_map(|from| solved.edges.forward.of(from).map(move |to| (from, to))).collect();
            // Each child has one more node, between its ends and its callers: instead of ends × callers edges, there are ends + callers.
            for (between, (node, child)) in (count..).zip(&solved.children) {
                let node = self.program.node(*node);
                let entry = node.gate.unwrap_or(node.body).0;
                pairs.extend(child.callers.iter().flat_map(|caller| [(*caller, entry), (between, *caller)]));
                let ends =
                    (0..count).filter(|end| child.inside[*end as usize] && self.tables.ops.point_ops(PointIndex(*end)).output.is_some());
                pairs.extend(ends.map(|end| (end, between)));
            }
            solved.digraph = Arc::new(Digraph::new(count as usize + solved.children.len(), &pairs));
        }
        let first = self.first();
        self.solved.parts = Arc::new(self.solved.digraph.components(first.0));
    }

    /// Solves the components in `open`, and those after them into which something else flows now.
    pub(crate) fn solve(&mut self, mut open: Vec<bool>) {
        let parts = Arc::clone(&self.solved.parts);
        let mut worklist = Worklist::of(self.solved.at.len());
        // An edge that an edit removed may have led to a component that now comes earlier in the order; then one more round is needed.
        while open.contains(&true) {
            for part in 0..parts.count() {
                if open[part as usize] {
                    self.solve_component(part, &parts, &mut worklist, &mut open);
                    open[part as usize] = false;
                }
            }
        }
    }

    /// Solves one component from scratch, and opens the components into which something else flows now.
    fn solve_component(&mut self, part: u32, parts: &Components, worklist: &mut Worklist, open: &mut [bool]) {
        let count = to_u32(self.solved.at.len());
        let points = || parts.members(part).iter().copied().filter(|member| *member < count);
        let returned = self.forget_ends(part, parts);
        let before: Vec<_> = points().map(|point| std::mem::take(&mut self.solved.onward[point as usize])).collect();
        let is_in_part = |point: u32| parts.of(point) == Some(part);
        let edges: usize = points().map(|point| self.solved.digraph.backward.of(point).len()).sum();
        worklist.bound = if edges > MIN_EDGES_TO_KEEP_BOUND * points().count() { UpperBound::tracking() } else { UpperBound::default() };
        for point in points() {
            self.touched.push(point);
            self.solved.notes[point as usize] = Box::default();
            self.solved.at[point as usize] = (point == self.first().0).then(|| self.solved.begun.clone());
            worklist.opened.clear();
            self.pending_edges(point, |from| !is_in_part(from), &mut worklist.opened);
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

    /// Visits a point: joins its changed incoming edges, and executes it if it grew or must be executed anyway.
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
        let changed = if passes { Vec::new() } else { self.process_again(PointIndex(point), &mut worklist.bound, worklist.begun[at]) };
        for (place, (to, _)) in (0..).zip(&self.solved.onward[at]).filter(|(_, (to, _))| is_in_part(to.0)) {
            worklist.send(to.0, (point, place));
            worklist.wait(to.0, Pending::ForMore);
        }
        let callers = changed.into_iter().filter(|caller| is_in_part(*caller) && self.solved.at[*caller as usize].is_some());
        callers.for_each(|caller| worklist.wait(caller, Pending::ForLook));
    }

    /// Collects the edges to a point from those sources that `is_from` accepts.
    fn pending_edges(&self, point: u32, is_from: impl Fn(u32) -> bool, into: &mut Vec<EdgeRef>) {
        let mut last = None;
        // Sources are sorted, and several edges may lead from one of them.
        let from = self.solved.digraph.backward.of(point).filter(|from| last.replace(*from) != Some(*from));
        let from = from.filter(|from| (*from as usize) < self.solved.onward.len() && is_from(*from));
        let edge = |from: u32| {
            let at = self.solved.onward[from as usize].binary_search_by_key(&point, |(to, _)| to.0).ok()?;
            Some((from, u32::try_from(at).ok()?))
        };
        into.extend(from.filter_map(edge));
    }

    /// Joins the environments of some edges into a point. Returns true if it grew.
    fn meet(&mut self, point: u32, pending_edges: &[EdgeRef], bound: &UpperBound) -> bool {
        let Solution { at, onward, .. } = &mut self.solved;
        // The source may have been executed again and lead elsewhere; then a newer reference is pending.
        let env = |(from, place): &EdgeRef| onward[*from as usize].get(*place as usize).filter(|(to, _)| to.0 == point).map(|(_, env)| env);
        let all = pending_edges.iter().filter_map(env);
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

    /// Forwards the environment of a point without executing it, if only keys grew that its operations do not mention. Returns false if it
    /// must be executed.
    fn forward_unchanged(&mut self, point: u32, before: &Env) -> bool {
        let (point_ops, keys) = (self.tables.ops.point_ops(PointIndex(point)), &self.tables.keys);
        let by_engine = [VISITS, "sys.rollback"].into_iter().filter_map(|name| keys.slot_of(name));
        let own = self.tables.ops.names(point_ops).filter_map(|name| keys.slot(name)).chain(by_engine);
        let at = point as usize;
        let Solution { at: known, onward, notes, .. } = &mut self.solved;
        let Some(known) = &known[at] else { return false };
        let noted = notes[at].iter_mut().filter_map(|note| if let Observation::Gap { env, .. } = note { Some(env) } else { None });
        let mut made: Vec<&mut Env> = onward[at].iter_mut().map(|(_, env)| env).chain(noted).collect();
        let passes = known.is_same_at(before, own) && made.iter().all(|env| env.is_on(before));
        if passes {
            made.iter_mut().for_each(|env| env.lay_on(known));
            debug_assert!(self.is_up_to_date(point), "what was passed on is not what a look gives");
        }
        passes
    }

    /// Returns true if executing a point would give the environments and observations that are stored for it.
    fn is_up_to_date(&mut self, point: u32) -> bool {
        let Some(env) = self.solved.at[point as usize].clone() else { return false };
        let point_ops = self.tables.ops.point_ops(PointIndex(point)).clone();
        let mut now = self.look(PointIndex(point), &point_ops, env);
        let (notes, onward) = (now.noted(), self.sorted(now.onward, &UpperBound::default()));
        self.solved.onward[point as usize] == onward && self.solved.notes[point as usize].len() == notes.len()
    }

    /// Executes a point and stores its outgoing environments and observations. Returns the callers for which the output of a child changed.
    /// `is_begun`: the environment of the point includes something from outside of its component.
    pub(crate) fn process_again(&mut self, point: PointIndex, bound: &mut UpperBound, is_begun: bool) -> Vec<u32> {
        let Some(env) = self.solved.at[point.index()].clone() else { return Vec::new() };
        let point_ops = self.tables.ops.point_ops(point).clone();
        let mut now = self.look(point, &point_ops, env);
        self.solved.notes[point.index()] = now.noted();
        let entering = self.solved.at[point.index()].as_ref().filter(|_| !is_begun);
        now.onward.iter().for_each(|(_, env)| bound.take_in(env, entering, &mut self.types));
        self.solved.onward[point.index()] = self.sorted(now.onward, bound);
        now.returned.map_or_else(Vec::new, |output| self.ended(point, output))
    }

    /// Sorts outgoing environments by target, and joins those of the same target.
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

/// Pending state of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    /// Up to date.
    Not,
    /// A predecessor changed: join its edges, and execute the point if it grew.
    ForMore,
    /// It must be executed, whether it grew or not.
    ForLook,
}

/// Reference to an edge: its source, and its index in `onward` of the source.
type EdgeRef = (u32, u32);

/// Worklist of one component at a time.
struct Worklist {
    waits: Vec<Pending>,
    /// Number of pending points.
    left: usize,
    /// Changed edges of this component, each linked to the one before it with the same target; and the last one of each target, counted
    /// from one, zero for none.
    sent: Vec<(EdgeRef, u32)>,
    last: Vec<u32>,
    /// Edges that the visited point joins.
    opened: Vec<EdgeRef>,
    /// Upper bound of the component, and the points whose environments include something from outside of it.
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

    /// Records that an edge to `to` changed.
    fn send(&mut self, to: u32, edge: EdgeRef) {
        let before = self.last[to as usize];
        self.sent.push((edge, before));
        self.last[to as usize] = to_u32(self.sent.len());
    }

    /// Moves the changed edges of a point to `opened`, the newest first: it is likely the greatest.
    fn open(&mut self, point: u32) {
        self.opened.clear();
        let mut at = std::mem::take(&mut self.last[point as usize]);
        while let Some((edge, before)) = (at as usize).checked_sub(1).and_then(|at| self.sent.get(at)) {
            self.opened.push(*edge);
            at = *before;
        }
    }

    /// Marks a point as pending, for the stronger of two reasons.
    fn wait(&mut self, point: u32, waits: Pending) {
        let known = &mut self.waits[point as usize];
        self.left += usize::from(*known == Pending::Not);
        *known = waits.max(*known);
    }

    /// Unmarks a point, and returns why it was pending.
    fn take(&mut self, point: u32) -> Pending {
        let waited = std::mem::replace(&mut self.waits[point as usize], Pending::Not);
        self.left -= usize::from(waited != Pending::Not);
        waited
    }
}

/// Calls `see` for each target whose environment differs between two lists of edges, each sorted by target.
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
