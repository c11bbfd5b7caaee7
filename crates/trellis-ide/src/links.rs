//! The files that a file leads to: nodes, libraries, pages and scripts.

use super::{OccurrenceKind, Symbol, SymbolIndex};
use trellis_base::{diagnostic::FilePath, span::Span, value::Value};
use trellis_syntax::{
    document::{Content, Document},
    node::{NodeSyntax, ToolRef},
    project::ProjectSyntax,
};

/// A place that names a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileLink {
    /// The place of the name.
    pub span: Span,
    /// The file, below the root of the outermost graph; whether it is there is not known.
    pub to: FilePath,
}

impl SymbolIndex {
    /// Returns the places of a file that name another one, in order: targets, libraries, links of bodies, and the scripts and calculations of
    /// bindings.
    pub fn links(&self, path: &FilePath) -> Vec<FileLink> {
        let refers = self.of_file(path).into_iter().filter(|one| one.kind == OccurrenceKind::Refers);
        let targets = refers.filter_map(|one| match &one.symbol {
            Symbol::Node(id) => Some(FileLink { span: one.span, to: self.node(id)?.path }),
            _ => None,
        });
        let mut links: Vec<FileLink> = targets.filter(|link| link.to != *path).collect();
        if let Some(document) = self.document(path) {
            let root = self.names.as_ref().map_or("", |names| names.root(names.graph_of(path)));
            self.named_files(document, root, &mut links);
        }
        links.sort();
        links.dedup();
        links
    }

    fn named_files(&self, document: &Document, root: &str, links: &mut Vec<FileLink>) {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut add = |span: Span, to: Option<String>| links.extend(to.map(|to| FileLink { span, to: to.into() }));
        let mut of_node = |node: &NodeSyntax| {
            node.links.iter().for_each(|link| add(link.span, leads(folder, &link.value)));
            node.tools.iter().for_each(|tool| {
                if let ToolRef::Library(name) = tool {
                    add(name.span, library(root, folder, &name.value));
                }
            });
        };
        match &document.content {
            Content::Node(node) => of_node(node),
            Content::Nodes(nodes, project) => {
                nodes.iter().for_each(&mut of_node);
                scripts(project, folder, &mut add);
            }
            Content::Project(project) => scripts(project, folder, &mut add),
            Content::Library(_) | Content::Broken => {}
        }
    }
}

/// The file that a reference to a library names (language 1.7).
pub(super) fn library(root: &str, folder: &str, name: &str) -> Option<String> {
    match name.strip_prefix("./") {
        Some(beside) => leads(folder, beside),
        None => leads(root, name),
    }
}

/// Adds the programs and calculations of bindings that lie in the folder of the project.
fn scripts(project: &ProjectSyntax, folder: &str, add: &mut impl FnMut(Span, Option<String>)) {
    for config in project.bindings.iter().map(|binding| &binding.config) {
        for (place, span) in &config.spans {
            let keys: Vec<&str> = place.split('.').collect();
            let written = match keys[..] {
                ["process", first] => config.get("process").and_then(|value| match value {
                    Value::List(words) => words.get(first.parse::<usize>().ok()?).and_then(Value::as_str),
                    value => value.as_str(),
                }),
                ["process" | "compute"] => config.get(keys[0]).and_then(Value::as_str),
                _ => None,
            };
            let below = written.filter(|name| name.contains(['/', '.']) && !name.starts_with('/') && !name.contains(char::is_whitespace));
            add(*span, below.and_then(|name| leads(folder, name)));
        }
    }
}

/// Returns the path that a relative path leads to from a folder; `None` where it leaves the root.
pub(super) fn leads(folder: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
