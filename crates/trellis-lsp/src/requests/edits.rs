//! Changes of files as the client takes them.

use serde_json::{Value as Json, json};
use trellis_core::{
    diagnostic::{FilePath, TextEdit},
    query::FileRename,
};

use crate::{client::Client, graph::Graph, wire::Uri};

/// Changes of a file that no graph holds.
pub(super) struct SheetEdit {
    pub(super) uri: Uri,
    pub(super) version: Option<i32>,
    pub(super) edits: Vec<Json>,
}

/// Returns a change of the workspace: with versions and moves of files where the client takes them, plain edits otherwise. `None` if it
/// needs what the client has not.
pub(super) fn workspace_edit(
    graph: &mut Graph,
    edits: &[TextEdit],
    files: &[FileRename],
    sheets: Vec<SheetEdit>,
    client: &Client,
) -> Option<Json> {
    let mut by_file: Vec<(FilePath, Vec<Json>)> = Vec::new();
    for edit in edits {
        let range = graph.range(&edit.place.path, edit.place.span, client.encoding);
        let edit_json = json!({ "range": range, "newText": edit.text });
        match by_file.iter_mut().find(|(path, _)| *path == edit.place.path) {
            Some((_, edits)) => edits.push(edit_json),
            None => by_file.push((edit.place.path.clone(), vec![edit_json])),
        }
    }
    if !client.versioned_edits {
        if !files.is_empty() {
            return None;
        }
        let of_graph = by_file.into_iter().map(|(path, edits)| (graph.uri(&path).0, Json::Array(edits)));
        let of_sheets = sheets.into_iter().map(|sheet| (sheet.uri.0, Json::Array(sheet.edits)));
        let changes: serde_json::Map<String, Json> = of_graph.chain(of_sheets).collect();
        return Some(json!({ "changes": changes }));
    }
    if !files.is_empty() && !client.file_renames {
        return None;
    }
    let mut changes: Vec<Json> = by_file
        .into_iter()
        .map(|(path, edits)| {
            let version = graph.open.get(&path).map(|open| open.version);
            json!({ "textDocument": { "uri": graph.uri(&path), "version": version }, "edits": edits })
        })
        .collect();
    let of_sheets = sheets.into_iter();
    changes.extend(of_sheets.map(|sheet| json!({ "textDocument": { "uri": sheet.uri, "version": sheet.version }, "edits": sheet.edits })));
    for file in files {
        let to = crate::uri::of_path(&graph.file(&file.to));
        changes.push(json!({ "kind": "rename", "oldUri": graph.uri(&file.from), "newUri": to, "options": { "overwrite": false } }));
    }
    Some(json!({ "documentChanges": changes }))
}
