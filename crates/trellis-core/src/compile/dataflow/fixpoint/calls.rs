//! Nodes that are called as children (language 5.4): what they may return, and to whom.

use std::collections::BTreeMap;

use super::*;

/// One node that is called as a child.
#[derive(Debug)]
pub(crate) struct CallSummary {
    /// What it was seen to return, all in all and end by end.
    pub(crate) output: TypeId,
    pub(crate) ends: BTreeMap<u32, TypeId>,
    /// Who calls it.
    pub(crate) callers: Vec<u32>,
    /// The points that a session of its own can reach.
    pub(crate) inside: Vec<bool>,
}

impl CallSummary {
    /// All ends together, where one of them returns something else than before; says whether that is something else.
    fn sum_up(&mut self, types: &mut TypeTable) -> bool {
        let output = self.ends.values().fold(TypeId::NEVER, |known, end| types.join(known, *end));
        std::mem::replace(&mut self.output, output) != output
    }
}

/// All of them.
pub(crate) type CallSummaries = BTreeMap<NodeIndex, CallSummary>;

/// The children that points call.
pub(crate) fn children(program: &Program, steps: &OpTable) -> CallSummaries {
    let mut children = CallSummaries::new();
    for point in steps.points() {
        for step in steps.steps(steps.point_ops(point)) {
            let Op::Args { child: Some(child), .. } = step else { continue };
            let of = children.entry(*child).or_insert_with(|| {
                let node = program.node(*child);
                let inside = crate::compile::dataflow::reachable(program, node.gate.unwrap_or(node.body));
                CallSummary { output: TypeId::NEVER, ends: BTreeMap::new(), callers: Vec::new(), inside }
            });
            if of.callers.last() != Some(&point.0) {
                of.callers.push(point.0);
            }
        }
    }
    children
}

impl Analysis<'_, '_> {
    /// What a node returns when it is called as a child.
    pub(crate) fn output(&self, node: NodeIndex) -> TypeId {
        self.solved.children.get(&node).map_or(TypeId::NEVER, |child| child.output)
    }

    /// The same end by end.
    pub(crate) fn ends(&self, node: NodeIndex) -> Vec<(u32, TypeId)> {
        self.solved.children.get(&node).into_iter().flat_map(|child| &child.ends).map(|(end, of)| (*end, *of)).collect()
    }

    /// The same as a schema: what one end returns and what another does are not mixed.
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

    /// Forgets what the ends in a part return. Gives what each child returned before.
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

    /// A child ended at a point. Gives the points that get something else by that.
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

    /// The callers of the children that return something else than `before`.
    pub(crate) fn callers_since(&self, before: &[TypeId]) -> Vec<u32> {
        let changed = self.solved.children.values().zip(before).filter(|(child, before)| child.output != **before);
        changed.flat_map(|(child, _)| child.callers.iter().copied()).collect()
    }
}
