//! The possible names and values at a place, for completion.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    OccurrenceKind, Symbol, SymbolIndex,
    named::{Name, Named},
};
use trellis_base::{
    diagnostic::FilePath,
    path::KeyPath,
    span::{Span, Spanned},
    value::{Key, Value},
};
use trellis_syntax::{
    document::{Content, Document},
    node::{CallSyntax, CalleeSyntax, NodeSyntax, ToolRef, ToolSyntax},
    project::ProjectSyntax,
};

impl SymbolIndex {
    /// Returns every key, tool, predicate and signal that some file names, sorted.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        self.symbols_where(|_, _| true)
    }

    /// Returns every key, tool, predicate and signal that is named elsewhere than at a cursor, sorted: what is being typed there is no name yet.
    pub fn symbols_beside(&self, path: &FilePath, offset: u32) -> BTreeSet<Symbol> {
        self.symbols_where(|file, named| file != path || !is_at(named, offset))
    }

    fn symbols_where(&self, is_wanted: impl Fn(&FilePath, &Named) -> bool) -> BTreeSet<Symbol> {
        let Some(names) = &self.names else { return BTreeSet::new() };
        let mut symbols = BTreeSet::new();
        let mut bare = Vec::new();
        for (path, named) in &self.named {
            let graph = names.graph_of(path);
            for named in named.iter().filter(|named| is_wanted(path, named)) {
                match &named.name {
                    Name::Key(key) => drop(symbols.insert(Symbol::Key(graph, key.clone()))),
                    Name::Bare(name) => bare.push((graph, name.clone())),
                    Name::Tool(name) => drop(symbols.insert(Symbol::Tool(name.clone()))),
                    Name::Predicate(name) => drop(symbols.insert(Symbol::Predicate(graph, name.clone()))),
                    Name::Signal(name) => drop(symbols.insert(Symbol::Signal(name.clone()))),
                    Name::Node | Name::Target { .. } | Name::Argument { .. } | Name::Id(_) | Name::Option(_) => {}
                }
            }
        }
        for (graph, name) in bare {
            if !symbols.contains(&Symbol::Predicate(graph, name.clone())) {
                symbols.insert(Symbol::Key(graph, name));
            }
        }
        symbols
    }

    /// Returns the keys of a graph that something elsewhere than at a cursor writes, declares or requires: those that may be read.
    pub fn given_keys(&self, graph: u32, path: &FilePath, offset: u32) -> BTreeSet<Key> {
        let mut keys = BTreeSet::new();
        for (file, named) in &self.named {
            let is_own = self.graph_of(file) == graph;
            let given = named.iter().filter(|named| named.kind != OccurrenceKind::Reads && (file != path || !is_at(named, offset)));
            for named in given {
                match &named.name {
                    Name::Key(key) if is_own => drop(keys.insert(key.clone())),
                    Name::Argument { .. } => {
                        if let Some(Symbol::Key(of, key)) = self.occurrence(file, named).map(|one| one.symbol)
                            && of == graph
                        {
                            keys.insert(key);
                        }
                    }
                    _ => {}
                }
            }
        }
        for document in self.read_documents().filter(|document| self.graph_of(&document.path) == graph) {
            let required = nodes_of(document).iter().flat_map(|node| node.required_context.iter());
            let required = required.filter(|key| document.path != *path || !is_around(key.span, offset));
            keys.extend(required.map(|key| key.value.root().clone()));
            let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
            keys.extend(project.locale.iter().map(|locale| locale.value.clone()));
            keys.extend(inputs(project));
        }
        keys
    }

    /// Returns the definition of a tool, in the first file that has one.
    pub fn tool(&self, name: &str) -> Option<&ToolSyntax> {
        self.tools().find(|tool| tool.name.as_ref().is_some_and(|own| *own.value == *name))
    }

    fn tools(&self) -> impl Iterator<Item = &ToolSyntax> {
        let refs = self.read_documents().flat_map(|document| match &document.content {
            Content::Node(node) => node.tools.iter().collect::<Vec<_>>(),
            Content::Nodes(nodes, _) => nodes.iter().flat_map(|node| &node.tools).collect(),
            Content::Library(tools) => tools.iter().collect(),
            Content::Project(_) | Content::Broken => Vec::new(),
        });
        let inline = refs.filter_map(|tool| match tool {
            ToolRef::Inline(tool) => Some(tool),
            ToolRef::Name(_) | ToolRef::Library(_) => None,
        });
        let bound = self.read_documents().flat_map(|document| match &document.content {
            Content::Project(project) | Content::Nodes(_, project) => &project.bindings[..],
            _ => &[],
        });
        inline.chain(bound.map(|binding| &binding.tool))
    }

    /// Returns the values that options save to a key of a graph, in file order, each once.
    pub fn option_values(&self, graph: u32, key: &Key) -> Vec<Value> {
        let mut values = Vec::new();
        for document in self.read_documents().filter(|document| self.graph_of(&document.path) == graph) {
            for value in option_values(document, key) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        values
    }

    /// Returns the declared schemas of a key of a graph, each with the names below the key at which it stands: those of `context`, `inputs` and
    /// `context_schema`, and those of the tools whose results are saved there.
    pub fn schemas(&self, graph: u32, key: &Key) -> Vec<(Vec<String>, &Value)> {
        let mut found = Vec::new();
        for document in self.read_documents().filter(|document| self.graph_of(&document.path) == graph) {
            if let Content::Project(project) | Content::Nodes(_, project) = &document.content {
                let inputs = project.inputs.as_ref().and_then(|inputs| inputs.value.get("properties")?.get(key));
                let declared = project.context.iter().filter(|(own, _)| own.value == *key).map(|(_, schema)| &schema.value);
                found.extend(declared.chain(inputs).map(|schema| (Vec::new(), schema)));
            }
            for node in nodes_of(document) {
                let declared = node.context_schema.iter().filter(|(own, _)| own.value == *key);
                found.extend(declared.map(|(_, schema)| (Vec::new(), &schema.value)));
                node.call.iter().for_each(|call| self.results(call, node.save_to.as_ref(), key, &mut found));
            }
        }
        found
    }

    /// Adds the schemas of the results of a call that are saved to a key.
    fn results<'s>(
        &'s self,
        call: &'s CallSyntax,
        of_node: Option<&Spanned<KeyPath>>,
        key: &Key,
        found: &mut Vec<(Vec<String>, &'s Value)>,
    ) {
        match &call.callee {
            CalleeSyntax::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.results(branch, None, key, found)),
            CalleeSyntax::Tool(name) => {
                let saved = call.save_to.as_ref().or(of_node).filter(|path| path.value.root() == key);
                let returns = call.returns.as_ref().or_else(|| self.tool(&name.value)?.returns.as_ref());
                if let Some((path, returns)) = saved.zip(returns) {
                    let below = path.value.to_string().split('.').skip(1).map(str::to_owned).collect();
                    found.push((below, &returns.value));
                }
            }
            CalleeSyntax::Graph(_) | CalleeSyntax::Each(..) => {}
        }
    }

    /// Returns the keys that a node requires of its callers, sorted.
    pub fn asked_keys(&self, node: &super::NodeEntry) -> BTreeSet<Arc<str>> {
        let syntax = self.document(&node.path).and_then(|document| document.node(node.ordinal));
        let required = syntax.into_iter().flat_map(|syntax| syntax.required_context.iter().map(|path| path.value.root().clone()));
        let typed = syntax.into_iter().flat_map(|syntax| syntax.context_schema.iter().map(|(key, _)| key.value.clone()));
        let mut keys: BTreeSet<_> = required.chain(typed).collect();
        for document in self.read_documents().filter(|document| self.graph_of(&document.path) == node.graph) {
            let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { continue };
            keys.extend(inputs(project));
        }
        keys
    }
}

/// Returns the values that options of one file save to a key, in order.
pub fn option_values(document: &Document, key: &Key) -> Vec<Value> {
    let saves = |node: &&NodeSyntax| node.save_to.as_ref().is_some_and(|path| path.value.is_key() && path.value.root() == key);
    nodes_of(document).iter().filter(saves).flat_map(NodeSyntax::options).map(|option| option.value.value.clone()).collect()
}

/// The nodes of a file.
fn nodes_of(document: &Document) -> &[NodeSyntax] {
    match &document.content {
        Content::Node(node) => std::slice::from_ref(&**node),
        Content::Nodes(nodes, _) => nodes,
        Content::Project(_) | Content::Library(_) | Content::Broken => &[],
    }
}

/// The keys that `inputs` of a project file describes.
fn inputs(project: &ProjectSyntax) -> impl Iterator<Item = Key> {
    let inputs = project.inputs.as_ref().and_then(|inputs| inputs.value.as_map()?.get("properties")?.as_map());
    inputs.into_iter().flat_map(|inputs| inputs.keys().cloned())
}

/// Returns whether a name is at an offset of its file.
fn is_at(named: &Named, offset: u32) -> bool {
    is_around(named.span, offset)
}

fn is_around(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}
