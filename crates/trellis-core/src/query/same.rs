//! Comparison of two programs that may differ in one name.

use super::GraphChange;
use crate::{
    id::NodeId,
    program::{Node, PointIndex, Program, Target},
};

/// Returns the first difference between a graph before a change and after it that is more than the names that change, in words.
pub fn difference(before: &Program, after: &Program, change: &GraphChange) -> Option<String> {
    let moved = |id: &NodeId| match &change.node {
        Some((old, new)) if old == id => new.clone(),
        _ => id.clone(),
    };
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
            let old = ways(before, one, &moved, change);
            let new = ways(after, other, &NodeId::clone, change);
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
fn ways(program: &Program, point: PointIndex, moved: &impl Fn(&NodeId) -> NodeId, change: &GraphChange) -> Vec<(String, String)> {
    let key = change.key.as_ref().map(|(old, new)| (&**old, &**new));
    let tool = change.tool.as_ref().map(|(old, new)| (&**old, &**new));
    let unnamed =
        |text: String| key.into_iter().chain(tool).fold(text, |text, (old, new)| text.replace(&format!("{old:?}"), &format!("{new:?}")));
    let ways = program.out_edges(point).map(|way| {
        let to = match &way.edge.to {
            Target::Point(to) | Target::Proceed(to) => format!("`{}`", moved(&program.node(program.point(*to).node).id)),
            other => format!("{other:?}"),
        };
        (unnamed(format!("{:?} {:?} {:?}", way.reply.on, way.edge.when, way.edge.why)), to)
    });
    ways.collect()
}
