//! `unreachable-node`: every edge counts (language 8.5).

use petgraph::visit::{Dfs, Walker};

use crate::{cfg::Cfg, source_lookup::place};
use trellis_base::diagnostic::{Code, Diagnostic};
use trellis_engine::program::{Node, Program};

/// Returns which points can be reached from an entry. A graph of its own may be run alone, so each entry is a start.
pub(super) fn from_entries(cfg: &Cfg<'_>) -> Vec<bool> {
    let mut walk = Dfs::empty(&*cfg.digraph);
    let mut reached = vec![false; cfg.program.points.len()];
    for graph in &cfg.program.graphs {
        walk.move_to(cfg.entry(graph.entry));
        for point in (&mut walk).iter(&*cfg.digraph) {
            reached[point as usize] = true;
        }
        for node in graph.before_each.iter().flat_map(|call| call.starts()) {
            walk.move_to(cfg.entry(node));
            for point in (&mut walk).iter(&*cfg.digraph) {
                reached[point as usize] = true;
            }
        }
    }
    reached
}

/// Reports the nodes where an unreachable part begins; nodes that only they lead to follow from them.
pub(super) fn check(cfg: &Cfg<'_>, reached: &[bool], found: &mut Vec<Diagnostic>) {
    let program = cfg.program;
    let unreachable: Vec<&Node> = program.nodes().iter().map(|node| &**node).filter(|node| !reached[node.body.0 as usize]).collect();
    if unreachable.is_empty() {
        return;
    }
    let mut led = vec![false; program.points.len()];
    for node in &unreachable {
        let own = [node.gate, Some(node.body)];
        for point in own.into_iter().flatten() {
            for next in petgraph::visit::IntoNeighbors::neighbors(&*cfg.digraph, point.0) {
                led[next as usize] |= !own.contains(&Some(trellis_engine::program::PointIndex(next)));
            }
        }
    }
    let begins = |node: &&&Node| !led[cfg.entry(node.index) as usize] && !led[node.body.0 as usize];
    let first = unreachable.iter().filter(begins);
    // None of these leads to one behind it. In a cycle the last one leads to those before it: so they are visited backwards too.
    let once = leading(cfg, reached, first.chain(&unreachable).copied());
    let twice = leading(cfg, reached, once.into_iter().rev());
    found.extend(twice.into_iter().map(|node| unreachable_node(program, node)));
}

/// The nodes to which none of those before them leads.
fn leading<'p>(cfg: &Cfg<'_>, reached: &[bool], nodes: impl Iterator<Item = &'p Node>) -> Vec<&'p Node> {
    let mut explained = reached.to_vec();
    nodes
        .filter(|node| {
            let is_leading = !explained[node.body.0 as usize];
            if is_leading {
                let mut walk = Dfs::new(&*cfg.digraph, cfg.entry(node.index));
                while let Some(point) = walk.next(&*cfg.digraph) {
                    explained[point as usize] = true;
                }
                explained[node.body.0 as usize] = true;
            }
            is_leading
        })
        .collect()
}

fn unreachable_node(program: &Program, node: &Node) -> Diagnostic {
    let start = program.entry().id.as_str();
    let help = format!("lead to it from another node (`to: {}`), or delete the file; a name that begins with `_` is no node", node.id);
    Diagnostic::new(Code::UnreachableNode, program.path_of(node), place(node), format!("no path leads from `{start}` to `{}`", node.id))
        .help(help)
}
