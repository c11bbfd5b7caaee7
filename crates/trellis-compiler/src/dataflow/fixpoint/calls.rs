//! Call summaries of nodes that are called as children (language 5.4).
//!
//! **Algorithm.** Context-insensitive and summary-based: one entry environment for each child, joined over all callers, and one output, the
//! join over all points where a session of the child can end. A caller is executed again when the output of its child grows. Caller, child
//! and ends of a recursion are in one component, so the solver iterates over them together.
//!
//! **Example.** Ends that return `"yes"` and `3` give every caller the result `{"yes", 3}`.

use std::collections::BTreeMap;

use super::*;

/// Summary of one node that is called as a child.
#[derive(Debug)]
pub(crate) struct CallSummary {
    /// Join of all outputs, and the output of each end.
    pub(crate) output: TypeId,
    pub(crate) ends: BTreeMap<u32, TypeId>,
    /// Points that call it.
    pub(crate) callers: Vec<u32>,
    /// True for each point that a session of the child can reach.
    pub(crate) inside: Vec<bool>,
}

impl CallSummary {
    /// Joins the outputs of all ends. Returns true if the result changed.
    fn sum_up(&mut self, types: &mut TypeTable) -> bool {
        let output = self.ends.values().fold(TypeId::NEVER, |known, end| types.join(known, *end));
        std::mem::replace(&mut self.output, output) != output
    }
}

/// Summaries by the node that is called.
pub(crate) type CallSummaries = BTreeMap<NodeIndex, CallSummary>;

/// Creates the summaries of all children that points call, without outputs.
pub(crate) fn children(program: &Program, ops: &OpTable) -> CallSummaries {
    let mut children = CallSummaries::new();
    for point in ops.points() {
        for op in ops.ops(ops.point_ops(point)) {
            let Op::Args { child: Some(child), .. } = op else { continue };
            let of = children.entry(*child).or_insert_with(|| CallSummary {
                output: TypeId::NEVER,
                ends: BTreeMap::new(),
                callers: Vec::new(),
                inside: Vec::new(),
            });
            if of.callers.last() != Some(&point.0) {
                of.callers.push(point.0);
            }
        }
    }
    for (child, of) in &mut children {
        let node = program.node(*child);
        let graph_of = |point: &u32| program.node(program.point(PointIndex(*point)).node).graph;
        let is_inner = of.callers.iter().all(|caller| graph_of(caller) == node.graph);
        of.inside = reachable(program, node.gate.unwrap_or(node.body), is_inner);
    }
    children
}

/// The points that a session which begins at `entry` can reach by itself, without those of the children that it calls. Defaults of its graph apply to
/// it where it is called from another one (language 5.4).
fn reachable(program: &Program, entry: PointIndex, is_inner: bool) -> Vec<bool> {
    let mut inside = vec![false; program.points.len()];
    inside[entry.index()] = true;
    let mut open = vec![entry];
    while let Some(point) = open.pop() {
        let applies = |edge: u32| !is_inner || !program.edges[edge as usize].why.is_graph_wide();
        for next in Cfg::successors(program, point).filter(|next| applies(next.edge)) {
            if !std::mem::replace(&mut inside[next.to.index()], true) {
                open.push(next.to);
            }
        }
    }
    inside
}

impl Analysis<'_, '_> {
    /// Returns the output of a node that is called as a child; bottom if it is not.
    pub(crate) fn output(&self, node: NodeIndex) -> TypeId {
        self.solved.children.get(&node).map_or(TypeId::NEVER, |child| child.output)
    }

    /// Returns the output of each end of a child.
    pub(crate) fn ends(&self, node: NodeIndex) -> Vec<(u32, TypeId)> {
        self.solved.children.get(&node).into_iter().flat_map(|child| &child.ends).map(|(end, of)| (*end, *of)).collect()
    }

    /// Returns a schema of the output of a child, with an alternative for each end, so that fields of two ends do not mix.
    pub(crate) fn output_schema(&self, node: NodeIndex) -> Value {
        let mut ends: Vec<TypeId> = Vec::new();
        for end in self.solved.children.get(&node).into_iter().flat_map(|child| child.ends.values()) {
            if !ends.contains(end) {
                ends.push(*end);
            }
        }
        match ends.len() {
            0 | 1 => self.types.to_schema(self.output(node)),
            _ => Value::map([("anyOf", Value::list(ends.into_iter().map(|end| self.types.to_schema(end))))]),
        }
    }

    /// Forgets the outputs of the ends in a component, which is solved again. Returns the previous output of each child.
    pub(crate) fn forget_ends(&mut self, part: u32, parts: &Components) -> Vec<TypeId> {
        let outputs = self.solved.children.values().map(|child| child.output).collect();
        for child in self.solved.children.values_mut() {
            let before = child.ends.len();
            child.ends.retain(|end, _| parts.of(*end) != Some(part));
            if child.ends.len() != before {
                child.sum_up(&mut self.types);
            }
        }
        outputs
    }

    /// Joins the output of a child that ends at a point. Returns the callers for which it grew.
    pub(crate) fn ended(&mut self, point: PointIndex, output: TypeId) -> Vec<u32> {
        let mut changed = Vec::new();
        for child in self.solved.children.values_mut().filter(|child| child.inside[point.index()]) {
            let end = child.ends.entry(point.0).or_insert(TypeId::NEVER);
            let joined = self.types.join(*end, output);
            if std::mem::replace(end, joined) != joined && child.sum_up(&mut self.types) {
                changed.extend(&child.callers);
            }
        }
        changed
    }

    /// Returns the callers of the children whose output differs from `before`.
    pub(crate) fn callers_since(&self, before: &[TypeId]) -> Vec<u32> {
        let changed = self.solved.children.values().zip(before).filter(|(child, before)| child.output != **before);
        changed.flat_map(|(child, _)| child.callers.iter().copied()).collect()
    }
}
