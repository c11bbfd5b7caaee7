//! What is proved of a lowered graph. One check per file, each over the one edge list.

pub(super) mod args;
mod cases;
pub(super) mod exhaustive;
mod links;
mod loops;
pub(super) mod meant;
pub(super) mod never_true;
mod reachability;
mod rollback_gap;
pub(super) mod shadowing;
mod value_index;

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashSet;

use super::{
    Join, UncheckedRead,
    cfg::Cfg,
    dataflow::{self, Analysis, Reuse},
    severity::Severities,
    taint::Taint,
};
use crate::{
    diagnostic::{Code, Diagnostic, FilePath, Place},
    program::{Node, Program, Role},
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax, TargetSyntax},
    },
};

/// What was found, by node.
type Found = Vec<(u32, Diagnostic)>;

/// What is found about nodes, by node: of those that were not edited it is kept.
#[derive(Debug, Default)]
pub(super) struct NodeFindings {
    never: Found,
    gaps: Found,
    /// What the flow of data is known to be; that of the others stands in it too.
    data: Option<dataflow::AnalysisCache>,
}

#[cfg(test)]
impl NodeFindings {
    /// How many points the analysis of data looked at the last time.
    pub(super) fn looked(&self) -> usize {
        self.data.as_ref().map_or(0, |data| data.looked)
    }
}

/// Asks the nodes in `fresh` anew, or all; what was found about the others stays. In the order of nodes.
fn renew(kept: &mut Found, program: &Program, fresh: Option<&[u32]>, ask: impl Fn(&Node, &mut dyn FnMut(Diagnostic))) {
    let mut found = Vec::new();
    let mut one = |node: &Node| ask(node, &mut |diagnostic| found.push((node.index.0, diagnostic)));
    match fresh {
        None => program.nodes.iter().for_each(|node| one(node)),
        Some(fresh) => fresh.iter().for_each(|&node| one(&program.nodes[node as usize])),
    }
    let is_kept = |node: &u32| fresh.is_some_and(|fresh| fresh.binary_search(node).is_err());
    kept.retain(|(node, _)| is_kept(node));
    kept.extend(found);
    kept.sort_by_key(|(node, _)| *node);
}

/// Points of a graph for which it pays to do two things at once.
const MIN_PARALLEL_POINTS: usize = 1_000;

/// The findings about single nodes, and the nodes that are new or edited since they were made; `None` if all are.
pub(super) struct NodeChecks<'c> {
    pub(super) findings: &'c mut NodeFindings,
    pub(super) fresh: Option<&'c [u32]>,
}

/// The findings about conditions of single nodes, by node, and the nodes to check again; `None` if all are.
struct ConditionChecks<'c> {
    never: &'c mut Found,
    gaps: &'c mut Found,
    fresh: Option<&'c [u32]>,
}

/// Runs every check. Where some way could not be read or leads nowhere, what stands behind it is unknown: what it may have meant is not unreachable,
/// and nothing is without a way out.
/// `linking` says which documents have links.
pub(super) fn program(
    program: &Arc<Program>,
    unresolved: bool,
    severities: &Severities<'_>,
    NodeChecks { findings, fresh }: NodeChecks<'_>,
    linking: &[u32],
    both: Option<Join>,
    found: &mut Vec<Diagnostic>,
) -> Vec<UncheckedRead> {
    let cfg = Cfg::new(program);
    let tame = vec![false; program.points.len()];
    let mut known = None;
    let NodeFindings { never, gaps, data } = findings;
    let mut shape = || {
        shape(&cfg, unresolved.then_some(severities), ConditionChecks { never, gaps, fresh }, found);
        links::check(program.documents(), linking, found);
    };
    match both.filter(|_| fresh.is_none() && program.points.len() >= MIN_PARALLEL_POINTS) {
        // Most graphs have no mistakes: what is known of their data then is worked out meanwhile.
        Some(both) => both(&mut || known = Some(Analysis::new(program, &cfg, &tame)), &mut shape),
        None => shape(),
    }
    match Taint::new(program, severities, found) {
        Some(tainted) => {
            let known = known.filter(|_| tainted.points == tame);
            dataflow::check(program, &cfg, &tainted, known, Reuse { cache: data, fresh }, found)
        }
        None => {
            *data = None;
            Vec::new()
        }
    }
}

/// Every check but those of data. `unresolved` says where some way could not be read or leads nowhere, if there is one.
fn shape(
    cfg: &Cfg<'_>,
    unresolved: Option<&Severities<'_>>,
    ConditionChecks { never, gaps, fresh }: ConditionChecks<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let program = cfg.program;
    let reached = reachability::from_entries(cfg);
    match unresolved {
        None => reachability::check(cfg, &reached, found),
        Some(severities) => {
            if let Some(reached) = meant::reached(cfg, &reached, severities, found) {
                reachability::check(cfg, &reached, found);
            }
        }
    }
    loops::check(cfg, &reached, unresolved.is_some(), found);
    renew(never, program, fresh, |node, found| never_true::check(program, node, found));
    found.extend(never.iter().map(|(_, found)| found.clone()));
    renew(gaps, program, fresh, |node, found| exhaustive::check(program, node, found));
    // A condition that can never be true is the gap.
    let is_never = |node: &u32| never.binary_search_by_key(node, |(node, _)| *node).is_ok();
    let gaps: Vec<_> = gaps.iter().filter(|(node, _)| !is_never(node)).collect();
    leaves_by_a_gap(program, &gaps, found);
    let before = found.len();
    found.extend(gaps.into_iter().map(|(_, found)| found.clone()));
    if cfg.rolls_back {
        rollback_gap::check(program, found);
    }
    follows(program, before, found);
}

/// Drops that no end can be reached from nodes of which one has a gap: the way that is missing there is the mistake.
fn leaves_by_a_gap(program: &Program, gaps: &[&(u32, Diagnostic)], found: &mut Vec<Diagnostic>) {
    if gaps.is_empty() || !found.iter().any(|found| found.code == Code::NoWayOut) {
        return;
    }
    // A file may hold several nodes, one behind the other.
    let nodes = gaps.iter().map(|(node, _)| &program.nodes[*node as usize]);
    let ends: BTreeMap<(&FilePath, u32), u32> = nodes.map(|node| ((program.path_of(node), node.span.start), node.span.end)).collect();
    let has_gap = |place: &Place| {
        let before = ends.range(..=(&place.path, place.span.start)).next_back();
        before.is_some_and(|((path, _), end)| **path == place.path && place.span.start <= *end)
    };
    found.retain(|found| {
        let mut places = found.place.iter().chain(found.labels.iter().map(|label| &label.place));
        found.code != Code::NoWayOut || !places.any(has_gap)
    });
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
pub(super) fn syntax_of<'p>(program: &'p Program, node: &Node) -> Option<&'p NodeSyntax> {
    match &program.documents.get(node.document as usize)?.content {
        Content::Node(syntax) => Some(syntax),
        Content::Nodes(nodes, _) => nodes.get(node.ordinal as usize),
        _ => None,
    }
}
