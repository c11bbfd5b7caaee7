//! `endless-loop` and `no-way-out` (language 8.5).

use petgraph::algo::kosaraju_scc;

use crate::{
    compile::{
        cfg::{Cfg, stops},
        source_lookup::place,
    },
    diagnostic::{Code, Diagnostic, Severity},
    id::SignalName,
    index::to_u32,
    program::{Node, Outcome, PointIndex, Program, Role},
};

/// Reports each closed part of the graph from which no end can be reached. Where some edge is `unresolved`, it may lead to an end; a loop
/// is certain even then, unless a file on it has mistakes of its own.
pub(super) fn check(cfg: &Cfg<'_>, reached: &[bool], unresolved: bool, found: &mut Vec<Diagnostic>) {
    let uninterrupted = uninterrupted(cfg);
    let cfg = uninterrupted.as_ref().unwrap_or(cfg);
    let ending = can_end(cfg);
    let stuck = |point: u32| reached[point as usize] && !ending[point as usize];
    if !(0..to_u32(ending.len())).any(stuck) {
        return;
    }
    let mut parts = kosaraju_scc(&*cfg.digraph);
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts.sort_unstable();
    for part in parts.iter().filter(|part| part.iter().all(|point| stuck(*point))) {
        let closed = part
            .iter()
            .all(|&point| petgraph::visit::IntoNeighbors::neighbors(&*cfg.digraph, point).all(|next| part.binary_search(&next).is_ok()));
        let leads = part.iter().any(|&point| petgraph::visit::IntoNeighbors::neighbors(&*cfg.digraph, point).next().is_some());
        if closed && leads {
            let diagnostic = report(cfg, part);
            if !unresolved || (diagnostic.code == Code::EndlessLoop && !part.iter().any(|&point| unread(cfg, point))) {
                found.push(diagnostic);
            }
        }
    }
}

/// Returns the control-flow graph without what interrupts lead to where a call is made: nobody is asked there, so a loop of calls has to end by
/// itself. `None` if there is nothing to leave out.
fn uninterrupted<'p>(cfg: &Cfg<'p>) -> Option<Cfg<'p>> {
    let program = cfg.program;
    let breaks_off = |point: PointIndex, on: u32| is_interrupt(program, point, &program.replies[on as usize].on);
    let points = || (0..to_u32(program.points.len())).map(PointIndex);
    let has_any = points().any(|point| program.point(point).replies.clone().any(|on| breaks_off(point, on)));
    has_any.then(|| Cfg::without(program, breaks_off))
}

/// Returns whether an outcome is the interrupt of a call.
fn is_interrupt(program: &Program, point: PointIndex, on: &Outcome) -> bool {
    let node = program.node(program.point(point).node);
    let calls = node.gate == Some(point) || matches!(node.role, Role::Act(_));
    let ends = matches!(on, Outcome::Signal(name) if name.as_str() == SignalName::INTERRUPT) || *on == Outcome::AnySignal;
    calls && ends
}

/// Returns whether the file of a point's node has mistakes: one of its edges may have been lost to them.
fn unread(cfg: &Cfg<'_>, point: u32) -> bool {
    let node = cfg.program.node(cfg.program.point(PointIndex(point)).node);
    cfg.program.documents[node.document as usize].has_errors()
}

/// Returns which points can reach an end, by a walk backwards from all ends at once.
fn can_end(cfg: &Cfg<'_>) -> Vec<bool> {
    let mut ending = vec![false; cfg.program.points.len()];
    let mut open = Vec::new();
    for point in 0..to_u32(ending.len()) {
        if cfg.ends(PointIndex(point), |on| !is_interrupt(cfg.program, PointIndex(point), on)) {
            ending[point as usize] = true;
            open.push(point);
        }
    }
    while let Some(point) = open.pop() {
        for before in petgraph::visit::IntoNeighborsDirected::neighbors_directed(&*cfg.digraph, point, petgraph::Direction::Incoming) {
            if !std::mem::replace(&mut ending[before as usize], true) {
                open.push(before);
            }
        }
    }
    ending
}

fn report(cfg: &Cfg<'_>, part: &[u32]) -> Diagnostic {
    let program = cfg.program;
    let mut nodes: Vec<&Node> = part.iter().map(|&point| program.node(program.point(PointIndex(point)).node)).collect();
    nodes.dedup_by_key(|node| node.index);
    let names: Vec<String> = nodes.iter().take(4).map(|node| format!("`{}`", node.id)).collect();
    let more = if nodes.len() > 4 { format!(" and {} more", nodes.len() - 4) } else { String::new() };
    let names = format!("{}{more}", names.join(", "));
    let waits = part.iter().any(|&point| stops(program, PointIndex(point)));
    let first = nodes[0];
    let severity = if waits && each_loop_listens(cfg, part) { Severity::Warning } else { Severity::Error };
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
    let found = Diagnostic::new(code, program.path_of(first), place(first), message).help(help);
    let mut diagnostic = Diagnostic { severity, ..found };
    for node in nodes.iter().skip(1).take(3) {
        diagnostic = diagnostic.label(program.path_of(node), place(node), "part of the loop");
    }
    diagnostic
}

/// Returns whether every loop of a part has a node that listens: then each round asks for an input, as in a menu that is meant to run for ever.
///
/// This is Kahn's algorithm on the part without its listening points: the points that are never free of predecessors lie on a silent loop or behind
/// one. It takes one step for each edge.
fn each_loop_listens(cfg: &Cfg<'_>, part: &[u32]) -> bool {
    let next = |point: u32| {
        let within = petgraph::visit::IntoNeighbors::neighbors(&*cfg.digraph, point).filter_map(|next| part.binary_search(&next).ok());
        within.filter(|at| !listens(cfg, part[*at]))
    };
    let mut open: Vec<usize> = (0..part.len()).filter(|at| !listens(cfg, part[*at])).collect();
    let mut silent = open.len();
    let mut before = vec![0_u32; part.len()];
    open.iter().flat_map(|at| next(part[*at])).for_each(|at| before[at] += 1);
    open.retain(|at| before[*at] == 0);
    while let Some(at) = open.pop() {
        silent -= 1;
        for at in next(part[at]) {
            before[at] -= 1;
            if before[at] == 0 {
                open.push(at);
            }
        }
    }
    silent == 0
}

/// Returns whether a point asks for an input; a sleeping one does not.
fn listens(cfg: &Cfg<'_>, point: u32) -> bool {
    let node = cfg.program.node(cfg.program.point(PointIndex(point)).node);
    node.body.0 == point && matches!(&node.role, Role::Listen(listen) if listen.sleep.is_none())
}
