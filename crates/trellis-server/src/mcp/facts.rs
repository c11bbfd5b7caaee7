//! Proven facts about a flow, for its annotations: read from the edge list, never claimed by its author.

use std::collections::{BTreeMap, BTreeSet};

use rmcp::model::ToolAnnotations;
use trellis_core::{
    Program,
    language::Effect,
    program::{Call, Callee, Node, NodeIndex, PointIndex, Role, Target, Tool},
};

/// Kinds of bindings that leave the machine.
const AWAY: [&str; 3] = ["http", "mcp", "model"];

/// The nodes and effects that sessions can reach from the entry.
struct Reach<'p> {
    program: &'p Program,
    nodes: BTreeSet<NodeIndex>,
    open: Vec<PointIndex>,
    effects: BTreeSet<EffectRank>,
    /// Names of tools, each with a graph that calls it.
    tools: BTreeMap<&'p str, u32>,
}

/// Effects, the gravest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EffectRank {
    Undoable,
    Irreversible,
}

/// Annotations of a flow: whether anything that it can call has an effect, an irreversible one, or leaves the machine.
pub(super) fn annotations(program: &Program) -> ToolAnnotations {
    let mut reach = Reach { program, nodes: BTreeSet::new(), open: Vec::new(), effects: BTreeSet::new(), tools: BTreeMap::new() };
    reach.enter(program.entry());
    while let Some(point) = reach.open.pop() {
        for out_edge in program.out_edges(point) {
            reach.follow(&out_edge.edge.to);
        }
    }
    let is_open = reach.tools.iter().any(|(tool, graph)| reach.leaves(tool, *graph));
    let is_destructive = reach.effects.contains(&EffectRank::Irreversible);
    ToolAnnotations::new().read_only(reach.effects.is_empty()).destructive(is_destructive).open_world(is_open)
}

impl<'p> Reach<'p> {
    fn enter(&mut self, node: &'p Node) {
        if !self.nodes.insert(node.index) {
            return;
        }
        self.open.extend(node.gate.into_iter().chain([node.body]));
        let before = self.program.graph_of(node).before_each.as_deref().filter(|_| node.gate.is_some());
        let own = if let Role::Act(call) = &node.role { Some(&**call) } else { None };
        for call in before.into_iter().chain(own) {
            self.call(call, node.graph);
        }
    }

    fn call(&mut self, call: &'p Call, graph: u32) {
        match &call.callee {
            Callee::Tool(tool) => self.tool(tool, graph),
            Callee::Graph(node) => self.enter(self.program.node(*node)),
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.call(branch, graph)),
            Callee::Each(..) => {}
        }
        // The effects of a call of a graph are those of its nodes.
        if !matches!(call.callee, Callee::Graph(_) | Callee::Parallel(..)) {
            self.effect(call.effect);
        }
        for tool in &call.offered {
            self.tool(tool, graph);
            self.effect(tool.effect.unwrap_or(Effect::Irreversible));
        }
        if let Some(undo) = &call.undo {
            self.call(undo, graph);
        }
    }

    fn tool(&mut self, tool: &'p Tool, graph: u32) {
        self.tools.entry(&tool.name).or_insert(graph);
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::None => {}
            Effect::Undoable => drop(self.effects.insert(EffectRank::Undoable)),
            Effect::Irreversible => drop(self.effects.insert(EffectRank::Irreversible)),
        }
    }

    fn follow(&mut self, to: &Target) {
        match to {
            Target::Point(point) | Target::Proceed(point) => self.enter(self.program.node(self.program.point(*point).node)),
            Target::Rollback => {
                for graph in (0_u32..).take(self.program.graphs().len()) {
                    let after: Vec<_> = self.program.edges_after_rollback(graph).map(|out_edge| out_edge.edge.to.clone()).collect();
                    after.iter().filter(|to| !matches!(to, Target::Rollback)).for_each(|to| self.follow(to));
                }
            }
            Target::Again | Target::End(_) => {}
        }
    }

    /// Returns whether the binding of a tool leaves the machine, seen from a graph that calls it.
    fn leaves(&self, tool: &str, graph: u32) -> bool {
        let graph = &self.program.graphs()[graph as usize];
        let binding = self.program.outwards(graph).find_map(|graph| graph.bindings.get(tool));
        binding.is_some_and(|binding| AWAY.iter().any(|kind| binding.config.get(kind).is_some()))
    }
}
