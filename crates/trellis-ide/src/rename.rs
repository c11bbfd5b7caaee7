//! Renames of nodes and keys, as edits of the graph's files.
//!
//! A rename is found by names alone. Whether the graph stays the same but for the name is proved afterwards, by compiling it before and after:
//! [`difference`](super::difference) names the first thing that would not be.

use std::sync::Arc;

use super::{Occurrence, OccurrenceKind, Symbol, SymbolIndex, links::leads};
use trellis_base::{
    diagnostic::{FilePath, Place, TextEdit, did_you_mean},
    id::NodeId,
    path::is_name,
    span::Span,
    value::{Key, Value},
};
use trellis_syntax::{
    document::{Content, Document},
    is_hidden,
    project::PredicateAnswer,
};

/// A change of a graph's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphChange {
    /// The replacements, in order of file and place.
    pub edits: Vec<TextEdit>,
    /// Those of the replacements that keep an old id, for stored sessions.
    pub was: Vec<TextEdit>,
    /// The files that move, after they are edited.
    pub files: Vec<FileRename>,
    /// The parts of the change that are left out, and those beside the names.
    pub notes: Vec<String>,
    /// The folder that moves as a whole, with everything in it: its old path and its new one. `files` has those of the graph.
    pub folder: Option<(String, String)>,
    /// The nodes that get another id: the old one and the new one of each.
    pub nodes: Vec<(NodeId, NodeId)>,
    /// The key that gets another name: the old and the new.
    pub key: Option<(Key, Key)>,
    /// The folder of the graph that has the key.
    pub key_root: String,
    /// The tool that gets another name: the old and the new.
    pub tool: Option<(Arc<str>, Arc<str>)>,
    /// The predicate that gets another name: the old and the new.
    pub predicate: Option<(Arc<str>, Arc<str>)>,
    /// The signal that gets another name: the old and the new.
    pub signal: Option<(Arc<str>, Arc<str>)>,
    /// The option that gets another value.
    pub option: Option<OptionRename>,
    /// True if somebody outside the graph knows the name: then a person confirms the change.
    pub is_known_outside: bool,
}

/// An option that gets another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRename {
    /// Its node.
    pub node: NodeId,
    /// Its value before.
    pub old: Arc<str>,
    /// Its value afterwards.
    pub new: Arc<str>,
    /// The keys and arguments that hold what was chosen.
    pub held_by: Vec<Arc<str>>,
}

/// A file that gets another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRename {
    /// Its path now.
    pub from: FilePath,
    /// Its path afterwards.
    pub to: FilePath,
}

/// The reason why a name cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RenameRefusal(pub String);

pub(super) fn refused<T>(reason: impl Into<String>) -> Result<T, RenameRefusal> {
    Err(RenameRefusal(reason.into()))
}

/// Returns that nothing of a kind has a name, with the nearest name that something has.
pub(super) fn missing<'c>(kind: &str, name: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    let near = did_you_mean(name, candidates).map_or_else(String::new, |question| format!(", {question}"));
    format!("there is no {kind} `{name}`{near}")
}

impl SymbolIndex {
    /// Renames a node within its folder: its file moves, or its `id:` or its key under `nodes:` changes; targets are rewritten, and `was:`
    /// gets the old id, so that stored sessions find the node.
    ///
    /// # Errors
    /// The name is taken or none that a node can have, the node is the entry, or some target cannot be rewritten exactly.
    pub fn rename_node(&self, id: &NodeId, new: &str) -> Result<GraphChange, RenameRefusal> {
        let Some(node) = self.node(id) else { return refused(self.no_node(id)) };
        let Some(document) = self.document(&node.path) else { return refused(self.no_node(id)) };
        if id.is_start() {
            return match id.folder() {
                "" => refused("`start` is where a session begins: it keeps its name"),
                folder => self.rename_folder(folder, new),
            };
        }
        if !is_node_name(new) {
            return refused(format!("`{new}` is no name of a node: letters, digits, `_` and `-`, and no number or word of YAML"));
        }
        if NodeId::RESERVED.contains(&new) || new == "start" {
            return refused(format!("`{new}` has a meaning of its own"));
        }
        let folder = id.folder();
        let renamed = NodeId::new(if folder.is_empty() { new.to_owned() } else { format!("{folder}/{new}") });
        if let Some(other) = self.node(&renamed) {
            return refused(format!("there is a node `{renamed}` already, in `{}`", other.path));
        }
        self.is_free_of_sessions(&renamed, &node)?;
        let mut change = GraphChange { nodes: vec![(id.clone(), renamed.clone())], ..GraphChange::default() };
        let symbol = Symbol::Node(id.clone());
        for occurrence in self.occurrences(&symbol) {
            let Some(text) = self.document(&occurrence.path).and_then(|document| document.text.get(occurrence.span.range())) else {
                continue;
            };
            let last = text.rfind(id.name()).filter(|at| at + id.name().len() == text.trim_end_matches(['"', '\'']).len());
            let Some(last) = last else { return refused(not_exact(&occurrence)) };
            let start = occurrence.span.start as usize + last;
            change.edits.push(edit(&occurrence.path, Span::new(start, start + id.name().len()), new));
        }
        let syntax = document.node(node.ordinal);
        let is_by_path = syntax.is_none_or(|syntax| syntax.id.is_none());
        if is_by_path {
            let (stem, extension) = node.path.rsplit_once('.').unwrap_or((&node.path, ""));
            let above = stem.rsplit_once('/').map_or(String::new(), |(above, _)| format!("{above}/"));
            let to = FilePath::from(format!("{above}{new}.{extension}"));
            if self.documents.iter().any(|document| document.path == to) {
                return refused(format!("there is a file `{to}` already"));
            }
            if is_hidden(&to) {
                return refused(format!("`{to}` would be no node"));
            }
            self.rename_links(&node.path, &to, &mut change);
            change.files.push(FileRename { from: node.path.clone(), to });
        }
        change.was.extend(was(document, node.ordinal, id, &renamed));
        change.edits.extend(change.was.iter().cloned());
        change.edits.sort();
        change.edits.dedup();
        Ok(change)
    }

    /// Returns that there is no such node, with the nearest id that one has.
    pub(super) fn no_node(&self, id: &NodeId) -> String {
        missing("node", id.as_str(), self.nodes().iter().map(|node| node.id.as_str()))
    }

    /// Refuses an id that sessions of another node may hold.
    pub(super) fn is_free_of_sessions(&self, id: &NodeId, own: &super::NodeEntry) -> Result<(), RenameRefusal> {
        for other in self.read_documents() {
            let nodes =
                (0..).map_while(|ordinal| other.node(ordinal).filter(|_| ordinal == 0 || matches!(other.content, Content::Nodes(..))));
            let others = (0..).zip(nodes).filter(|(ordinal, _)| other.path != own.path || *ordinal != own.ordinal);
            if others.flat_map(|(_, node)| &node.was).any(|was| was.value == *id) {
                return refused(format!("`{id}` is an old id of a node in `{}`: sessions may still hold it", other.path));
            }
        }
        Ok(())
    }

    /// Rewrites the links of bodies that lead to a file.
    fn rename_links(&self, from: &FilePath, to: &FilePath, change: &mut GraphChange) {
        let (old, new) = (from.rsplit('/').next().unwrap_or(from), to.rsplit('/').next().unwrap_or(to));
        for document in &self.documents {
            let Content::Node(node) = &document.content else { continue };
            let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            for link in node.links.iter().filter(|link| leads(folder, &link.value).as_deref() == Some(&**from)) {
                let Some(text) = document.text.get(link.span.range()) else { continue };
                if let Some(at) = text.rfind(old) {
                    let start = link.span.start as usize + at;
                    change.edits.push(edit(&document.path, Span::new(start, start + old.len()), new));
                }
            }
        }
    }

    /// Renames a context key of one graph, where it is written, read and declared, and where callers of the graph give it.
    ///
    /// # Errors
    /// The name is taken or none that a key can have, or some place cannot be rewritten exactly.
    pub fn rename_key(&self, graph: u32, key: &Key, new: &str) -> Result<GraphChange, RenameRefusal> {
        if !is_name(new) || trellis_base::scope::RESERVED.contains(&new) {
            return refused(format!("`{new}` is no name of a key: a letter or `_`, then letters, digits, `_` and `-`"));
        }
        let renamed = Key::from(new);
        if !self.occurrences(&Symbol::Key(graph, renamed.clone())).is_empty() {
            return refused(format!("`{new}` is a key already"));
        }
        if self.is_predicate(graph, &renamed) {
            return refused(format!("`{new}` is a predicate"));
        }
        if let Some(path) = self.schema_that_names(graph, key) {
            return refused(format!("a schema in `{path}` names `{key}`: rename it there by hand, and the rest follows"));
        }
        if let Some((predicate, tool)) = self.predicate_that_hands_on(graph, key) {
            return refused(format!(
                "the predicate `{predicate}` gives `{key}` to `{tool}`, which knows it by this name: rename both by hand"
            ));
        }
        let occurrences = self.occurrences(&Symbol::Key(graph, key.clone()));
        if occurrences.is_empty() {
            let symbols = self.symbols();
            let keys = symbols.iter().filter_map(|symbol| if let Symbol::Key(of, key) = symbol { Some((of, key)) } else { None });
            return refused(missing("key", key, keys.filter(|(of, _)| **of == graph).map(|(_, key)| &**key)));
        }
        let key_root = self.names.as_ref().map_or("", |names| names.root(graph)).to_owned();
        let mut change = GraphChange { key: Some((key.clone(), renamed)), key_root, ..GraphChange::default() };
        for occurrence in &occurrences {
            if !occurrence.is_exact {
                return refused(not_exact(occurrence));
            }
            change.edits.push(edit(&occurrence.path, occurrence.span, new));
        }
        change.edits.sort();
        change.edits.dedup();
        change.is_known_outside = self.is_given(graph, key);
        change.notes.push(format!("stored sessions hold `{key}`: they are asked for `{new}` when they resume"));
        Ok(change)
    }

    /// Returns whether a key is given from outside: the outermost graph asks for it before anything sets it.
    fn is_given(&self, graph: u32, key: &Key) -> bool {
        let is_written = self
            .occurrences(&Symbol::Key(graph, key.clone()))
            .iter()
            .any(|occurrence| occurrence.kind == OccurrenceKind::Writes && self.graph_of(&occurrence.path) == graph);
        graph == 0 && !is_written
    }

    /// Returns the predicate of a graph whose bound tool gets a key as the argument of its name, with that tool.
    fn predicate_that_hands_on(&self, graph: u32, key: &Key) -> Option<(&str, &str)> {
        let of_graph = self.documents.iter().filter(|document| self.graph_of(&document.path) == graph);
        let mut predicates = of_graph.flat_map(|document| match &document.content {
            Content::Project(project) | Content::Nodes(_, project) => &project.predicates[..],
            _ => &[],
        });
        predicates.find_map(|predicate| {
            let PredicateAnswer::Binding { tool, needs } = &predicate.answer else { return None };
            let is_given = match needs {
                Some(needs) => needs.iter().any(|path| path.value.root() == key),
                None => self.tool(&tool.value)?.parameters.as_ref().is_some_and(|schema| names_key(&schema.value, key)),
            };
            is_given.then_some((&*predicate.name.value, &*tool.value))
        })
    }

    /// Returns the project file of a graph whose schemas of inputs or predicates name a key.
    fn schema_that_names(&self, graph: u32, key: &Key) -> Option<FilePath> {
        let found = self.documents.iter().find(|document| {
            let (Content::Project(project) | Content::Nodes(_, project)) = &document.content else { return false };
            let predicates = project.predicates.iter().filter_map(|predicate| match &predicate.answer {
                PredicateAnswer::Schema(schema) => Some(&schema.value),
                _ => None,
            });
            let mut schemas = project.inputs.iter().map(|inputs| &inputs.value).chain(predicates);
            self.graph_of(&document.path) == graph && schemas.any(|schema| names_key(schema, key))
        });
        found.map(|document| document.path.clone())
    }
}

/// Returns whether a schema of a mapping names an entry of it, also in a schema that it is made of.
fn names_key(schema: &Value, key: &str) -> bool {
    let Some(schema) = schema.as_map() else { return false };
    let part = |name: &str| schema.get(name);
    let is_declared = ["properties", "dependentRequired", "dependentSchemas", "dependencies"]
        .into_iter()
        .any(|name| part(name).and_then(Value::as_map).is_some_and(|entries| entries.get(key).is_some()));
    let is_required = part("required").and_then(Value::as_list).is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)));
    let mut parts = ["if", "then", "else", "not"].into_iter().filter_map(part);
    let mut lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(part).filter_map(Value::as_list);
    let is_in_part = parts.any(|part| names_key(part, key)) || lists.any(|list| list.iter().any(|part| names_key(part, key)));
    is_declared || is_required || is_in_part
}

pub(super) fn not_exact(occurrence: &Occurrence) -> String {
    let what = match occurrence.kind {
        OccurrenceKind::Defines | OccurrenceKind::Refers => "is named",
        OccurrenceKind::Writes => "is written",
        OccurrenceKind::Reads => "is read",
    };
    format!("it {what} in `{}` inside a text with escapes, which cannot be rewritten exactly", occurrence.path)
}

pub(super) fn edit(path: &FilePath, span: Span, text: &str) -> TextEdit {
    TextEdit { place: Place::new(path, span), text: text.to_owned() }
}

/// Returns true for a name that needs no quotes in YAML and no escape in a path.
pub(super) fn is_node_name(name: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_number = name.parse::<f64>().is_ok() || name.starts_with(|char: char| char.is_ascii_digit()) && name.contains('_');
    let is_plain = name.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-'));
    !name.is_empty() && is_plain && !name.starts_with(['-', '_']) && !is_number && !words.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns the edit that adds an id to `was:` of a node. The id that it gets now is no old one any more.
pub(super) fn was(document: &Document, ordinal: u32, id: &NodeId, now: &NodeId) -> Option<TextEdit> {
    let (text, syntax) = (&*document.text, document.node(ordinal)?);
    if let Some(again) = syntax.was.iter().find(|was| was.value == *now) {
        return Some(edit(&document.path, again.span, id.as_str()));
    }
    let at = |offset: usize, new: String| Some(edit(&document.path, Span::at(offset), &new));
    if let Some(last) = syntax.was.iter().max_by_key(|was| was.span.end) {
        let end = last.span.end as usize;
        let start = last.span.start as usize;
        let before = text[..start].rsplit('\n').next().unwrap_or_default();
        return if before.trim() == "-" {
            at(end, format!("\n{}- {id}", &before[..before.len() - before.trim_start().len()]))
        } else if before.contains('[') || text[end..].trim_start().starts_with([',', ']']) {
            at(end, format!(", {id}"))
        } else {
            Some(edit(&document.path, last.span, &format!("[{}, {id}]", &text[last.span.range()])))
        };
    }
    let start = syntax.span.start as usize;
    let written = text.get(start..)?;
    if let Some(rest) = written.strip_prefix('{') {
        let is_empty = rest.trim_start().starts_with('}');
        let comma = if is_empty { "" } else { "," };
        return at(start + 1, format!(" \"was\": [\"{id}\"]{comma}"));
    }
    if document.path.to_ascii_lowercase().ends_with(".md") {
        return match written.strip_prefix("---") {
            Some(rest) if syntax.has_matter => {
                let line = rest.find('\n').map_or(text.len(), |line| start + 3 + line + 1);
                at(line, format!("was: [{id}]\n"))
            }
            _ => at(0, format!("---\nwas: [{id}]\n---\n")),
        };
    }
    let indent = text[..start].rsplit('\n').next().unwrap_or_default();
    let indent = " ".repeat(indent.len());
    at(start, format!("was: [{id}]\n{indent}"))
}
