//! Files and folders that move: what leads to them, and from them to others, is written anew where it would not lead there any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    FileRename, GraphChange, NodeEntry, RenameRefusal, SymbolIndex,
    links::{leads, library},
    named::{Name, Named},
    rename::{edit, is_node_name, missing, refused, was},
    spelling::{below, in_manner, relative},
};
use trellis_base::{diagnostic::FilePath, id::NodeId, span::Span};
use trellis_syntax::{
    document::{Content, Document},
    is_hidden,
    node::{NodeSyntax, ToolRef},
};

impl SymbolIndex {
    /// Renames a folder, a module or a graph of its own, within the folder that it lies in: everything in it moves along, and every node whose
    /// id changes gets its old one as `was:`.
    ///
    /// # Errors
    /// There is no such folder, it is one without nodes such as `_tests`, the name is taken or none that a folder can have, or some place cannot
    /// be rewritten exactly.
    pub fn rename_folder(&self, folder: &str, new: &str) -> Result<GraphChange, RenameRefusal> {
        let folder = folder.trim_matches('/');
        if is_hidden(folder) {
            return refused(format!("`{folder}` holds no nodes: its files would become nodes"));
        }
        if !is_node_name(new) {
            return refused(format!("`{new}` is no name of a folder: letters, digits, `_` and `-`, and no number or word of YAML"));
        }
        // What leads to a module `start` would lead to the node of that name beside it.
        if NodeId::RESERVED.contains(&new) || new == "start" {
            return refused(format!("`{new}` has a meaning of its own"));
        }
        let to = folder.rsplit_once('/').map_or_else(|| new.to_owned(), |(above, _)| format!("{above}/{new}"));
        let is_below = |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        if let Some(document) = self.documents.iter().find(|document| is_below(&document.path, &to)) {
            return refused(format!("there is a folder `{to}` already, with `{}`", document.path));
        }
        let inside = self.documents.iter().filter(|document| is_below(&document.path, folder));
        let moves: Vec<FileRename> = inside
            .map(|document| FileRename { from: document.path.clone(), to: format!("{to}{}", &document.path[folder.len()..]).into() })
            .collect();
        if folder.is_empty() || moves.is_empty() {
            let folders = self.documents.iter().flat_map(|document| folders_of(&document.path));
            return refused(missing("folder", folder, folders));
        }
        Ok(GraphChange { folder: Some((folder.to_owned(), to)), ..self.move_files(&moves)? })
    }

    /// Moves files of the graph to other paths in it.
    ///
    /// # Errors
    /// A file is none of the graph or would be none afterwards, a path is taken, or some place cannot be rewritten exactly.
    pub fn move_files(&self, moves: &[FileRename]) -> Result<GraphChange, RenameRefusal> {
        let to: BTreeMap<&FilePath, &FilePath> = moves.iter().map(|file| (&file.from, &file.to)).collect();
        let mut paths = BTreeSet::new();
        for file in moves {
            let is_there = self.document(&file.to).is_some() && !to.contains_key(&file.to);
            if is_there || !paths.insert(&file.to) {
                return refused(format!("there is a file `{}` already", file.to));
            }
            let Some(document) = self.document(&file.from) else { return refused(format!("there is no file `{}`", file.from)) };
            if is_hidden(&file.to) && !is_hidden(&file.from) {
                return refused(format!("`{}` would be no node", file.to));
            }
            if matches!(document.content, Content::Project(_)) && name_of(&file.from) != name_of(&file.to) {
                return refused(format!("`{}` is a project file: it keeps its name", file.from));
            }
        }
        let moved = |path: &FilePath| to.get(path).map_or_else(|| path.clone(), |to| FilePath::clone(to));
        let mut documents: Vec<Arc<Document>> = self
            .documents
            .iter()
            .map(|document| to.get(&document.path).map_or_else(|| document.clone(), |to| Arc::new(document.at_path(FilePath::clone(to)))))
            .collect();
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        let mut after = Self::default();
        after.update(&documents);
        let mut change = GraphChange { files: moves.to_vec(), ..GraphChange::default() };
        for document in &self.documents {
            let file = MovedFile { before: self, after: &after, document, to: moved(&document.path), moved: &moved };
            file.ids(&mut change)?;
            file.targets(&mut change)?;
            file.paths(&mut change);
        }
        self.compared_ids(&mut change)?;
        change.edits.sort();
        change.edits.dedup();
        Ok(change)
    }

    /// Rewrites the ids that `sys.node` is compared with.
    fn compared_ids(&self, change: &mut GraphChange) -> Result<(), RenameRefusal> {
        let new: BTreeMap<&str, &NodeId> = change.nodes.iter().map(|(old, new)| (old.as_str(), new)).collect();
        let mut edits = Vec::new();
        for (path, named) in &self.named {
            for named in named {
                let Name::Id(id) = &named.name else { continue };
                let Some(new) = new.get(&**id) else { continue };
                if !named.is_exact {
                    return refused(format!("`{path}` compares with `{id}` in a text with escapes, which cannot be rewritten exactly"));
                }
                edits.push(edit(path, named.span, new.as_str()));
            }
        }
        change.edits.extend(edits);
        Ok(())
    }
}

/// A file of the graph, which moves itself or names what moves.
struct MovedFile<'i, F> {
    before: &'i SymbolIndex,
    after: &'i SymbolIndex,
    document: &'i Document,
    to: FilePath,
    moved: &'i F,
}

impl<F: Fn(&FilePath) -> FilePath> MovedFile<'_, F> {
    /// Notes the nodes that get another id, and keeps the old one.
    fn ids(&self, change: &mut GraphChange) -> Result<(), RenameRefusal> {
        if self.to == self.document.path {
            return Ok(());
        }
        for (old, new) in self.before.nodes_of(&self.document.path).iter().zip(self.after.nodes_of(&self.to)) {
            if old.id == new.id {
                continue;
            }
            self.before.is_free_of_sessions(&new.id, old)?;
            let kept = was(self.document, old.ordinal, &old.id, &new.id);
            change.edits.extend(kept.clone());
            change.was.extend(kept);
            change.nodes.push((old.id.clone(), new.id));
        }
        Ok(())
    }

    /// Rewrites the targets of the file that would not lead where they do.
    fn targets(&self, change: &mut GraphChange) -> Result<(), RenameRefusal> {
        for named in self.before.named.get(&self.document.path).into_iter().flatten() {
            let Name::Target { name, is_jump, is_call } = &named.name else { continue };
            let (folder, graph) = scope(self.before, &self.document.path, named);
            let Some(node) = self.before.resolve(name, *is_jump, &folder, graph, *is_call) else { continue };
            let Some(wanted) = self.counterpart(&node) else { continue };
            let (folder, graph) = scope(self.after, &self.to, named);
            let leads =
                |name: &str| self.after.resolve(name, *is_jump, &folder, graph, *is_call).is_some_and(|found| found.id == wanted.id);
            if leads(name) {
                continue;
            }
            let Some(new) = self.spelled(name, &node.id, &wanted, &folder, graph, *is_call).into_iter().find(|name| leads(name)) else {
                return refused(format!("no target in `{}` would lead to `{}`", self.to, wanted.id));
            };
            let written = self.document.text.get(named.span.range()).and_then(|text| text.find(&**name));
            let Some(at) = written else {
                return refused(format!("`{name}` in `{}` stands in a text with escapes, which cannot be rewritten", self.document.path));
            };
            let start = named.span.start as usize + at;
            change.edits.push(edit(&self.document.path, Span::new(start, start + name.len()), &new));
        }
        Ok(())
    }

    /// The node afterwards that is one before.
    fn counterpart(&self, node: &NodeEntry) -> Option<NodeEntry> {
        self.after.nodes_of(&(self.moved)(&node.path)).into_iter().find(|after| after.ordinal == node.ordinal)
    }

    /// The possible spellings of a target, those like the old one first.
    fn spelled(&self, old: &str, before: &NodeId, node: &NodeEntry, folder: &str, graph: u32, is_call: bool) -> Vec<String> {
        let root = self.after.names.as_ref().map_or("", |names| names.root(graph));
        let id = node.id.as_str();
        let module = id.strip_suffix("/start").filter(|_| name_of(old) != "start");
        let spelled = |folder: &str, lead: &str| {
            let names = module.into_iter().chain([id]).filter_map(|name| below(name, folder));
            names.map(|name| format!("{lead}{name}")).collect::<Vec<_>>()
        };
        let mut names = match old {
            old if old.starts_with("./") => spelled(folder, "./"),
            old if old.starts_with('/') => spelled(root, "/"),
            old => in_manner(old, before, &node.id),
        };
        names.extend(self.after.shortest(node, folder, graph, is_call));
        names.extend(spelled(root, ""));
        names.extend(spelled(root, "/"));
        names
    }

    /// Rewrites links of bodies and references to libraries that would not lead where they do.
    fn paths(&self, change: &mut GraphChange) {
        let nodes: Vec<&NodeSyntax> = match &self.document.content {
            Content::Node(node) => vec![node],
            Content::Nodes(nodes, _) => nodes.iter().collect(),
            Content::Library(_) | Content::Project(_) | Content::Broken => Vec::new(),
        };
        let (from, to) = (folder_of(&self.document.path), folder_of(&self.to));
        let root =
            |index: &SymbolIndex, path: &FilePath| index.names.as_ref().map_or("", |names| names.root(names.graph_of(path))).to_owned();
        let (root_before, root_after) = (root(self.before, &self.document.path), root(self.after, &self.to));
        let mut rewrite = |span: Span, old: &str, new: Option<String>| {
            let at = self.document.text.get(span.range()).and_then(|text| text.find(old));
            if let (Some(at), Some(new)) = (at, new) {
                let start = span.start as usize + at;
                change.edits.push(edit(&self.document.path, Span::new(start, start + old.len()), &new));
            }
        };
        for node in nodes {
            for link in node.links.iter() {
                let Some(file) = leads(from, &link.value) else { continue };
                let now = (self.moved)(&FilePath::from(file));
                if leads(to, &link.value).as_deref() != Some(&*now) {
                    rewrite(link.span, &link.value, Some(relative(&link.value, to, &now)));
                }
            }
            for tool in node.tools.iter() {
                let ToolRef::Library(name) = tool else { continue };
                let Some(file) = library(&root_before, from, &name.value) else { continue };
                let now = (self.moved)(&FilePath::from(file));
                if library(&root_after, to, &name.value).as_deref() == Some(&*now) {
                    continue;
                }
                let beside = below(&now, to).filter(|_| name.value.starts_with("./")).map(|name| format!("./{name}"));
                rewrite(name.span, &name.value, beside.or_else(|| below(&now, &root_after)));
            }
        }
    }
}

/// The folder in which a name of a file is looked up, and the number of its graph.
fn scope(index: &SymbolIndex, path: &FilePath, named: &Named) -> (String, u32) {
    let graph = index.graph_of(path);
    let root = index.names.as_ref().map_or("", |names| names.root(graph));
    let node = index.nodes_of(path).into_iter().find(|node| node.ordinal == named.ordinal);
    (node.map_or_else(|| root.to_owned(), |node| node.id.folder().to_owned()), graph)
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the folders that a file is in, the innermost first.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/')).map(|(folder, _)| folder)
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
