//! Lowering: each node becomes one or two points with replies, writes and edges. Later phases do not know the keys of nodes.

mod call;
mod declared;
mod edges;
mod guard;
mod guarded;
mod known_paths;
mod listen;
mod node;
mod options;
mod speech;

use std::sync::Arc;

pub(super) use self::{guard::BareName, guarded::GuardedName};
use rustc_hash::FxHashSet;

use super::{
    graphs::{GraphInfo, known_keys},
    layout::NodeLayout,
    names::{Candidate, NameTable, Resolved},
    schemas::Schemas,
    tools::{ToolScope, Tools},
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    id::SignalName,
    index::to_u32,
    path::KeyPath,
    span::Span,
    value::Value,
};
use trellis_engine::program::{
    Edge, Failure, Guard, Node, NodeIndex, Operand, Origin, Outcome, Part, Point, PointIndex, Predicate, Provenance, Reason, Reply, Target,
    Write,
};
use trellis_syntax::{document::Document, node::TargetSyntax};

/// The inputs of lowering and its results so far.
pub(super) struct Lowering<'d> {
    pub(super) documents: &'d [Arc<Document>],
    pub(super) names: &'d NameTable<'d>,
    pub(super) graphs: Vec<GraphInfo<'d>>,
    pub(super) tools: Tools<'d>,
    pub(super) schemas: Schemas,
    pub(super) layouts: Arc<NodeLayout>,
    pub(super) nodes: Vec<Arc<Node>>,
    pub(super) points: Vec<Point>,
    pub(super) replies: Vec<Reply>,
    pub(super) edges: Vec<Edge>,
    pub(super) predicates: Vec<Predicate>,
    pub(super) found: Vec<Diagnostic>,
    /// The bare names in conditions of the nodes that were lowered.
    pub(super) bare_names: Vec<BareName>,
    /// The keys that the nodes that were lowered test or guard.
    pub(super) guarded_names: Vec<GuardedName>,
    pub(super) common: Common,
    /// True if some target leads nowhere: the nodes behind it are unknown then.
    pub(super) unresolved: bool,
}

/// Values that thousands of nodes share, made once.
pub(super) struct Common {
    /// `input`.
    input: Operand,
    /// The signal `timeout`.
    timeout: SignalName,
    /// `no`.
    no: Value,
}

impl Default for Common {
    fn default() -> Self {
        let input = KeyPath::parse("input").unwrap_or_else(|| unreachable!("`input` is a path"));
        Self { input: guard::operand(&input), timeout: SignalName::new(SignalName::TIMEOUT), no: "no".into() }
    }
}

/// The place of a key, while its node is lowered.
#[derive(Clone, Copy)]
pub(super) struct Here<'d> {
    pub(super) document: u32,
    pub(super) graph: u32,
    pub(super) path: &'d FilePath,
    pub(super) folder: &'d str,
}

impl<'d> Here<'d> {
    /// Returns the place of a candidate's keys. Targets are looked up from the folder of its id, so that a file with `nodes:` scopes like a folder.
    pub(super) fn of(candidate: Candidate<'d>) -> Self {
        Self { document: candidate.document, graph: candidate.graph, path: candidate.path, folder: candidate.id.folder() }
    }

    fn origin(&self, span: Span) -> Option<Origin> {
        Some(Origin { document: self.document, span })
    }
}

impl<'d> Lowering<'d> {
    /// Every key that is ever set or declared in a graph.
    fn keys(&self, graph: u32) -> &FxHashSet<&'d str> {
        let info = &self.graphs[graph as usize];
        info.keys.get_or_init(|| {
            let own = self.names.candidates().filter(|candidate| candidate.graph == graph);
            known_keys(&info.syntax, own.filter_map(|candidate| candidate.syntax), true)
        })
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    fn report(&mut self, here: Here<'_>, code: Code, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        let at = self.found.len();
        self.found.push(Diagnostic::new(code, here.path, span, message));
        &mut self.found[at]
    }

    /// Returns the target of a name; one that leads nowhere ends as failed, so that it is reported once and hides nothing. `skip_gate`
    /// enters the node behind its `before_each`.
    fn target(&mut self, here: Here<'_>, target: &TargetSyntax, skip_gate: bool) -> Target {
        match self.names.resolve(&target.name.value, target.is_jump(), here.folder, here.graph, false) {
            Ok(Resolved::Rollback) => Target::Rollback,
            Ok(Resolved::Fail) => Target::End(Reason::Failed(Failure::Fail)),
            Ok(Resolved::Node(candidate)) => match self.layouts.nodes_of[candidate as usize] {
                Some(node) => Target::Point(self.entry_point(node, skip_gate)),
                None => self.nowhere(),
            },
            Err(missing) => {
                self.push(missing.at(here.path, target));
                self.nowhere()
            }
        }
    }

    fn nowhere(&mut self) -> Target {
        self.unresolved = true;
        Target::End(Reason::Failed(Failure::Fail))
    }

    /// The point where a node is entered.
    pub(super) fn entry_point(&self, node: NodeIndex, skip_gate: bool) -> PointIndex {
        let first = self.layouts.points_of[node.0 as usize];
        PointIndex(first + u32::from(skip_gate && self.layouts.gated[node.0 as usize]))
    }

    fn edge(&mut self, here: Here<'_>, when: Guard, target: &TargetSyntax, why: Provenance) -> Edge {
        self.edge_from(here, when, target, why, false)
    }

    fn edge_from(&mut self, here: Here<'_>, when: Guard, target: &TargetSyntax, why: Provenance, skip_gate: bool) -> Edge {
        let to = self.target(here, target, skip_gate);
        Edge { when, to, why, origin: here.origin(target.name.span) }
    }

    /// Adds a reply; the caller vouches that the last edge always holds.
    fn reply(&mut self, on: Outcome, update: Vec<Write>, edges: impl IntoIterator<Item = Edge>) {
        let start = self.next_edge();
        self.edges.extend(edges);
        self.reply_from(start, on, update);
    }

    /// Returns the index of the next edge.
    fn next_edge(&self) -> u32 {
        to_u32(self.edges.len())
    }

    /// Adds a reply whose edges were written from `start` on.
    fn reply_from(&mut self, start: u32, on: Outcome, update: Vec<Write>) {
        debug_assert!(self.edges.last().is_some_and(|edge| edge.when == Guard::Always), "the last edge always holds");
        let end = self.next_edge();
        self.replies.push(Reply { on, update: update.into(), edges: start..end });
    }

    fn begin_point(&mut self, node: NodeIndex, part: Part) -> u32 {
        let start = to_u32(self.replies.len());
        self.points.push(Point { node, part, replies: start..start });
        start
    }

    fn end_point(&mut self) {
        let end = to_u32(self.replies.len());
        if let Some(point) = self.points.last_mut() {
            point.replies.end = end;
        }
    }
}

/// An edge that follows from the rules alone.
fn rule(to: Target) -> Edge {
    Edge { when: Guard::Always, to, why: Provenance::Rule, origin: None }
}

/// The tools of a node while it is lowered.
pub(super) type OwnTools = ToolScope;

impl<'d> Lowering<'d> {
    /// Remembers the tools of every `start`: its module may call them (language 5.1).
    pub(super) fn modules(&mut self, tooled: &[u32]) {
        let names = self.names;
        for at in tooled.iter().flat_map(|document| names.of_document(*document)) {
            let candidate = names.candidate(at);
            let is_node = self.layouts.nodes_of[at as usize].is_some();
            if candidate.id.is_start() && is_node && candidate.syntax.is_some_and(|syntax| !syntax.tools.is_empty()) {
                // Mistakes in these references are reported when the node itself is lowered.
                let scope = self.tools.own(candidate, &mut self.schemas, &mut Vec::new());
                self.tools.add_module(candidate, scope);
            }
        }
    }

    /// Files that are no nodes: Markdown without frontmatter that nothing names (language 1.2).
    pub(super) fn pages(&self) -> rustc_hash::FxHashSet<&'d FilePath> {
        let pages = self.names.pages().iter().filter(|page| self.layouts.nodes_of[**page as usize].is_none());
        pages.map(|page| self.names.candidate(*page).path).collect()
    }

    /// Reports defaults that lead nowhere, whether or not a node falls back on them.
    pub(super) fn defaults(&mut self) {
        for at in 0..self.graphs.len() {
            let defaults = &self.graphs[at].defaults;
            let signals = defaults.signals.iter().map(|declared| (declared.document, declared.path, declared.value.1));
            let named: Vec<_> =
                defaults.on_error.iter().map(|declared| (declared.document, declared.path, declared.value)).chain(signals).collect();
            for (document, path, target) in named {
                let root = self.root_of(document, path, u32::try_from(at).unwrap_or(0));
                self.target(root.as_here(), target, false);
            }
        }
    }

    /// Lowers each graph's `before_each` once; all gates share it.
    pub(super) fn gates(&mut self) {
        let names = self.names;
        for at in 0..self.graphs.len() {
            let graph = &self.graphs[at];
            let (Some(declared), Some(entry)) = (graph.defaults.before_each, graph.syntax.entry) else { continue };
            let candidate = names.candidate(entry);
            let mut found = Vec::new();
            let own = self.tools.own(candidate, &mut self.schemas, &mut found);
            let root = self.root_of(declared.document, declared.path, u32::try_from(at).unwrap_or(0));
            let here = Here { document: declared.document, graph: candidate.graph, path: declared.path, folder: candidate.id.folder() };
            debug_assert_eq!(root.as_here().folder, here.folder, "the entry stands at the root");
            let around = call::Around { here, candidate, own: &own };
            let mut call = self.call(&around, declared.value);
            self.gate_of_its_own(here, declared.value);
            call.writes = Self::saved(declared.value).into();
            self.graphs[at].before_each = Some(Arc::new(call));
        }
    }

    /// Reports graphs that a `before_each` calls and that it would run before themselves (language 10.8).
    fn gate_of_its_own(&mut self, here: Here<'d>, call: &'d trellis_syntax::node::CallSyntax) {
        for target in call.called() {
            let resolved = self.names.resolve(&target.name.value, target.is_jump(), here.folder, here.graph, true);
            let Ok(Resolved::Node(called)) = resolved else { continue };
            if self.names.candidate(called).graph == here.graph {
                let what =
                    format!("`before_each` calls `{}`, which stands in the same graph: it would run before itself", target.name.value);
                self.report(here, Code::WrongType, target.name.span, what).help =
                    Some("call a graph of its own: a folder with a `trellis.yaml` and a `start`".into());
            }
        }
    }
}
