//! Code actions: the fixes of findings.

use serde_json::{Value as Json, json};
use trellis_core::Diagnostic;

use super::edits::workspace_edit;
use crate::{findings::diagnostic, state::ServerState, wire::CodeActionParams};

/// Returns the fixes of the findings in a range.
pub(super) fn actions(state: &mut ServerState, params: &CodeActionParams) -> Option<Vec<Json>> {
    let client = state.client.clone();
    let only = params.context.only.as_ref();
    let wants = |kind: &str| {
        only.is_none_or(|kinds| {
            kinds.iter().any(|asked| {
                let asked = serde_json::to_value(asked).ok().and_then(|asked| asked.as_str().map(str::to_owned)).unwrap_or_default();
                asked.is_empty() || kind == asked || kind.starts_with(&format!("{asked}."))
            })
        })
    };
    if !wants("quickfix") {
        return Some(Vec::new());
    }
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let span = graph.text(&path)?.span(params.range, client.encoding);
    let is_here =
        |found: &Diagnostic| found.place.as_ref().is_some_and(|place| place.span.start <= span.end && span.start <= place.span.end);
    let found: Vec<Diagnostic> = graph.findings(&path).into_iter().filter(is_here).collect();
    let mut actions = Vec::new();
    for found in found {
        let Some(fix) = &found.fix else { continue };
        let Some(edit) = workspace_edit(graph, &fix.edits, &[], Vec::new(), &client) else { continue };
        let finding = diagnostic(graph, &path, &found, &client);
        actions.push(json!({ "title": fix.title, "kind": "quickfix", "isPreferred": true, "diagnostics": [finding], "edit": edit }));
    }
    Some(actions)
}
