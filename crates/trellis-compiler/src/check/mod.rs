//! Checks of a lowered graph. One check per file, each over the one edge list.

pub(super) mod args;
mod exhaustive;
mod links;
mod loops;
mod meant;
mod never_true;
mod offered;
mod reachability;
mod rollback_gap;
pub(super) mod shadowing;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::{cfg::Cfg, severity::Severities};
use trellis_base::diagnostic::{Code, Diagnostic, FilePath, Place};
use trellis_engine::program::{Node, Program, Role};

/// Findings by node.
type FoundByNode = Vec<(u32, Diagnostic)>;

/// Findings of the checks of single nodes, by node. An edit renews those of the edited nodes and leaves the others.
#[derive(Debug, Default)]
pub(super) struct NodeFindings {
    never: FoundByNode,
    gaps: FoundByNode,
}

/// Checks the nodes in `fresh` again, or all; findings about the others stay. The result is in the order of nodes.
fn renew(findings: &mut FoundByNode, program: &Program, fresh: Option<&[u32]>, ask: impl Fn(&Node, &mut dyn FnMut(Diagnostic))) {
    let mut found = Vec::new();
    let mut one = |node: &Node| ask(node, &mut |diagnostic| found.push((node.index.0, diagnostic)));
    match fresh {
        None => program.nodes.iter().for_each(|node| one(node)),
        Some(fresh) => fresh.iter().for_each(|&node| one(&program.nodes[node as usize])),
    }
    let is_unedited = |node: &u32| fresh.is_some_and(|fresh| fresh.binary_search(node).is_err());
    findings.retain(|(node, _)| is_unedited(node));
    findings.extend(found);
    findings.sort_by_key(|(node, _)| *node);
}

/// Every check but those of data. `unresolved` is present if some edge could not be read or leads nowhere. `own` has the findings of single
/// nodes, and `fresh` the nodes that are new; `linking` lists the documents with links.
pub(super) fn shape(
    cfg: &Cfg<'_>,
    unresolved: Option<&Severities<'_>>,
    own: &mut NodeFindings,
    fresh: Option<&[u32]>,
    linking: &[u32],
    found: &mut Vec<Diagnostic>,
) {
    let NodeFindings { never, gaps } = own;
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
    offered::check(program, found);
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
    links::check(program.documents(), linking, found);
}

/// Drops the finding that no end can be reached from nodes of which one has a gap: the missing edge is the mistake.
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

/// Drops gaps that only follow from a call that could not be resolved: its result and its effects are unknown.
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
