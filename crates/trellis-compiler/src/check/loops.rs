//! `endless-loop` and `no-way-out` (language 8.5).

use petgraph::algo::kosaraju_scc;

use crate::{
    cfg::{self, Cfg, stops},
    source_lookup::place,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Severity},
    id::SignalName,
    index::to_u32,
};
use trellis_engine::program::{Callee, Node, NodeIndex, OutEdge, Outcome, PointIndex, Program, Provenance, Reason, Role, Target};

/// Reports each closed part of a graph from which no end can be reached. Where some edge is `unresolved`, it may lead to an end; a loop is certain
/// even then, unless a file on it has mistakes of its own.
///
/// The end of a child only leads back to its call. So a call is no edge here: each graph has to reach an end of its own. Nor does an interrupt lead
/// out of a call: nobody is asked there, so a loop of calls has to end by itself. A loop that only sleeps has to do so, too; one that works between
/// its sleeps may be meant to run until it is interrupted. A child that its caller ends need not end by itself, unless it never stops.
pub(super) fn check(cfg: &Cfg<'_>, reached: &[bool], unresolved: bool, found: &mut Vec<Diagnostic>) {
    let program = cfg.program;
    let points = || (0..to_u32(program.points.len())).map(PointIndex);
    let outcomes = |point: PointIndex| program.replies(&program.point(point).replies).iter().map(|reply| &reply.on);
    let interrupts_call = |point: PointIndex, on: &Outcome| is_call(program, point) && (is_interrupt(on) || *on == Outcome::AnySignal);
    let has_children = points().any(|point| cfg::children(program, point).next().is_some());
    let lasting = if has_children { lasting(cfg) } else { Vec::new() };
    let search = Search { cfg, reached, unresolved, has_children, lasting: &lasting };
    let is_less = has_children || points().any(|point| outcomes(point).any(|on| interrupts_call(point, on)));
    let alone = is_less.then(|| Cfg::without(program, interrupts_call));
    let reported = search.check(alone.as_ref().unwrap_or(cfg), &interrupts_call, |_| true, found);
    let is_left = |point: PointIndex| !is_call(program, point) && sleeps(program, point) && outcomes(point).any(is_interrupt);
    if points().any(is_left) {
        let interrupts = |point: PointIndex, on: &Outcome| interrupts_call(point, on) || (is_left(point) && is_interrupt(on));
        let only_sleeps = |part: &[u32]| {
            let mut points = part.iter().copied().map(PointIndex);
            let is_new = part.iter().all(|point| !reported.contains(point));
            is_new && points.clone().any(is_left) && points.all(|point| sleeps(program, point) || !stops(program, point))
        };
        search.check(&Cfg::without(program, interrupts), &interrupts, only_sleeps, found);
    }
}

/// The whole graph, and what is known of its points.
struct Search<'c, 'p> {
    cfg: &'c Cfg<'p>,
    reached: &'c [bool],
    unresolved: bool,
    /// True if some call begins a child.
    has_children: bool,
    /// The points of [`lasting`] if there are children.
    lasting: &'c [bool],
}

impl Search<'_, '_> {
    /// Reports the closed parts of `within`, among those that count, from which no end can be reached; returns their points.
    fn check(
        &self,
        within: &Cfg<'_>,
        interrupts: &dyn Fn(PointIndex, &Outcome) -> bool,
        counts: impl Fn(&[u32]) -> bool,
        found: &mut Vec<Diagnostic>,
    ) -> Vec<u32> {
        let mut reported = Vec::new();
        let ending = self.can_end(within, interrupts);
        let stuck = |point: u32| self.reached[point as usize] && !ending[point as usize];
        if !(0..to_u32(ending.len())).any(stuck) {
            return reported;
        }
        let mut parts = kosaraju_scc(&*within.digraph);
        parts.iter_mut().for_each(|part| part.sort_unstable());
        parts.sort_unstable();
        for part in parts.iter().filter(|part| part.iter().all(|point| stuck(*point)) && counts(part)) {
            let next = |point: u32| within.digraph.forward.of(point);
            let closed = part.iter().all(|&point| next(point).all(|next| part.binary_search(&next).is_ok()));
            let leads = part.iter().any(|&point| next(point).next().is_some());
            if closed && leads {
                let part = LoopPart { cfg: within, points: part, called: self.points_of_children(part) };
                let diagnostic = part.report();
                let is_endless = diagnostic.code == Code::EndlessLoop;
                let is_ended = self.has_children && part.points.iter().all(|&point| !self.lasting[point as usize]);
                let is_certain = !self.unresolved || (is_endless && !part.all().any(|point| part.is_unread(point)));
                if is_certain && (is_endless || !is_ended) {
                    reported.extend(part.points);
                    found.push(diagnostic);
                }
            }
        }
        reported
    }

    /// Returns which points can reach an end of their graph. A call can where its child is meant to fail, and nothing handles that.
    fn can_end(&self, within: &Cfg<'_>, interrupts: &dyn Fn(PointIndex, &Outcome) -> bool) -> Vec<bool> {
        let program = within.program;
        let is_meant = |out: OutEdge<'_>| match &out.edge.to {
            Target::End(reason) => *reason != Reason::Finished && out.edge.why != Provenance::Rule,
            Target::Rollback => true,
            _ => false,
        };
        let can_fail = self.has_children.then(|| leading_to(self.cfg, |point| program.out_edges(point).any(is_meant)));
        let fails = |point: PointIndex| cfg::children(program, point).any(|child| can_fail.as_ref().is_some_and(|can| can[child.index()]));
        let is_unhandled =
            |out: OutEdge<'_>| matches!(out.reply.on, Outcome::Error | Outcome::Denied) && matches!(out.edge.to, Target::End(_));
        leading_to(within, |point| {
            let fails_by_child = || can_fail.is_some() && program.out_edges(point).any(is_unhandled) && fails(point);
            within.ends(point, |on| !interrupts(point, on)) || fails_by_child()
        })
    }

    /// Returns the points of the children of these points, and of their children.
    fn points_of_children(&self, points: &[u32]) -> Vec<u32> {
        let mut begun = vec![false; self.reached.len()];
        let children = points.iter().flat_map(|&point| cfg::children(self.cfg.program, PointIndex(point)));
        children.for_each(|child| begun[child.index()] = true);
        if !begun.contains(&true) {
            return Vec::new();
        }
        let within = self.cfg.reachable_from(&begun);
        (0..).zip(within).filter(|(_, is)| *is).map(|(at, _)| at).collect()
    }
}

/// Returns the points of graphs that nothing but themselves ends. A graph of its own may be run alone.
fn lasting(cfg: &Cfg<'_>) -> Vec<bool> {
    let program = cfg.program;
    let mut lasting = vec![false; program.points.len()];
    let entries =
        program.graphs.iter().flat_map(|graph| [graph.entry].into_iter().chain(graph.before_each.iter().flat_map(|call| call.starts())));
    let mut open: Vec<PointIndex> = entries.map(|node| PointIndex(cfg.entry(node))).collect();
    while let Some(point) = open.pop() {
        if !std::mem::replace(&mut lasting[point.index()], true) {
            open.extend(Cfg::successors(program, point).map(|edge| edge.to));
            open.extend(lasting_children(program, point).map(|node| PointIndex(cfg.entry(node))));
        }
    }
    lasting
}

/// Returns the children of a point that it does not end: by a time limit, by a signal, or because one of several is enough.
fn lasting_children(program: &Program, point: PointIndex) -> impl Iterator<Item = NodeIndex> {
    let node = program.node(program.point(point).node);
    let is_signal = |on: &Outcome| matches!(on, Outcome::Signal(_)) && !is_interrupt(on);
    let is_left = program.replies(&program.point(point).replies).iter().any(|reply| is_signal(&reply.on));
    let mut open = if let Role::Act(call) = &node.role { vec![&**call] } else { Vec::new() };
    let mut children = Vec::new();
    while let Some(call) = open.pop().filter(|_| !is_left) {
        match &call.callee {
            _ if call.timeout.is_some() => {}
            Callee::Graph(child) => children.push(*child),
            Callee::Parallel(branches, composite) if !composite.any => open.extend(branches.iter().map(|(_, branch)| branch)),
            Callee::Parallel(..) | Callee::Tool(_) | Callee::Each(..) => {}
        }
        open.extend(call.undo.as_deref());
    }
    children.into_iter()
}

/// Returns the points from which one of these can be reached, by a walk backwards from all of them at once.
fn leading_to(cfg: &Cfg<'_>, these: impl Fn(PointIndex) -> bool) -> Vec<bool> {
    let mut leading: Vec<bool> = (0..to_u32(cfg.program.points.len())).map(|point| these(PointIndex(point))).collect();
    let mut open: Vec<u32> = (0..).zip(&leading).filter(|(_, leads)| **leads).map(|(point, _)| point).collect();
    while let Some(point) = open.pop() {
        for before in cfg.digraph.backward.of(point) {
            if !std::mem::replace(&mut leading[before as usize], true) {
                open.push(before);
            }
        }
    }
    leading
}

/// Returns whether a point makes a call.
fn is_call(program: &Program, point: PointIndex) -> bool {
    let node = program.node(program.point(point).node);
    node.gate == Some(point) || matches!(node.role, Role::Act(_))
}

/// Returns whether an outcome is the signal `interrupt`.
fn is_interrupt(on: &Outcome) -> bool {
    matches!(on, Outcome::Signal(name) if name.as_str() == SignalName::INTERRUPT)
}

/// Returns whether a point asks for an input; a sleeping one does not.
fn listens(program: &Program, point: PointIndex) -> bool {
    let node = program.node(program.point(point).node);
    node.body == point && matches!(&node.role, Role::Listen(listen) if listen.sleep.is_none())
}

/// Returns whether a point only waits for a time.
fn sleeps(program: &Program, point: PointIndex) -> bool {
    let node = program.node(program.point(point).node);
    node.body == point && matches!(&node.role, Role::Listen(listen) if listen.sleep.is_some())
}

/// Returns whether a point calls graphs and nothing else: then it stops where they do.
fn only_calls_graphs(program: &Program, point: PointIndex) -> bool {
    let node = program.node(program.point(point).node);
    let Role::Act(call) = &node.role else { return false };
    let mut open = vec![&**call];
    while let Some(call) = open.pop() {
        match &call.callee {
            Callee::Graph(_) if call.approve.is_none() => {}
            Callee::Parallel(branches, _) => open.extend(branches.iter().map(|(_, branch)| branch)),
            _ => return false,
        }
    }
    node.body == point
}

/// A closed part of a graph without an end.
struct LoopPart<'a, 'p> {
    cfg: &'a Cfg<'p>,
    /// Its points, sorted.
    points: &'a [u32],
    /// The points of the children that it calls.
    called: Vec<u32>,
}

impl LoopPart<'_, '_> {
    /// Its points, and those of the children that it calls.
    fn all(&self) -> impl Iterator<Item = PointIndex> {
        self.points.iter().chain(&self.called).copied().map(PointIndex)
    }

    /// Returns whether the file of a point's node has mistakes: one of its edges may have been lost to them.
    fn is_unread(&self, point: PointIndex) -> bool {
        let program = self.cfg.program;
        program.documents[program.node(program.point(point).node).document as usize].has_errors()
    }

    fn report(&self) -> Diagnostic {
        let program = self.cfg.program;
        let mut nodes: Vec<&Node> = self.points.iter().map(|&point| program.node(program.point(PointIndex(point)).node)).collect();
        nodes.dedup_by_key(|node| node.index);
        let names: Vec<String> = nodes.iter().take(4).map(|node| format!("`{}`", node.id)).collect();
        let more = if nodes.len() > 4 { format!(" and {} more", nodes.len() - 4) } else { String::new() };
        let names = format!("{}{more}", names.join(", "));
        let waits = self.all().any(|point| stops(program, point) && !only_calls_graphs(program, point));
        let first = nodes[0];
        let severity = if waits && self.each_loop_listens() { Severity::Warning } else { Severity::Error };
        let (code, message, help) = if waits {
            (
                Code::NoWayOut,
                format!("no end can be reached from {names}"),
                "let one of these nodes lead to a node without targets, or to `fail`",
            )
        } else {
            (
                Code::EndlessLoop,
                format!("{names} {} round for ever without stopping", if nodes.len() == 1 { "leads" } else { "lead" }),
                "let one of them wait for input, end, or lead out of the loop under a condition",
            )
        };
        let mut diagnostic = Diagnostic::new(code, program.path_of(first), place(first), message).severity(severity).help(help);
        for node in nodes.iter().skip(1).take(3) {
            diagnostic = diagnostic.label(program.path_of(node), place(node), "part of the loop");
        }
        diagnostic
    }

    /// Returns whether every loop has a node that listens, or calls a graph that does: then each round asks for an input, as in a menu that is meant to
    /// run for ever.
    ///
    /// This is Kahn's algorithm on the part without its listening points: the points that are never free of predecessors lie on a silent loop or
    /// behind one. It takes one step for each edge.
    fn each_loop_listens(&self) -> bool {
        let (program, part) = (self.cfg.program, self.points);
        let child_listens = self.called.iter().any(|&point| listens(program, PointIndex(point)));
        let calls = |point| child_listens && cfg::children(program, point).next().is_some();
        let is_heard = |at: usize| listens(program, PointIndex(part[at])) || calls(PointIndex(part[at]));
        let next = |at: usize| {
            let within = self.cfg.digraph.forward.of(part[at]).filter_map(|next| part.binary_search(&next).ok());
            within.filter(|at| !is_heard(*at))
        };
        let mut open: Vec<usize> = (0..part.len()).filter(|at| !is_heard(*at)).collect();
        let mut silent = open.len();
        let mut before = vec![0_u32; part.len()];
        open.iter().flat_map(|at| next(*at)).for_each(|at| before[at] += 1);
        open.retain(|at| before[*at] == 0);
        while let Some(at) = open.pop() {
            silent -= 1;
            for at in next(at) {
                before[at] -= 1;
                if before[at] == 0 {
                    open.push(at);
                }
            }
        }
        silent == 0
    }
}
