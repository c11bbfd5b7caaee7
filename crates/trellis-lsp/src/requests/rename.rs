//! Renames of everything that has a name, and of files and folders. A rename is made only if the graph that it makes is the same but for the name.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json};
use trellis_core::{
    diagnostic::FilePath,
    query::{FileRename, GraphChange, Occurrence, RenameRefusal, Symbol},
    span::Span,
};
use trellis_project::{
    refactored,
    sheet::{cases_that_show, renamed_sheets},
};

use super::{
    Answer, Refusal,
    edits::{SheetEdit, workspace_edit},
    place,
};
use crate::{
    client::Client,
    graph::Graph,
    state::ServerState,
    text::{Text, to_u32},
    uri,
    wire::{RenameFilesParams, RenameParams, TextDocumentPositionParams, Uri},
};

/// Returns the name at a place, if it can be renamed.
pub(super) fn prepare(state: &mut ServerState, params: &TextDocumentPositionParams) -> Answer {
    let encoding = state.encoding();
    let Some(place) = place(state, params) else { return Ok(Json::Null) };
    let (graph, path) = (place.graph, place.path);
    let Some(one) = named_at(graph, &path, to_u32(place.offset))? else { return Ok(Json::Null) };
    let name = match &one.symbol {
        Symbol::Node(id) if id.is_start() && id.folder().is_empty() => {
            return Err(Refusal::Refused("`start` is where a session begins: it keeps its name".into()));
        }
        // The name of a module is that of its folder.
        Symbol::Node(id) if id.is_start() => id.folder().rsplit('/').next().unwrap_or_default().to_owned(),
        Symbol::Node(id) => id.name().to_owned(),
        Symbol::Key(_, key) => key.to_string(),
        Symbol::Tool(name) | Symbol::Predicate(_, name) | Symbol::Signal(name) | Symbol::Option(_, name) => name.to_string(),
    };
    Ok(json!({ "range": place.text.range(one.span, encoding), "placeholder": name }))
}

/// Returns the name at an offset of a file. A part of a path behind the key has none.
fn named_at(graph: &mut Graph, path: &FilePath, offset: u32) -> Result<Option<Occurrence>, Refusal> {
    let Some(one) = graph.index().at(path, offset) else { return Ok(None) };
    match &one.symbol {
        Symbol::Key(_, key) if offset < one.span.start || one.span.end < offset => {
            Err(Refusal::Refused(format!("this is a part of `{key}`: only the key has a name of its own")))
        }
        _ => Ok(Some(one)),
    }
}

/// Returns the edits that rename the symbol at a place.
pub(super) fn rename(state: &mut ServerState, params: &RenameParams) -> Answer {
    let Some(place) = place(state, &params.text_document_position_params) else { return Ok(Json::Null) };
    let (graph, path) = (place.graph, place.path);
    if !graph.is_linked() {
        return Err(Refusal::NotLinked);
    }
    let Some(one) = named_at(graph, &path, to_u32(place.offset))? else { return Err(Refusal::Refused("nothing here has a name".into())) };
    let (index, new) = (graph.index(), &params.new_name);
    let change = match &one.symbol {
        // A target may be typed as it would be written: only its last name is new.
        Symbol::Node(id) => index.rename_node(id, new.trim_end_matches('/').rsplit('/').next().unwrap_or(new)),
        Symbol::Key(of, key) => index.rename_key(*of, key, new),
        Symbol::Tool(name) => index.rename_tool(name, new),
        Symbol::Predicate(of, name) => index.rename_predicate(*of, name, new),
        Symbol::Signal(name) => index.rename_signal(name, new),
        Symbol::Option(node, value) => index.rename_option(node, value, new),
    };
    let uri = params.text_document_position_params.text_document.uri.clone();
    changed(state, &uri, change, |client, graph, change, sheets| workspace_edit(graph, change, sheets, client))
}

/// Returns the edits that a move of files or folders asks for; the client moves them itself. A move that would change the graph is not
/// stopped: a person is told what it breaks.
pub(super) fn will_rename(state: &mut ServerState, params: &RenameFilesParams) -> Answer {
    let both = |file: &crate::wire::FileRename| Some((uri::to_path(&file.old_uri)?, uri::to_path(&file.new_uri)?));
    let moves: Vec<(PathBuf, PathBuf)> = params.files.iter().filter_map(both).collect();
    let Some(root) = moves.first().and_then(|(from, _)| state.workspace.above(from)).map(|(at, _)| state.workspace.graphs[at].root.clone())
    else {
        return Ok(Json::Null);
    };
    let uri = uri::of_path(&root.join("start.md"));
    let Some((at, _)) = state.workspace.above(&root.join("start.md")) else { return Ok(Json::Null) };
    let graph = &mut state.workspace.graphs[at];
    if !graph.is_linked() {
        return Err(Refusal::NotLinked);
    }
    let mut files = Vec::new();
    for (from, to) in &moves {
        // A file that leaves the graph is deleted, and one that comes into it is new.
        let (Some(from), Some(to)) = (graph.path_of(from), graph.path_of(to)) else { return Ok(Json::Null) };
        let inside = |path: &FilePath| path.strip_prefix(&*from).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let held = graph.documents().iter().map(|document| &document.path).filter(|path| inside(path));
        files.extend(held.map(|path| FileRename { from: path.clone(), to: format!("{to}{}", &path[from.len()..]).into() }));
    }
    if files.is_empty() {
        return Ok(Json::Null);
    }
    let change = graph.index().move_files(&files);
    let made = changed(state, &uri, change, |client, graph, change, sheets| {
        workspace_edit(graph, &GraphChange { files: Vec::new(), ..change.clone() }, sheets, client)
    });
    match made {
        Err(Refusal::Refused(reason)) => {
            state.notes.push(format!("nothing else was changed: {reason}"));
            Ok(Json::Null)
        }
        made => made,
    }
}

/// Proves a change, adds what it means for the sheets, and returns it as the client takes it.
fn changed(
    state: &mut ServerState,
    uri: &Uri,
    change: Result<GraphChange, RenameRefusal>,
    edit: impl Fn(&Client, &mut Graph, &GraphChange, Vec<SheetEdit>) -> Option<Json>,
) -> Answer {
    let client = state.client.clone();
    let mut open: BTreeMap<PathBuf, (i32, Text)> =
        state.sheets.iter().map(|(path, sheet)| (path.clone(), (sheet.revisions.version, sheet.text.clone()))).collect();
    open.extend(state.workspace.graphs.iter().flat_map(Graph::open_beside_sheets));
    let file = uri::to_path(uri).unwrap_or_default();
    let Some((at, _)) = state.workspace.above(&file) else { return Ok(Json::Null) };
    let graph = &mut state.workspace.graphs[at];
    let refused = |refusal: RenameRefusal| Refusal::Refused(refusal.0);
    let change = change.map_err(refused)?;
    refactored(graph.documents(), &change).map_err(refused)?;
    let text = |path: &Path| match open.get(path) {
        Some((_, text)) => Some(text.as_str().to_owned()),
        None => fs::read_to_string(path).ok(),
    };
    let shown = cases_that_show(&graph.root, graph.documents(), &change, text);
    let renamed = renamed_sheets(&graph.root, graph.documents(), &change, text);
    let sheets = renamed.files.into_iter().map(|sheet| {
        let (path, text) = (graph.root.join(&*sheet.path), Text::new(&*sheet.text));
        let edit = |(range, new): (Range<usize>, String)| json!({ "range": text.range(Span::new(range.start, range.end), client.encoding), "newText": new });
        let edits = sheet.edits.into_iter().map(edit).collect();
        SheetEdit { uri: uri::of_path(&path), version: open.get(&path).map(|(version, _)| *version), edits }
    });
    let sheets = sheets.collect();
    let made = edit(&client, graph, &change, sheets)
        .ok_or_else(|| Refusal::Refused("this editor cannot move files in an edit: `trellis rename node OLD NEW` can".into()))?;
    state.notes.extend(change.notes.into_iter().chain(renamed.notes));
    if shown > 0 {
        state.notes.push(format!("cases that may fail now, since what a node says is not changed: {shown}"));
    }
    Ok(made)
}
