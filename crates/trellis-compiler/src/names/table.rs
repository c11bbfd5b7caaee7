//! Claims of names: the part of the name table that lasts from one compilation to the next.

use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{RESERVED_TARGETS, join};
use crate::split::GraphSplit;
use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath},
    id::NodeId,
    index::to_u32,
    span::Span,
};
use trellis_syntax::{
    document::{Content, Document},
    node::NodeSyntax,
};

/// A node that may be compiled: its place and its name.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'d> {
    pub(crate) id: &'d NodeId,
    pub(crate) document: u32,
    /// Its place among the nodes of its file.
    pub(crate) ordinal: u32,
    pub(crate) graph: u32,
    pub(crate) path: &'d FilePath,
    /// For an unreadable file, a node without any key.
    pub(crate) syntax: Option<&'d NodeSyntax>,
    /// A Markdown file without frontmatter: a page unless some target names it.
    pub(crate) page: bool,
}

impl Candidate<'_> {
    /// Returns the span of the node's id, or of its beginning.
    pub(crate) fn place(&self) -> Span {
        let id = self.syntax.and_then(|syntax| syntax.id.as_ref());
        id.map_or_else(|| Span::at(self.syntax.map_or(0, |syntax| syntax.span.start as usize)), |id| id.span)
    }
}

/// A candidate as it is stored from one compilation to the next.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) id: NodeId,
    pub(super) document: u32,
    ordinal: u32,
    pub(super) graph: u32,
    page: bool,
}

impl Claim {
    pub(super) fn of<'d>(&'d self, documents: &'d [Arc<Document>]) -> Candidate<'d> {
        let Self { id, document, ordinal, graph, page } = self;
        let of = &documents[*document as usize];
        let syntax = of.node(*ordinal);
        Candidate { id, document: *document, ordinal: *ordinal, graph: *graph, path: &of.path, syntax, page: *page }
    }
}

/// The claims of every name, in all graphs that are compiled together.
#[derive(Debug)]
pub(crate) struct NameClaims {
    pub(super) claims: Vec<Claim>,
    pub(super) by_name: FxHashMap<NodeId, NameTarget>,
    /// The candidates that are pages unless they are named, in order.
    pub(super) pages: Vec<u32>,
    pub(super) roots: Vec<Arc<str>>,
}

/// The meanings of a name, so that one look-up finds a node as well as a module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameTarget {
    /// The candidate of this id.
    pub(super) node: Option<u32>,
    /// The `start` in the folder of this name.
    pub(super) module: Option<u32>,
}

impl NameClaims {
    /// Collects the nodes of all documents.
    pub(crate) fn collect(documents: &[Arc<Document>], split: &GraphSplit, found: &mut Vec<Diagnostic>) -> Self {
        let mut table = Self {
            claims: Vec::with_capacity(documents.len()),
            by_name: FxHashMap::with_capacity_and_hasher(documents.len() + 1, FxBuildHasher),
            pages: Vec::new(),
            roots: split.roots.clone(),
        };
        let alone = documents.len() == 1;
        for (index, document) in documents.iter().enumerate() {
            if document.is_hidden() {
                continue;
            }
            let (index, graph) = (to_u32(index), split.owner[index]);
            let own = |id| Claim { id, document: index, ordinal: 0, graph, page: false };
            match &document.content {
                Content::Node(syntax) => {
                    let is_page_like = !syntax.has_matter && document.path.ends_with(".md");
                    let may_be_page = is_page_like && !document.is_graph && !document.id.is_start();
                    let by_path = || id_of(document, alone && !may_be_page);
                    let id = syntax.id.as_ref().map_or_else(by_path, |id| id.value.clone());
                    let page = may_be_page && !id.is_start();
                    let taken = table.add(documents, Claim { page, ..own(id) }, found);
                    // A node with an `id` that it cannot have is found by its path, so that targets that name it are not reported too.
                    if !taken && syntax.id.is_some() && table.of_id(by_path().as_str()).is_none() {
                        table.add(documents, Claim { page, ..own(by_path()) }, found);
                    }
                }
                Content::Nodes(nodes, _) => {
                    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    for (ordinal, syntax) in (0..).zip(nodes) {
                        let Some(id) = &syntax.id else { continue };
                        table.add(documents, Claim { ordinal, ..own(NodeId::new(join(folder, id.value.as_str()))) }, found);
                    }
                }
                Content::Broken if !is_project(&document.path) => {
                    let taken = document.named.as_ref().is_some_and(|id| table.add(documents, own(id.clone()), found));
                    let by_path = id_of(document, alone);
                    if !taken && (document.named.is_none() || table.of_id(by_path.as_str()).is_none()) {
                        table.add(documents, own(by_path), found);
                    }
                }
                Content::Library(_) | Content::Project(_) | Content::Broken => {}
            }
        }
        table
    }

    /// Adds a node; returns whether it got its name.
    fn add(&mut self, documents: &[Arc<Document>], claim: Claim, found: &mut Vec<Diagnostic>) -> bool {
        let index = to_u32(self.claims.len());
        let candidate = claim.of(documents);
        if let Some(first) = self.of_id(claim.id.as_str()) {
            found.push(duplicate(&candidate, &self.claims[first as usize].of(documents)));
            return false;
        }
        let last = claim.id.name();
        if RESERVED_TARGETS.contains(&last) {
            let message = format!("`{last}` is a reserved target and cannot name a node");
            let help = format!("rename the file, or give it another `id`; `to: {last}` has a meaning of its own");
            found.push(Diagnostic::new(Code::ReservedName, candidate.path, candidate.place(), message).help(help));
            if candidate.syntax.is_some_and(|syntax| syntax.id.is_some()) {
                return false;
            }
        }
        if last == "start" {
            self.by_name.entry(NodeId::from(claim.id.folder())).or_default().module = Some(index);
        }
        self.by_name.entry(claim.id.clone()).or_default().node = Some(index);
        if claim.page {
            self.pages.push(index);
        }
        self.claims.push(claim);
        true
    }

    /// The id of each candidate, and its document.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (&NodeId, u32)> {
        self.claims.iter().map(|claim| (&claim.id, claim.document))
    }

    /// The candidate of an id.
    pub(crate) fn of_id(&self, id: &str) -> Option<u32> {
        self.by_name.get(id)?.node
    }
}

fn duplicate(second: &Candidate<'_>, first: &Candidate<'_>) -> Diagnostic {
    let message = format!("there are two nodes `{}`", second.id);
    Diagnostic::new(Code::DuplicateNode, second.path, second.place(), message)
        .label(first.path, first.place(), "the first one is here")
        .help("rename one of the files, or give one another `id`")
}

/// Returns whether a path is that of a project file, which holds no node.
pub(crate) fn is_project(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("trellis.yaml" | "tools.yaml"))
}

/// The id that a path gives; a file that is a graph alone is its `start` (language 1.1).
fn id_of(document: &Document, alone: bool) -> NodeId {
    if alone { NodeId::new("start") } else { document.id.clone() }
}
