//! Changes that leave the graph the same: a target that looks at the root first, a key that is hidden, tools in a library, nodes in a module.

use serde_json::{Value as Json, json};
use trellis_core::{
    diagnostic::{FilePath, Place, TextEdit},
    query::{FileRename, GraphChange, OccurrenceKind, Symbol},
    span::Span,
    syntax::document::Content,
};
use trellis_project::refactored;

use super::{EXTRACT, REWRITE};
use crate::{
    client::Client,
    graph::Graph,
    requests::edits::{plain_edit, workspace_edit},
};

/// Returns what can be rewritten at a place.
pub(super) fn offers(graph: &mut Graph, path: &FilePath, span: Span, client: &Client) -> Vec<Json> {
    let mut offers = Vec::new();
    offers.extend(jump(graph, path, span, client));
    offers.extend(redact(graph, path, span, client));
    offers.extend(library(graph, path, span, client));
    offers.extend(module(graph, path, span, client));
    offers
}

/// `to` → `jump_to`, where the node at the root is meant anyway.
fn jump(graph: &mut Graph, path: &FilePath, span: Span, client: &Client) -> Option<Json> {
    let one = graph.index().at(path, span.start).filter(|one| one.kind == OccurrenceKind::Refers)?;
    let Symbol::Node(id) = &one.symbol else { return None };
    let text = std::sync::Arc::clone(&graph.document(path)?.text);
    let before = text[..one.span.start as usize].trim_end_matches(['"', '\'']).trim_end().strip_suffix("to:")?;
    if before.ends_with(|char: char| char.is_alphanumeric() || char == '_') || !id.folder().is_empty() && !id.is_start() {
        return None;
    }
    let edit = TextEdit { place: Place::new(path, Span::at(before.len())), text: "jump_".into() };
    let change = GraphChange { edits: vec![edit], ..GraphChange::default() };
    refactored(graph.documents(), &change).ok()?;
    Some(json!({ "title": "turn `to` into `jump_to`", "kind": REWRITE, "edit": plain_edit(graph, &change.edits, client) }))
}

/// Adds a key to `redact` of the project file of its graph: that of an argument is the called graph's.
fn redact(graph: &mut Graph, path: &FilePath, span: Span, client: &Client) -> Option<Json> {
    let one = graph.index().at(path, span.start)?;
    let Symbol::Key(of, key) = &one.symbol else { return None };
    let root = graph.index().root(*of).to_owned();
    let project = FilePath::from(if root.is_empty() { "trellis.yaml".to_owned() } else { format!("{root}/trellis.yaml") });
    let document = graph.document(&project)?;
    let Content::Project(syntax) = &document.content else { return None };
    if syntax.redact.iter().any(|path| path.value.root() == key) {
        return None;
    }
    let listed: Vec<Span> = syntax.redact.iter().map(|path| path.span).collect();
    let (at, new) = redaction(&document.text, &listed, key)?;
    let edit = TextEdit { place: Place::new(&project, Span::at(at)), text: new };
    Some(json!({ "title": format!("add `{key}` to `redact`"), "kind": REWRITE, "edit": plain_edit(graph, &[edit], client) }))
}

/// Returns where a key is added to `redact` of a project file, and how; `listed` has the places of those that are there, in order.
fn redaction(text: &str, listed: &[Span], key: &str) -> Option<(usize, String)> {
    let mut lines = text.split_inclusive('\n').scan(0, |start, line| Some((std::mem::replace(start, *start + line.len()), line)));
    let Some((start, line)) = lines.find(|(_, line)| line.starts_with("redact:")) else {
        let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Some((text.len(), format!("{lead}redact: [{key}]\n")));
    };
    let value = start + "redact:".len();
    let Some((first, last)) = listed.first().zip(listed.last()) else {
        let bracket = line.find('[')?;
        return line[bracket + 1..].trim_start().starts_with(']').then(|| (start + bracket + 1, key.to_owned()));
    };
    if text.get(value..first.start as usize)?.contains('[') {
        return Some((last.end as usize, format!(", {key}")));
    }
    let line = text[..last.start as usize].rfind('\n')? + 1;
    let indent = &text[line..last.start as usize];
    let end = text[line..].find('\n').map_or(text.len(), |end| line + end);
    let end = line + text[line..end].trim_end_matches('\r').len();
    indent.trim_start().starts_with('-').then(|| (end, format!("\n{}- {key}", &indent[..indent.len() - indent.trim_start().len()])))
}

/// Moves the tools that a node defines in place to a library beside it.
fn library(graph: &mut Graph, path: &FilePath, span: Span, client: &Client) -> Option<Json> {
    let document = graph.document(path)?;
    let Content::Node(node) = &document.content else { return None };
    let key = node.key("tools").filter(|key| key.start <= span.end)?;
    if !client.file_creations || !client.versioned_edits {
        return None;
    }
    let text = &*document.text;
    let line = text[..key.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let first = text[line..].find('\n').map(|at| line + at + 1)?;
    let mut end = first;
    for below in text[first..].split_inclusive('\n') {
        if !below.starts_with([' ', '-']) || below.starts_with("---") {
            break;
        }
        end += below.len();
    }
    let is_defined = |tool: &trellis_core::syntax::node::ToolRef| matches!(tool, trellis_core::syntax::node::ToolRef::Inline(_));
    let is_block = text[line..first].trim_end() == "tools:" && node.tools.iter().all(is_defined) && !node.tools.is_empty();
    if !is_block || (span.start as usize) > end {
        return None;
    }
    let stem = path.rsplit_once('.').map_or(&**path, |(stem, _)| stem);
    let (file, name) = (format!("{stem}.tools.yaml"), stem.rsplit('/').next().unwrap_or(stem));
    if graph.document(&file).is_some() || graph.file(&file).exists() {
        return None;
    }
    let edit = TextEdit { place: Place::new(path, Span::new(line, end)), text: format!("tools: [./{name}.tools.yaml]\n") };
    let moved = text[line..end].to_owned();
    let mut made = plain_edit(graph, &[edit], client);
    let (uri, start) = (crate::uri::of_path(&graph.file(&file)), json!({ "line": 0, "character": 0 }));
    let changes = made["documentChanges"].as_array_mut()?;
    changes.insert(0, json!({ "kind": "create", "uri": uri, "options": { "overwrite": false } }));
    let insert = json!({ "range": { "start": start, "end": start }, "newText": moved });
    changes.insert(1, json!({ "textDocument": { "uri": uri, "version": null }, "edits": [insert] }));
    Some(json!({ "title": format!("move these tools to the library `{file}`"), "kind": EXTRACT, "edit": made }))
}

/// Moves a node, and every node that is reached through it alone, to a folder whose `start` it becomes.
fn module(graph: &mut Graph, path: &FilePath, span: Span, client: &Client) -> Option<Json> {
    if !client.file_renames || !client.versioned_edits {
        return None;
    }
    let entry = graph.index().node_around(path, span.start).filter(|node| !node.id.is_start())?;
    let by_path = |path: &str, id: &str| path.rsplit_once('.').is_some_and(|(stem, _)| stem == id);
    if !by_path(path, entry.id.as_str()) {
        return None;
    }
    let program = std::sync::Arc::clone(graph.program()?);
    let inside = super::super::hierarchy::reached_through(&program, program.find(&entry.id)?);
    let mut moves = Vec::new();
    for index in inside {
        let node = program.node(index);
        let file = program.path_of(node);
        // Nodes of other folders stay, and so do those that have their id from elsewhere.
        if !by_path(file, node.id.as_str()) || node.id.folder() != entry.id.folder() {
            continue;
        }
        let extension = file.rsplit_once('.').map_or("md", |(_, extension)| extension);
        let name = if node.id == entry.id { "start" } else { node.id.name() };
        moves.push(FileRename { from: file.clone(), to: format!("{}/{name}.{extension}", entry.id).into() });
    }
    if moves.len() < 2 {
        return None;
    }
    let change = graph.index().move_files(&moves).ok()?;
    refactored(graph.documents(), &change).ok()?;
    let edit = workspace_edit(graph, &change, Vec::new(), client)?;
    Some(json!({ "title": format!("move {} nodes to the module `{}`", moves.len(), entry.id), "kind": EXTRACT, "edit": edit }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_added_to_each_form_of_a_list() {
        let added = |text: &str, listed: &[&str]| {
            let place = |name: &&str| {
                let at = text.find(*name).expect("it is listed");
                Span::new(at, at + name.len())
            };
            let listed: Vec<Span> = listed.iter().map(place).collect();
            redaction(text, &listed, "key").map(|(at, new)| format!("{}{new}{}", &text[..at], &text[at..]))
        };
        let is = |added: Option<String>, text: &str| assert_eq!(added.as_deref(), Some(text));
        is(added("name: x", &[]), "name: x\nredact: [key]\n");
        is(added("redact: []\nname: x\n", &[]), "redact: [key]\nname: x\n");
        is(added("redact: [one,\n  two]\nname: x\n", &["one", "two"]), "redact: [one,\n  two, key]\nname: x\n");
        is(added("redact: [\n  one, # why\n]\n", &["one"]), "redact: [\n  one, key, # why\n]\n");
        is(added("redact:\n  - one # why\n  - two\nname: x\n", &["one", "two"]), "redact:\n  - one # why\n  - two\n  - key\nname: x\n");
        is(added("redact:\n- one", &["one"]), "redact:\n- one\n- key");
        assert_eq!(added("redact:\nname: x\n", &[]), None);
    }
}
