//! `rollback-gap`: an effect that a rollback can reach, and that nothing takes back (language 8.6).
//!
//! The target of `on_rolled_back` is a new start: a rollback that is reached from there does not reach back.

use std::{cell::LazyCell, collections::VecDeque, ops::Deref};

use crate::{cfg::digraph::Adjacency, source_lookup::syntax_of};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    index::to_u32,
    span::Span,
};
use trellis_engine::program::{Call, Callee, Edge, NodeIndex, Outcome, Part, PointIndex, Program, Role, Target};
use trellis_syntax::node::{CallSyntax, CalleeSyntax, Effect};

pub(super) fn check(program: &Program, found: &mut Vec<Diagnostic>) {
    let rollbacks: Vec<(u32, &Edge)> = edges(program).filter(|(_, edge)| edge.to == Target::Rollback).collect();
    if rollbacks.is_empty() {
        return;
    }
    let nearest = nearest_rollback(program, &rollbacks);
    let children = LazyCell::new(|| Children::new(program));
    let mut gates = vec![false; program.graphs.len()];
    for (index, point) in (0..).zip(&program.points) {
        let node = program.node(point.node);
        let gate = point.part == Part::Gate;
        let call = match &node.role {
            _ if gate => program.graph_of(node).before_each.as_deref(),
            Role::Act(call) => Some(&**call),
            Role::Pass | Role::Listen(_) => None,
        };
        let Some(call) = call.filter(|call| leaves_something(call, &children)) else { continue };
        let Some(edge) = reached(program, PointIndex(index), call, &nearest).map(|rollback| rollbacks[rollback as usize].1) else {
            continue;
        };
        // One call precedes every node: it is one mistake.
        if gate && std::mem::replace(&mut gates[node.graph as usize], true) {
            continue;
        }
        let written = if gate {
            before_each(program, node.graph)
        } else {
            syntax_of(program, node).and_then(|syntax| Some((program.path_of(node), syntax.call.as_deref()?)))
        };
        let Some((path, syntax)) = written else { continue };
        let help = if gate {
            "say `effect: none` or `effect: irreversible`; what runs before each node cannot be undone"
        } else {
            "add `undo: …`, or say `effect: none` or `effect: irreversible`"
        };
        for (name, span) in effects_left(call, syntax, &children) {
            let message = format!("{name} is not undone when the session rolls back");
            let mut diagnostic = Diagnostic::new(Code::RollbackGap, path, span, message).help(help);
            if let Some(origin) = edge.origin {
                diagnostic = diagnostic.label(&program.documents[origin.document as usize].path, origin.span, "this rolls back");
            }
            found.push(diagnostic);
        }
    }
}

/// Returns every edge of every point.
fn edges(program: &Program) -> impl Iterator<Item = (u32, &Edge)> {
    let points = 0..to_u32(program.points.len());
    points.flat_map(|point| program.out_edges(PointIndex(point)).map(move |out| (point, out.edge)))
}

/// Every step from point to point, turned round. A call of a child is none: the child has a journal of its own.
fn steps_back(program: &Program) -> Vec<(u32, u32)> {
    let turned = |(from, edge): (u32, &Edge)| match edge.to {
        Target::Point(to) | Target::Proceed(to) => Some((to.0, from)),
        Target::Again | Target::Rollback | Target::End(_) => None,
    };
    edges(program).filter_map(turned).collect()
}

/// Returns for each point the nearest rollback, as an index; `None` if none can be reached.
fn nearest_rollback(program: &Program, rollbacks: &[(u32, &Edge)]) -> Vec<Option<u32>> {
    let backward = Adjacency::new(program.points.len(), steps_back(program).iter().copied());
    let mut nearest = vec![None; program.points.len()];
    let mut open = VecDeque::new();
    for (index, (point, _)) in (0..).zip(rollbacks) {
        if nearest[*point as usize].is_none() {
            nearest[*point as usize] = Some(index);
            open.push_back(*point);
        }
    }
    while let Some(point) = open.pop_front() {
        for before in backward.of(point) {
            if nearest[before as usize].is_none() {
                nearest[before as usize] = nearest[point as usize];
                open.push_back(before);
            }
        }
    }
    nearest
}

/// The rollback that is reached after a call had its effect. Branches that succeeded have theirs even if the whole failed (language 5.5).
fn reached(program: &Program, point: PointIndex, call: &Call, nearest: &[Option<u32>]) -> Option<u32> {
    let composite = matches!(call.callee, Callee::Parallel(..) | Callee::Each(..));
    let after = |on: &Outcome| *on == Outcome::Success || (composite && matches!(on, Outcome::Error | Outcome::Timeout | Outcome::Denied));
    program.out_edges(point).filter(|out| after(&out.reply.on)).find_map(|out| match out.edge.to {
        Target::Point(to) | Target::Proceed(to) => nearest[to.0 as usize],
        Target::Rollback => nearest[point.0 as usize],
        Target::Again | Target::End(_) => None,
    })
}

/// Returns whether a call has an effect that could be undone, and no undo.
fn leaves_something(call: &Call, children: &impl Deref<Target = Children>) -> bool {
    call.undo.is_none()
        && call.effect == Effect::Undoable
        && match &call.callee {
            Callee::Graph(node) => children.acts[node.0 as usize],
            Callee::Parallel(branches, _) => branches.iter().any(|(_, branch)| leaves_something(branch, children)),
            Callee::Tool(_) | Callee::Each(..) => true,
        }
}

/// The nodes that begin children with a lasting effect. To the parent a child is one effect, even if the child itself could undo parts of it.
struct Children {
    acts: Vec<bool>,
}

impl Children {
    fn new(program: &Program) -> Self {
        let mut pairs = steps_back(program);
        let mut acts = vec![false; program.points.len()];
        let mut open = Vec::new();
        for (index, point) in (0..).zip(&program.points) {
            let node = program.node(point.node);
            let call = match &node.role {
                _ if point.part == Part::Gate => program.graph_of(node).before_each.as_deref(),
                Role::Act(call) => Some(&**call),
                Role::Pass | Role::Listen(_) => None,
            };
            let mut called = Vec::new();
            if call.is_some_and(|call| acts_itself(call, &mut called)) {
                acts[index as usize] = true;
                open.push(index);
            }
            pairs.extend(called.into_iter().map(|child| (entry(program, child), index)));
        }
        let backward = Adjacency::new(program.points.len(), pairs.iter().copied());
        while let Some(point) = open.pop() {
            for before in backward.of(point) {
                if !std::mem::replace(&mut acts[before as usize], true) {
                    open.push(before);
                }
            }
        }
        Self { acts: program.nodes.iter().map(|node| acts[entry(program, node.index) as usize]).collect() }
    }
}

/// Returns whether a call runs a tool with a lasting effect; the children that it begins are collected.
fn acts_itself(call: &Call, children: &mut Vec<NodeIndex>) -> bool {
    if call.effect != Effect::Undoable {
        return false;
    }
    match &call.callee {
        Callee::Tool(_) | Callee::Each(..) => true,
        Callee::Graph(node) => {
            children.push(*node);
            false
        }
        Callee::Parallel(branches, _) => branches.iter().fold(false, |any, (_, branch)| acts_itself(branch, children) | any),
    }
}

fn entry(program: &Program, node: NodeIndex) -> u32 {
    let node = program.node(node);
    node.gate.unwrap_or(node.body).0
}

/// Returns what a call leaves behind, with its span: its callee, or each of its branches that nothing undoes.
fn effects_left(call: &Call, syntax: &CallSyntax, children: &impl Deref<Target = Children>) -> Vec<(String, Span)> {
    vec![match (&call.callee, &syntax.callee) {
        (Callee::Parallel(branches, _), CalleeSyntax::Parallel(written, _)) => {
            let open = branches.iter().zip(written).filter(|((_, branch), _)| leaves_something(branch, children));
            let named = |name: &str, (callee, span): (String, Span)| (format!("the branch `{name}`, {callee},"), span);
            return open
                .flat_map(|((name, branch), (_, syntax))| effects_left(branch, syntax, children).into_iter().map(|left| named(name, left)))
                .collect();
        }
        (_, CalleeSyntax::Tool(name)) => (format!("`{}`", name.value), name.span),
        (_, CalleeSyntax::Graph(target)) => (format!("`{}`", target.name.value), target.name.span),
        (_, CalleeSyntax::Parallel(..)) => ("what `parallel` calls".into(), syntax.key),
        (_, CalleeSyntax::Each(list, _)) => ("what `each` calls".into(), list.span),
    }]
}

/// The `before_each` of a graph, and its file.
fn before_each(program: &Program, graph: u32) -> Option<(&FilePath, &CallSyntax)> {
    use trellis_syntax::document::Content;
    let entry = program.node(program.graphs[graph as usize].entry);
    let of_entry = syntax_of(program, entry).and_then(|syntax| syntax.defaults.as_ref()?.before_each.as_deref());
    if let Some(call) = of_entry {
        return Some((program.path_of(entry), call));
    }
    let root = &program.graphs[graph as usize].root;
    program.documents.iter().find_map(|document| {
        let here = document.path.rsplit_once('/').map_or("", |(folder, _)| folder) == &**root;
        match &document.content {
            Content::Project(project) | Content::Nodes(_, project) if here => {
                Some((&document.path, project.defaults.before_each.as_deref()?))
            }
            _ => None,
        }
    })
}
