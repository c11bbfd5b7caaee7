//! Questions about a graph while it is written: the name at a place, every occurrence of a name, and the possible names at a place.
//!
//! ```text
//! documents ──collect──▶ occurrences by file ──┐
//!           ──NodeNames──▶ what targets mean ──┴─▶ SymbolIndex: at a place, of a symbol
//! ```
//!
//! It knows texts and names. Edges, types and findings are those of the last link, which the caller has.
//!
//! **Invariant:** an edit costs the edited file; names are looked up again only if an edit may have changed which node has which id.

mod collect;
mod half_typed;
mod links;
mod moves;
mod named;
mod offers;
mod rename;
mod rename_declared;
mod rename_option;
mod rename_tool;
mod same;
mod spelling;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use self::named::Name;
pub use self::{
    half_typed::TARGETS,
    links::FileLink,
    offers::option_values,
    rename::{FileRename, GraphChange, OptionRename, RenameRefusal},
    same::difference,
};
use trellis_base::{diagnostic::FilePath, id::NodeId, span::Span, value::Key};
use trellis_compiler::{NamedNode, NodeNames, is_same_node_place};
use trellis_syntax::{
    document::{Content, Document},
    node::NodeSyntax,
};

/// Something that has a name in a graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// A node.
    Node(NodeId),
    /// A context key of one graph, by the number of the graph (language 1.4).
    Key(u32, Key),
    /// A tool.
    Tool(Arc<str>),
    /// A predicate of one graph.
    Predicate(u32, Arc<str>),
    /// A signal.
    Signal(Arc<str>),
    /// The value of an option of a node.
    Option(NodeId, Arc<str>),
}

/// The part that an occurrence plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OccurrenceKind {
    /// It gives the symbol its name.
    Defines,
    /// It writes a key.
    Writes,
    /// It reads a key.
    Reads,
    /// It names the symbol.
    Refers,
}

/// A place where a symbol is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The symbol.
    pub symbol: Symbol,
    /// The file.
    pub path: FilePath,
    /// The place of the name: of a path its first name, of a target all of it.
    pub span: Span,
    /// The whole path or target, for display.
    pub whole: Span,
    /// Its part.
    pub kind: OccurrenceKind,
    /// False inside a scalar that escapes rewrote: then the span is that of the scalar.
    pub is_exact: bool,
}

/// A node by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    /// Its id.
    pub id: NodeId,
    /// Its file.
    pub path: FilePath,
    /// Its `id:` or its key under `nodes:`, else the beginning of its file.
    pub place: Span,
    /// Its place among the nodes of its file.
    pub ordinal: u32,
    /// The number of its graph.
    pub graph: u32,
}

/// An index of the names in a graph.
#[derive(Debug, Default)]
pub struct SymbolIndex {
    documents: Vec<Arc<Document>>,
    named: BTreeMap<FilePath, Vec<named::Named>>,
    /// The predicates that project files declare, with their graphs.
    predicates: BTreeSet<(u32, Key)>,
    names: Option<NodeNames>,
}

impl SymbolIndex {
    /// Takes the present documents, sorted by path. Only changed ones are examined.
    pub fn update(&mut self, documents: &[Arc<Document>]) {
        let before = std::mem::replace(&mut self.documents, documents.to_vec());
        let find = |path: &FilePath| before.binary_search_by(|document| document.path.cmp(path)).ok().map(|at| &before[at]);
        let mut has_same_names = before.len() == documents.len();
        for (at, document) in documents.iter().enumerate() {
            // Most updates change the text of one file.
            let old = before.get(at).filter(|old| old.path == document.path).or_else(|| find(&document.path));
            if old.is_some_and(|old| Arc::ptr_eq(old, document)) {
                continue;
            }
            has_same_names &= old.is_some_and(|old| is_same_node_place(old, document));
            self.named.insert(document.path.clone(), collect::collect(document));
        }
        if before.len() != documents.len() || !has_same_names {
            self.named.retain(|path, _| documents.binary_search_by(|document| document.path.cmp(path)).is_ok());
        }
        match &mut self.names {
            Some(names) if has_same_names => names.renew(documents),
            names => *names = Some(NodeNames::new(documents)),
        }
        let declared = documents.iter().filter_map(|document| match &document.content {
            Content::Project(project) | Content::Nodes(_, project) => Some((self.graph_of(&document.path), &project.predicates)),
            _ => None,
        });
        let names = declared.flat_map(|(graph, all)| all.iter().map(move |predicate| (graph, predicate.name.value.clone())));
        self.predicates = names.collect();
    }

    /// The files that the graphs are made of, in order: those that begin with `_`, or lie in such a folder, name nothing unless they are libraries.
    fn read_documents(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.documents.iter().filter(|document| !document.is_hidden() || matches!(document.content, Content::Library(_)))
    }

    fn document(&self, path: &str) -> Option<&Arc<Document>> {
        self.documents.binary_search_by(|document| (*document.path).cmp(path)).ok().map(|at| &self.documents[at])
    }

    /// Returns the name at an offset of a file; of several, the shortest.
    pub fn at(&self, path: &FilePath, offset: u32) -> Option<Occurrence> {
        let named = self.named.get(path)?;
        let here = named.iter().filter(|named| named.span.start <= offset && offset <= named.span.end);
        here.filter_map(|named| Some((named.span.range().len(), self.occurrence(path, named)?)))
            .min_by_key(|(length, occurrence)| (*length, occurrence.kind))
            .map(|(_, occurrence)| occurrence)
    }

    /// Returns every occurrence in a file, in order of place.
    pub fn of_file(&self, path: &FilePath) -> Vec<Occurrence> {
        let mut all: Vec<_> = self.named.get(path).into_iter().flatten().filter_map(|named| self.occurrence(path, named)).collect();
        all.sort_by_key(|occurrence| (occurrence.span, occurrence.kind));
        all
    }

    /// Returns every occurrence of a symbol, in order of file and place.
    pub fn occurrences(&self, symbol: &Symbol) -> Vec<Occurrence> {
        let mut all = Vec::new();
        for (path, named) in &self.named {
            let may_be = named.iter().filter(|named| named.name.may_name(symbol));
            all.extend(may_be.filter_map(|named| self.occurrence(path, named)).filter(|occurrence| occurrence.symbol == *symbol));
        }
        if let Symbol::Option(node, value) = symbol {
            all.extend(self.compared_option(node, value));
        }
        all.sort_by(|a, b| (&a.path, a.span, a.kind).cmp(&(&b.path, b.span, b.kind)));
        all.dedup();
        all
    }

    /// Returns every node, in file order. Markdown files without frontmatter are among them.
    pub fn nodes(&self) -> Vec<NodeEntry> {
        self.names.iter().flat_map(NodeNames::nodes).map(NodeEntry::from).collect()
    }

    /// Returns the node of an id.
    pub fn node(&self, id: &NodeId) -> Option<NodeEntry> {
        self.names.as_ref()?.of_id(id).map(NodeEntry::from)
    }

    /// Returns the nodes of a file, in order.
    pub fn nodes_of(&self, path: &FilePath) -> Vec<NodeEntry> {
        self.names.iter().flat_map(|names| names.of_file(path)).map(NodeEntry::from).collect()
    }

    /// Returns the node around an offset of a file: its only node, or the one under `nodes:` that the offset is in.
    pub fn node_around(&self, path: &FilePath, offset: u32) -> Option<NodeEntry> {
        let document = self.document(path)?;
        let nodes = self.nodes_of(path);
        // Below `nodes:` the id is the key before the mapping.
        let begins = |node: &&NodeEntry| {
            let starts = |syntax: &NodeSyntax| syntax.id.as_ref().map_or(syntax.span.start, |id| id.span.start.min(syntax.span.start));
            document.node(node.ordinal).is_none_or(|syntax| starts(syntax) <= offset)
        };
        let is_alone = nodes.len() == 1;
        nodes.iter().rev().find(|node| is_alone || begins(node)).cloned()
    }

    /// Returns the number of the graph of a file.
    pub fn graph_of(&self, path: &FilePath) -> u32 {
        self.names.as_ref().map_or(0, |names| names.graph_of(path))
    }

    /// Returns the folder of the graph of a file; empty for the outermost one.
    pub fn root_of(&self, path: &FilePath) -> &str {
        self.names.as_ref().map_or("", |names| names.root(names.graph_of(path)))
    }

    /// Returns the folder of a graph by its number; empty for the outermost one.
    pub fn root(&self, graph: u32) -> &str {
        self.names.as_ref().map_or("", |names| names.root(graph))
    }

    /// Returns the node that a target leads to from a folder of a graph.
    pub fn resolve(&self, name: &str, is_jump: bool, folder: &str, graph: u32, is_call: bool) -> Option<NodeEntry> {
        self.names.as_ref()?.resolve(name, is_jump, folder, graph, is_call).map(NodeEntry::from)
    }

    /// Returns the shortest name that leads to a node from a folder of a graph; `None` if none does.
    pub fn shortest(&self, node: &NodeEntry, folder: &str, graph: u32, is_call: bool) -> Option<String> {
        let names = self.names.as_ref()?;
        let leads = |name: &str| names.resolve(name, false, folder, graph, is_call).is_some_and(|found| found.id == node.id);
        let id = node.id.as_str();
        let module = id.strip_suffix("/start");
        let root = names.root(graph);
        let mut here = folder;
        loop {
            for spelled in [module, Some(id)].into_iter().flatten() {
                let below =
                    if here.is_empty() { Some(spelled) } else { spelled.strip_prefix(here).and_then(|rest| rest.strip_prefix('/')) };
                if let Some(name) = below.filter(|name| leads(name)) {
                    return Some(name.to_owned());
                }
            }
            if here.len() <= root.len() {
                break;
            }
            here = here.rsplit_once('/').map_or("", |(above, _)| above);
        }
        let below = if root.is_empty() { Some(id) } else { id.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) };
        below.map(|name| format!("/{name}")).filter(|name| leads(name))
    }

    /// Returns the current meaning of a name in a file.
    fn occurrence(&self, path: &FilePath, named: &named::Named) -> Option<Occurrence> {
        let names = self.names.as_ref()?;
        let graph = names.graph_of(path);
        let folder = || {
            let nodes = names.of_file(path);
            nodes
                .iter()
                .find(|node| node.ordinal == named.ordinal)
                .map_or_else(|| names.root(graph).to_owned(), |node| node.id.folder().to_owned())
        };
        let node_of = |ordinal| names.of_file(path).into_iter().find(|node| node.ordinal == ordinal);
        let symbol = match &named.name {
            Name::Node => Symbol::Node(node_of(named.ordinal)?.id),
            Name::Target { name, is_jump, is_call } => Symbol::Node(names.resolve(name, *is_jump, &folder(), graph, *is_call)?.id),
            Name::Key(key) => Symbol::Key(graph, key.clone()),
            Name::Argument { key, target, is_jump } => {
                Symbol::Key(names.resolve(target, *is_jump, &folder(), graph, true)?.graph, key.clone())
            }
            Name::Bare(name) if self.is_predicate(graph, name) => Symbol::Predicate(graph, name.clone()),
            Name::Bare(name) => Symbol::Key(graph, name.clone()),
            Name::Tool(name) => Symbol::Tool(name.clone()),
            Name::Predicate(name) => Symbol::Predicate(graph, name.clone()),
            Name::Signal(name) => Symbol::Signal(name.clone()),
            Name::Id(id) => Symbol::Node(names.of_id(&NodeId::new(id.clone()))?.id),
            Name::Option(value) => Symbol::Option(node_of(named.ordinal)?.id, value.clone()),
        };
        let text = &self.document(path)?.text;
        let (whole, kind, is_exact) = (named.span, named.kind, named.is_exact);
        let span = match &symbol {
            Symbol::Key(_, key) if is_exact => first_name(text, whole, key),
            _ => Some(whole),
        };
        Some(Occurrence { symbol, path: path.clone(), span: span.unwrap_or(whole), whole, kind, is_exact: is_exact && span.is_some() })
    }

    fn is_predicate(&self, graph: u32, name: &Key) -> bool {
        self.predicates.contains(&(graph, name.clone()))
    }
}

/// Returns a node of a file, by its place among them, as it is written.
pub fn node_of(document: &Document, ordinal: u32) -> Option<&NodeSyntax> {
    document.node(ordinal)
}

/// Returns the content of a node of a file, as it is written: its body, or its `content`; empty if it has none.
pub fn body_of(document: &Document, ordinal: u32) -> &str {
    let content = document.node(ordinal).and_then(|node| node.content.as_ref());
    content.and_then(|content| document.text.get(content.span.range())).unwrap_or_default()
}

/// Returns the place of the first name of a path; `None` if the text there is not that name.
fn first_name(text: &str, whole: Span, key: &str) -> Option<Span> {
    let written = text.get(whole.range())?;
    let before = written.find(key)?;
    let is_leading = written[..before].chars().all(|char| matches!(char, '.' | '"' | '\''));
    let start = whole.start as usize + before;
    is_leading.then(|| Span::new(start, start + key.len()))
}

impl From<NamedNode> for NodeEntry {
    fn from(node: NamedNode) -> Self {
        Self { id: node.id, path: node.path, place: node.place, ordinal: node.ordinal, graph: node.graph }
    }
}

#[cfg(test)]
mod tests;
