//! The compiled, immutable graph: nodes, points, edges, writes.
//!
//! `navigate`, the checks and `graph` all read [`Program::out_edges`]; nothing else knows the meaning of a key.
//!
//! **Invariant:** every reply's last edge always holds, so that the engine needs no fallback of its own.

mod begin;
mod call;
mod edges;
mod limits;
mod needs;
mod node;
mod reads;
mod writes;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

pub use self::edges::{
    Edge, Failure, Guard, Operand, Origin, OutEdge, Outcome, Part, Point, PointIndex, Provenance, Reason, Reply, Root, TakenEdge, Target,
    Truth,
};
pub use call::SchemaKey;
pub use call::{Approve, Call, Callee, Composite, ITEM, Predicate, PredicateSource, Tool};
pub use limits::{Bound, Excess, KeyExcess, Limits, ROOM};
pub use needs::Waiting;
pub use needs::{Missing, Needs};
pub use node::{Choice, Entry, Listen, Localised, Node, OnInvalid, Role, Speech, SpeechPart};
pub use reads::Reads;
use rustc_hash::FxHashMap;
pub use writes::{Write, WriteSource, WriteTarget, Writes};

use crate::state::FailurePlace;
use trellis_base::{
    diagnostic::FilePath,
    id::NodeId,
    language::Retry,
    path::KeyPath,
    schema::Schema,
    span::{LineColumn, LineIndex, Span},
    value::{Key, Value},
};
use trellis_syntax::{
    cursor::cursor_context,
    document::{Content, Document},
    project::{BindingSyntax, HostConfig},
};

/// A node's place in [`Program::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

/// The compiled graph.
#[derive(Debug)]
pub struct Program {
    /// The graphs; the outermost one is first.
    pub graphs: Vec<Graph>,
    /// The nodes, in file order.
    pub nodes: Vec<Arc<Node>>,
    /// The points; those of a node are adjacent.
    pub points: Vec<Point>,
    /// The replies, by the ranges of points.
    pub replies: Vec<Reply>,
    /// The edges, by the ranges of replies.
    pub edges: Vec<Edge>,
    /// The declared predicates of all graphs.
    pub predicates: Vec<Predicate>,
    /// The nodes by their ids.
    pub by_id: Arc<FxHashMap<NodeId, NodeIndex>>,
    /// The nodes by ids that they had (`was:`).
    pub renamed: BTreeMap<NodeId, NodeIndex>,
    /// The documents that it was compiled from.
    pub documents: Arc<[Arc<Document>]>,
    /// The bounds.
    pub limits: Limits,
    /// A short hash of everything that was compiled.
    pub fingerprint: Arc<str>,
    /// The certain needs of sessions that wait at each point.
    pub waiting: Waiting,
}

/// One graph of the program: the outermost one, or a folder with its own `trellis.yaml` (language 1.4).
#[derive(Debug)]
pub struct Graph {
    /// Its folder below the outermost root; empty for that itself.
    pub root: Arc<str>,
    /// `name:`.
    pub name: Option<Arc<str>>,
    /// Its `start`.
    pub entry: NodeIndex,
    /// The schema of the initial context.
    pub inputs: Option<Schema>,
    /// The context key that holds the locale.
    pub locale: Option<Key>,
    /// The types that `context:` declares for its keys.
    pub types: Box<[(Key, Schema)]>,
    /// Declared predicates by name, as indexes into [`Program::predicates`].
    pub predicates: BTreeMap<Arc<str>, u32>,
    /// Bound tools, with the settings that a host reads.
    pub bindings: BTreeMap<Arc<str>, BindingSyntax>,
    /// The settings of its files for a host, the project file's first; [`Program::find_setting`] looks in the graphs around as well.
    pub host: Box<[HostConfig]>,
    /// Context paths that must not be shown or stored in the clear.
    pub redact: Vec<KeyPath>,
    /// The graph's retry policy.
    pub retry: Option<Retry>,
    /// The call before each node.
    pub before_each: Option<Arc<Call>>,
    /// The reply when everything was unwound: one reply with [`Outcome::RolledBack`].
    pub rollback_reply: u32,
}

impl Program {
    /// Nodes in file order; programs of one graph share those that stayed the same.
    pub fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// The node at an index.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index.0 as usize]
    }

    /// The node of an id.
    pub fn find(&self, id: &NodeId) -> Option<NodeIndex> {
        self.by_id.get(id).copied()
    }

    /// Returns the node that replaces an id which sessions may still hold (`was:`).
    pub fn find_renamed(&self, id: &NodeId) -> Option<NodeIndex> {
        self.renamed.get(id).copied()
    }

    /// The graphs; the outermost one is first.
    pub fn graphs(&self) -> &[Graph] {
        &self.graphs
    }

    /// Returns the paths that `redact` of any graph names.
    pub fn redacted(&self) -> impl Iterator<Item = &KeyPath> {
        self.graphs.iter().flat_map(|graph| &graph.redact)
    }

    /// The graph that a node belongs to.
    pub fn graph_of(&self, node: &Node) -> &Graph {
        &self.graphs[node.graph as usize]
    }

    /// Finds the value at the end of these keys for a graph: in its own files, then outwards (language 9.1). `["servers", "wiki"]`,
    /// `["models", "roles", "planner"]`.
    pub fn find_setting<'p>(&'p self, graph: &'p Graph, keys: &[&str]) -> Option<(&'p HostConfig, &'p Value)> {
        self.outwards(graph).flat_map(|graph| &graph.host).find_map(|config| Some((config, config.at(keys)?)))
    }

    /// Returns a graph and the graphs around it, innermost first.
    pub fn outwards<'p>(&'p self, graph: &'p Graph) -> impl Iterator<Item = &'p Graph> {
        let mut root = Some(&*graph.root);
        let roots = std::iter::from_fn(move || {
            let here = root?;
            root = (!here.is_empty()).then(|| here.rsplit_once('/').map_or("", |(around, _)| around));
            Some(here)
        });
        roots.filter_map(|root| self.graphs.iter().find(|graph| *graph.root == *root))
    }

    /// The outermost graph.
    pub fn root(&self) -> &Graph {
        &self.graphs[0]
    }

    /// Returns the node where sessions begin.
    pub fn entry(&self) -> &Node {
        self.node(self.root().entry)
    }

    /// The names of all tools that a session may call, those that answer predicates and those that are bound included.
    pub fn tool_names(&self) -> BTreeSet<Arc<str>> {
        let of_nodes = self.nodes.iter().filter_map(|node| match &node.role {
            Role::Act(call) => Some(&**call),
            _ => None,
        });
        let calls = of_nodes.chain(self.graphs.iter().filter_map(|graph| graph.before_each.as_deref()));
        let called = calls.flat_map(|call| call.tools().chain(call.offered.iter())).map(|tool| Arc::clone(&tool.name));
        let bound = self.graphs.iter().flat_map(|graph| graph.bindings.keys()).map(Arc::clone);
        let answering = self.predicates.iter().filter_map(|predicate| match &predicate.source {
            PredicateSource::Binding { tool, .. } => Some(Arc::clone(tool)),
            _ => None,
        });
        called.chain(bound).chain(answering).collect()
    }

    /// Declared predicates of all graphs.
    pub fn predicates(&self) -> &[Predicate] {
        &self.predicates
    }

    /// A point.
    pub fn point(&self, index: PointIndex) -> &Point {
        &self.points[index.0 as usize]
    }

    /// Returns all points; the points of a node are adjacent, its gate first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Replies by range.
    pub fn replies(&self, range: &Range<u32>) -> &[Reply] {
        &self.replies[range.start as usize..range.end as usize]
    }

    /// Returns the reply after everything was unwound in a graph.
    pub(crate) fn rollback_reply(&self, graph: &Graph) -> &Reply {
        &self.replies[graph.rollback_reply as usize]
    }

    /// Edges by range.
    pub fn edges(&self, range: &Range<u32>) -> &[Edge] {
        &self.edges[range.start as usize..range.end as usize]
    }

    /// Returns the documents from which the program was compiled.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// Returns the file of a node.
    pub fn path_of(&self, node: &Node) -> &FilePath {
        &self.documents[node.document as usize].path
    }

    /// Returns the text of the file of a node.
    pub fn text_of(&self, node: &Node) -> &str {
        &self.documents[node.document as usize].text
    }

    /// Returns the document that holds the `before_each` of a graph; the one of its entry if there is none.
    pub fn gate_document(&self, graph: &Graph) -> u32 {
        let holds = |content: &Content| match content {
            Content::Project(project) | Content::Nodes(_, project) => project.defaults.before_each.is_some(),
            _ => false,
        };
        let entry = self.node(graph.entry).document;
        if graph.before_each.is_none() {
            return entry;
        }
        let found = self.documents.iter().position(|document| {
            let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folder == &*graph.root && holds(&document.content)
        });
        found.and_then(|at| u32::try_from(at).ok()).unwrap_or(entry)
    }

    /// Returns the place of a text that failed, with the keys above it.
    pub(crate) fn failure_place(&self, document: u32, span: Span) -> FailurePlace {
        let Document { path, text, .. } = &*self.documents[document as usize];
        let LineColumn { line, column } = LineIndex::new(text).locate(span.start);
        let cursor = cursor_context(path, text, span.start as usize);
        let key = cursor.keys().collect::<Vec<_>>().join(".");
        FailurePlace { path: Arc::clone(path), line, column, key: (!key.is_empty()).then(|| key.into()) }
    }

    /// The bounds of this program.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A short hash of everything that was compiled.
    pub fn fingerprint(&self) -> &Arc<str> {
        &self.fingerprint
    }
}
