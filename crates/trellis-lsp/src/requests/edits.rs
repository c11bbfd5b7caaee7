//! Edits of files in the form that the client supports.

use serde_json::{Value as Json, json};
use trellis_core::{
    diagnostic::{FilePath, TextEdit},
    query::GraphChange,
};

use crate::{client::Client, graph::Graph, wire::Uri};

/// Changes of a file that no graph holds.
pub(super) struct SheetEdit {
    pub(super) uri: Uri,
    pub(super) version: Option<i32>,
    pub(super) edits: Vec<Json>,
}

/// The names of annotations: that an old id is kept, and that somebody outside the graph knows a name.
const WAS: &str = "was";
const OUTSIDE: &str = "outside";

/// Returns edits of files as a change of the workspace: with versions where the client takes them, plain edits otherwise.
pub(super) fn plain_edit(graph: &mut Graph, edits: &[TextEdit], client: &Client) -> Json {
    let change = GraphChange { edits: edits.to_vec(), ..GraphChange::default() };
    workspace_edit(graph, &change, Vec::new(), client).unwrap_or_default()
}

/// Returns a change of a graph as one of the workspace. `None` if it needs what the client has not.
pub(super) fn workspace_edit(graph: &mut Graph, change: &GraphChange, sheets: Vec<SheetEdit>, client: &Client) -> Option<Json> {
    let is_annotated = client.annotations && client.versioned_edits;
    let mut by_file: Vec<(FilePath, Vec<Json>)> = Vec::new();
    // A sheet has the edits of its links among its own.
    let of_graph = |path: &FilePath| {
        let uri = graph.uri(path);
        sheets.iter().all(|sheet| sheet.uri.0 != uri.0)
    };
    let edits: Vec<TextEdit> = change.edits.iter().filter(|edit| of_graph(&edit.place.path)).cloned().collect();
    for edit in &edits {
        let range = graph.range(&edit.place.path, edit.place.span, client.encoding);
        let mut made = json!({ "range": range, "newText": edit.text });
        let annotation = if change.was.contains(edit) { Some(WAS) } else { Some(OUTSIDE).filter(|_| change.is_known_outside) };
        if let Some(annotation) = annotation.filter(|_| is_annotated) {
            made["annotationId"] = annotation.into();
        }
        match by_file.iter_mut().find(|(path, _)| *path == edit.place.path) {
            Some((_, edits)) => edits.push(made),
            None => by_file.push((edit.place.path.clone(), vec![made])),
        }
    }
    if !client.versioned_edits {
        if !change.files.is_empty() {
            return None;
        }
        let of_graph = by_file.into_iter().map(|(path, edits)| (graph.uri(&path).0, Json::Array(edits)));
        let of_sheets = sheets.into_iter().map(|sheet| (sheet.uri.0, Json::Array(sheet.edits)));
        let changes: serde_json::Map<String, Json> = of_graph.chain(of_sheets).collect();
        return Some(json!({ "changes": changes }));
    }
    if !change.files.is_empty() && !client.file_renames {
        return None;
    }
    let mut changes: Vec<Json> = by_file
        .into_iter()
        .map(|(path, edits)| {
            let version = graph.open.get(&path).map(|open| open.revisions.version);
            json!({ "textDocument": { "uri": graph.uri(&path), "version": version }, "edits": edits })
        })
        .collect();
    let of_sheets = sheets.into_iter();
    changes.extend(of_sheets.map(|sheet| json!({ "textDocument": { "uri": sheet.uri, "version": sheet.version }, "edits": sheet.edits })));
    changes.extend(moves(graph, change));
    let mut edit = json!({ "documentChanges": changes });
    if is_annotated && (change.is_known_outside || !change.was.is_empty()) {
        edit["changeAnnotations"] = json!({
            WAS: { "label": "Keep the old id, for stored sessions", "needsConfirmation": false },
            OUTSIDE: {
                "label": "A name that is known outside", "needsConfirmation": true,
                "description": change.notes.first().map_or("", String::as_str),
            },
        });
    }
    Some(edit)
}

/// Returns the moves of a change: one of the folder, or one for each file.
fn moves(graph: &Graph, change: &GraphChange) -> Vec<Json> {
    let moved = |from: &Uri, to: &str| {
        let to = crate::uri::of_path(&graph.file(to));
        json!({ "kind": "rename", "oldUri": from, "newUri": to, "options": { "overwrite": false } })
    };
    match &change.folder {
        Some((from, to)) => vec![moved(&crate::uri::of_path(&graph.file(from)), to)],
        None => change.files.iter().map(|file| moved(&graph.uri(&file.from), &file.to)).collect(),
    }
}
