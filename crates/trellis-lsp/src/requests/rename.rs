//! Renames of nodes, keys and tools. A rename is offered only if the graph that it makes is the same but for the name.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json};
use trellis_core::{
    query::{GraphChange, RenameRefusal, Symbol},
    span::Span,
};
use trellis_project::{refactored, sheet::renamed_sheets};

use super::{
    Answer, Refusal,
    edits::{SheetEdit, workspace_edit},
    place,
};
use crate::{
    state::ServerState,
    text::{Text, to_u32},
    uri,
    wire::{RenameParams, TextDocumentPositionParams},
};

/// Returns the name at a place, if it can be renamed.
pub(super) fn prepare(state: &mut ServerState, params: &TextDocumentPositionParams) -> Answer {
    let encoding = state.encoding();
    let Some(place) = place(state, params) else { return Ok(Json::Null) };
    let (graph, path) = (place.graph, place.path);
    let Some(one) = graph.index().at(&path, to_u32(place.offset)) else { return Ok(Json::Null) };
    let name = match &one.symbol {
        Symbol::Node(id) if id.is_start() => {
            return Err(Refusal::Refused(format!("`{id}` is the beginning of its folder: rename the folder")));
        }
        Symbol::Node(id) => id.name().to_owned(),
        Symbol::Key(_, key) => key.to_string(),
        Symbol::Tool(name) => name.to_string(),
        Symbol::Predicate(..) | Symbol::Signal(_) => {
            return Err(Refusal::Refused("hosts know this name: rename it where they do as well, by hand".into()));
        }
    };
    Ok(json!({ "range": place.text.range(one.span, encoding), "placeholder": name }))
}

/// Returns the edits that rename what stands at a place.
pub(super) fn rename(state: &mut ServerState, params: &RenameParams) -> Answer {
    let client = state.client.clone();
    let open: BTreeMap<PathBuf, (i32, Text)> =
        state.sheets.iter().map(|(path, sheet)| (path.clone(), (sheet.version, sheet.text.clone()))).collect();
    let Some(place) = place(state, &params.text_document_position_params) else { return Ok(Json::Null) };
    let (graph, path) = (place.graph, place.path);
    if !graph.is_linked() {
        return Err(Refusal::NotLinked);
    }
    let refused = |refusal: RenameRefusal| Refusal::Refused(refusal.0);
    let index = graph.index();
    let Some(one) = index.at(&path, to_u32(place.offset)) else { return Err(Refusal::Refused("nothing here has a name".into())) };
    let change: GraphChange = match &one.symbol {
        Symbol::Node(id) => {
            // A target may be typed as it would be written: only its last name is new.
            let new = params.new_name.rsplit('/').next().unwrap_or(&params.new_name);
            index.rename_node(id, new).map_err(refused)?
        }
        Symbol::Key(of, key) => index.rename_key(*of, key, &params.new_name).map_err(refused)?,
        Symbol::Tool(name) => index.rename_tool(name, &params.new_name).map_err(refused)?,
        _ => return Err(Refusal::Refused("hosts know this name: rename it where they do as well, by hand".into())),
    };
    refactored(graph.documents(), &change).map_err(refused)?;
    let text = |path: &Path| match open.get(path) {
        Some((_, text)) => Some(text.as_str().to_owned()),
        None => fs::read_to_string(path).ok(),
    };
    let sheets = renamed_sheets(&graph.root, graph.documents(), &change, text).into_iter().map(|sheet| {
        let (path, text) = (graph.root.join(&*sheet.path), Text::new(&*sheet.text));
        let edit = |(range, new): (Range<usize>, String)| json!({ "range": text.range(Span::new(range.start, range.end), client.encoding), "newText": new });
        let edits = sheet.edits.into_iter().map(edit).collect();
        SheetEdit { uri: uri::of_path(&path), version: open.get(&path).map(|(version, _)| *version), edits }
    });
    let sheets = sheets.collect();
    let edit = workspace_edit(graph, &change.edits, &change.files, sheets, &client)
        .ok_or_else(|| Refusal::Refused("this editor cannot move files in an edit: `trellis rename node OLD NEW` can".into()))?;
    state.notes.extend(change.notes);
    Ok(edit)
}
