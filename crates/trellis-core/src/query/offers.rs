//! The possible names and values at a place, for completion.

use std::{collections::BTreeSet, sync::Arc};

use super::{Symbol, SymbolIndex, named::Name};
use crate::{
    path::KeyPath,
    span::Spanned,
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax, ToolRef, ToolSyntax},
    },
    value::{Key, Value},
};

impl SymbolIndex {
    /// Returns every key, tool, predicate and signal that some file names, sorted.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        let Some(names) = &self.names else { return BTreeSet::new() };
        let mut symbols = BTreeSet::new();
        let mut bare = Vec::new();
        for (path, named) in &self.named {
            let graph = names.graph_of(path);
            for named in named {
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
        let saves = |node: &NodeSyntax| node.save_to.as_ref().is_some_and(|path| path.value.is_key() && path.value.root() == key);
        for document in self.read_documents() {
            let nodes = (0..)
                .map_while(|ordinal| document.node(ordinal).filter(|_| ordinal == 0 || matches!(document.content, Content::Nodes(..))));
            if self.names.as_ref().is_none_or(|names| names.graph_of(&document.path) != graph) {
                continue;
            }
            for option in nodes.filter(|node| saves(node)).flat_map(NodeSyntax::options) {
                if !values.contains(&option.value.value) {
                    values.push(option.value.value.clone());
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
            let nodes = match &document.content {
                Content::Node(node) => std::slice::from_ref(&**node),
                Content::Nodes(nodes, _) => &nodes[..],
                Content::Project(_) | Content::Library(_) | Content::Broken => &[],
            };
            for node in nodes {
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
            let inputs = project.inputs.as_ref().and_then(|inputs| inputs.value.as_map()?.get("properties")?.as_map());
            keys.extend(inputs.into_iter().flat_map(|inputs| inputs.keys().cloned()));
        }
        keys
    }
}
