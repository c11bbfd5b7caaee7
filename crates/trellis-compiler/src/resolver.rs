//! Names of nodes, resolved without compiling: for tools that look at a graph while it is written.

use std::sync::Arc;

use super::{
    layout::FileLayout,
    names::{Candidate, NameTable},
};
use trellis_base::{diagnostic::FilePath, id::NodeId, index::to_u32, span::Span};
use trellis_syntax::document::Document;

/// The names of a graph's nodes, at one state of its files.
#[derive(Debug)]
pub struct NodeNames {
    documents: Arc<[Arc<Document>]>,
    layout: FileLayout,
}

/// A node that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedNode {
    /// The id.
    pub id: NodeId,
    /// The file.
    pub path: FilePath,
    /// Its place among the nodes of its file.
    pub ordinal: u32,
    /// The number of its graph (language 1.4).
    pub graph: u32,
    /// Its `id:` or its key under `nodes:`, else its beginning.
    pub place: Span,
    /// True if the file alone determines its id.
    pub is_by_path: bool,
}

impl NamedNode {
    fn of(candidate: Candidate<'_>) -> Self {
        Self {
            id: candidate.id.clone(),
            path: candidate.path.clone(),
            ordinal: candidate.ordinal,
            graph: candidate.graph,
            place: candidate.place(),
            is_by_path: candidate.syntax.is_none_or(|syntax| syntax.id.is_none()),
        }
    }
}

impl NodeNames {
    /// Takes documents that are sorted by path.
    pub fn new(documents: &[Arc<Document>]) -> Self {
        Self { documents: documents.into(), layout: FileLayout::new(documents) }
    }

    /// Takes the documents after edits that changed no name.
    pub fn renew(&mut self, documents: &[Arc<Document>]) {
        self.documents = documents.into();
    }

    fn with<T>(&self, ask: impl FnOnce(&NameTable<'_>) -> T) -> T {
        ask(&NameTable::new(&self.documents, &self.layout.table))
    }

    /// Returns the graph of a file; the outermost one for a file that is none of them.
    pub fn graph_of(&self, path: &str) -> u32 {
        let at = self.documents.binary_search_by(|document| (*document.path).cmp(path));
        at.map_or(0, |at| self.layout.split.owner[at])
    }

    /// Returns the folder of a graph.
    pub fn root(&self, graph: u32) -> &str {
        self.layout.split.roots.get(graph as usize).map_or("", |root| root)
    }

    /// Returns the node that a target in a folder of a graph leads to; `call` for one that begins a child.
    pub fn resolve(&self, name: &str, jump: bool, folder: &str, graph: u32, call: bool) -> Option<NamedNode> {
        if !call && NodeId::RESERVED.contains(&name) {
            return None;
        }
        // A name without a target is common here, and suggestions are not needed.
        self.with(|names| {
            let candidate = names.candidate(names.find(name, jump, folder, graph)?);
            (call || candidate.graph == graph).then(|| NamedNode::of(candidate))
        })
    }

    /// Returns every node, in file order. Pages are among them.
    pub fn nodes(&self) -> Vec<NamedNode> {
        self.with(|names| names.candidates().map(NamedNode::of).collect())
    }

    /// Returns the node of an id.
    pub fn of_id(&self, id: &NodeId) -> Option<NamedNode> {
        self.with(|names| names.of_id(id.as_str()).map(|at| NamedNode::of(names.candidate(at))))
    }

    /// Returns the nodes of a file, in order.
    pub fn of_file(&self, path: &str) -> Vec<NamedNode> {
        let Ok(at) = self.documents.binary_search_by(|document| (*document.path).cmp(path)) else { return Vec::new() };
        let at = to_u32(at);
        self.with(|names| names.of_document(at).map(|candidate| NamedNode::of(names.candidate(candidate))).collect())
    }
}
