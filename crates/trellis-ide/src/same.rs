//! Comparison of two programs that may differ in one name.

use std::collections::BTreeMap;

use super::GraphChange;
use trellis_base::id::NodeId;
use trellis_engine::program::{Guard, Node, PointIndex, Program, Target};

/// Returns the first difference between a graph before a change and after it that is more than the names that change, in words.
pub fn difference(before: &Program, after: &Program, change: &GraphChange) -> Option<String> {
    let renamed: BTreeMap<&NodeId, &NodeId> = change.nodes.iter().map(|(old, new)| (old, new)).collect();
    let moved = |id: &NodeId| renamed.get(id).copied().unwrap_or(id).clone();
    if before.nodes().len() != after.nodes().len() {
        return Some(format!("there would be {} nodes instead of {}", after.nodes().len(), before.nodes().len()));
    }
    for node in before.nodes() {
        let id = moved(&node.id);
        let Some(now) = after.find(&id).map(|index| after.node(index)) else {
            return Some(format!("there would be no node `{id}`"));
        };
        if node.gate.is_some() != now.gate.is_some() {
            return Some(format!("`{id}` would be entered in another way"));
        }
        let points = |node: &Node| node.gate.into_iter().chain([node.body]).collect::<Vec<PointIndex>>();
        for (one, other) in points(node).into_iter().zip(points(now)) {
            let old = out_edges(before, one, &moved, change);
            let new = out_edges(after, other, &NodeId::clone, change);
            if let Some((old, new)) = old.iter().zip(&new).find(|(old, new)| old != new) {
                return Some(format!("a transition of `{id}` would lead to {} instead of {}", new.1, old.1));
            }
            if old.len() != new.len() {
                return Some(format!("`{id}` would have {} transitions instead of {}", new.len(), old.len()));
            }
        }
    }
    None
}

/// Returns the edges out of a point: the condition and the target of each.
fn out_edges(program: &Program, point: PointIndex, moved: &impl Fn(&NodeId) -> NodeId, change: &GraphChange) -> Vec<(String, String)> {
    let names = [&change.key, &change.tool, &change.predicate, &change.signal];
    let names = names.into_iter().flatten().map(|(old, new)| (&**old, &**new));
    let names = names.chain(change.option.as_ref().map(|option| (&*option.old, &*option.new)));
    let ids = change.nodes.iter().map(|(old, new)| (old.as_str(), new.as_str()));
    let names: Vec<_> = names.chain(ids).map(|(old, new)| (format!("{old:?}"), format!("{new:?}"))).collect();
    let unnamed = |text: String| names.iter().fold(text, |text, (old, new)| text.replace(old, new));
    let out_edges = program.out_edges(point).map(|edge| {
        let to = match &edge.edge.to {
            Target::Point(to) | Target::Proceed(to) => format!("`{}`", moved(&program.node(program.point(*to).node).id)),
            other => format!("{other:?}"),
        };
        (unnamed(format!("{:?} {} {:?}", edge.reply.on, guard(program, &edge.edge.when), edge.edge.why)), to)
    });
    out_edges.collect()
}

/// Returns a guard by what it asks: a predicate by its name, since another name is another place in the list.
fn guard(program: &Program, guard: &Guard) -> String {
    match guard {
        Guard::Predicate(index, positive) => {
            let name = program.predicates().get(*index as usize).map_or("", |predicate| &predicate.name);
            format!("Predicate({name:?}, {positive})")
        }
        other => format!("{other:?}"),
    }
}
