//! What is proved of a lowered graph. One check per file, each over the one edge list.

pub(super) mod args;
mod cases;
mod data;
mod exhaustive;
mod flow;
mod gap;
mod links;
mod loops;
mod never;
mod reach;
pub(super) mod shadowing;

use std::sync::Arc;

use rustc_hash::FxHashSet;

pub(crate) use self::data::Known;
use super::{UncheckedRead, settle::Settled};
use crate::{
    diagnostic::{Code, Diagnostic, FilePath, Severity},
    program::{Node, Program, Role},
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax, TargetSyntax},
    },
};

/// Runs every check. Where some way could not be read or leads nowhere, what stands behind it is unknown: nothing is unreachable, or without a way out.
pub(super) fn program(program: &Arc<Program>, unresolved: bool, settled: &Settled<'_>, found: &mut Vec<Diagnostic>) -> Vec<UncheckedRead> {
    let flow = flow::Flow::new(program);
    let reached = reach::from_entries(&flow);
    if !unresolved {
        reach::check(&flow, &reached, found);
    }
    loops::check(&flow, &reached, unresolved, found);
    never::check(program, found);
    let before = found.len();
    exhaustive::check(program, found);
    gap::check(program, found);
    follows(program, before, found);
    links::check(program.documents(), found);
    match wild(program, settled, found) {
        Some(wild) => data::check(program, &flow, &wild, found),
        None => Vec::new(),
    }
}

/// The points whose file has mistakes: what they do is not known, and what is wrong with them is said already. Nothing where a mistake may concern
/// every node. What its author tolerates does not stand in the way.
fn wild(program: &Program, settled: &Settled<'_>, found: &[Diagnostic]) -> Option<Vec<bool>> {
    let mut broken = vec![false; program.documents.len()];
    let parsed = program.documents.iter().flat_map(|document| &document.diagnostics);
    for diagnostic in parsed.chain(found).filter(|diagnostic| settled.severity(diagnostic) == Some(Severity::Error)) {
        let path = &diagnostic.place.as_ref()?.path;
        let at = program.documents.binary_search_by(|document| document.path.cmp(path)).ok()?;
        matches!(program.documents[at].content, Content::Node(_) | Content::Nodes(..)).then_some(())?;
        broken[at] = true;
    }
    Some(program.points.iter().map(|point| broken[program.node(point.node).document as usize]).collect())
}

/// Drops gaps that only follow from a call that could not be resolved: nobody knows what it would have returned, or left behind.
fn follows(program: &Program, before: usize, found: &mut Vec<Diagnostic>) {
    let (mut here, mut everywhere) = (FxHashSet::default(), false);
    for other in &found[..before] {
        match other.code {
            Code::UnknownTool | Code::UnknownTarget | Code::WrongCase | Code::UnknownModule => {
                here.extend(other.place.as_ref().map(|place| place.path.clone()));
            }
            Code::InvalidToolSchema | Code::MissingToolLibrary | Code::ToolCycle | Code::NamelessTool => everywhere = true,
            _ => {}
        }
    }
    if found.len() == before || (here.is_empty() && !everywhere) {
        return;
    }
    let acting = program.nodes.iter().filter(|node| matches!(node.role, Role::Act(_))).map(|node| program.path_of(node));
    let acting: FxHashSet<_> = acting.filter(|path| everywhere || here.contains(*path)).collect();
    let gaps = found.split_off(before);
    let explained = |gap: &Diagnostic, path: &FilePath| acting.contains(path) || (gap.code == Code::RollbackGap && here.contains(path));
    found.extend(gaps.into_iter().filter(|gap| !gap.place.as_ref().is_some_and(|place| explained(gap, &place.path))));
}

/// Every target that a node names.
pub(super) fn targets(node: &NodeSyntax) -> impl Iterator<Item = &TargetSyntax> {
    let options = node.options.iter().flat_map(|options| &options.value).filter_map(|option| option.target.as_ref());
    let transitions = node.transitions.iter().filter_map(|transition| transition.target.as_ref());
    let recovery = [&node.to, &node.on_error, &node.on_denied, &node.on_max_visits];
    let graph_wide = node.defaults.iter();
    let invalid = node.on_invalid.as_ref().and_then(|invalid| invalid.value.to.as_ref());
    let signals = node.on_signal.iter().map(|(_, target)| target);
    let rolled_back = graph_wide.clone().filter_map(|defaults| defaults.on_rolled_back.as_ref());
    let defaults = graph_wide.clone().flat_map(|defaults| &defaults.on_signal_default).map(|(_, target)| target);
    let before_each = graph_wide.filter_map(|defaults| defaults.before_each.as_ref());
    let calls = node.call.iter().chain(&node.undo).chain(before_each).flat_map(|call| called(call));
    options
        .chain(transitions)
        .chain(recovery.into_iter().flatten())
        .chain(rolled_back)
        .chain(invalid)
        .chain(signals)
        .chain(defaults)
        .chain(calls)
}

pub(super) fn called(call: &CallSyntax) -> Vec<&TargetSyntax> {
    match &call.callee {
        CalleeSyntax::Graph(target) => vec![target],
        CalleeSyntax::Parallel(branches, _) => branches.iter().flat_map(|(_, branch)| called(branch)).collect(),
        CalleeSyntax::Tool(_) | CalleeSyntax::Each(..) => Vec::new(),
    }
}

/// The node as its author wrote it.
fn syntax_of<'p>(program: &'p Program, node: &Node) -> Option<&'p NodeSyntax> {
    match &program.documents.get(node.document as usize)?.content {
        Content::Node(syntax) => Some(syntax),
        Content::Nodes(nodes, _) => nodes.get(node.ordinal as usize),
        _ => None,
    }
}
