//! Code lenses. A server has no commands of its own here: a client names those of its own that lenses may use.

use serde_json::{Value as Json, json};

use super::sheets::cases;
use crate::{state::ServerState, uri, wire::CodeLensParams};

/// Returns the lenses of a node or a sheet; none without commands.
pub(super) fn lenses(state: &mut ServerState, params: &CodeLensParams) -> Option<Vec<Json>> {
    let (encoding, commands) = (state.encoding(), state.settings.commands.clone());
    if commands.is_empty() {
        return Some(Vec::new());
    }
    let uri = &params.text_document.uri;
    let file = uri::to_path(uri)?;
    if let Some(cases) = cases(state, &file) {
        return Some(of_sheet(&cases, uri, &commands));
    }
    let (graph, path) = state.graph(uri)?;
    let mut lenses = Vec::new();
    for node in graph.index().nodes_of(&path) {
        let range = graph.range(&path, node.place, encoding);
        if let Some(command) = commands.get("play") {
            lenses.push(lens(&range, "▶ play from here", command, &json!([uri, node.id.as_str()])));
        }
        let Some(command) = commands.get("references") else { continue };
        let Some(program) = graph.program() else { continue };
        let Some(index) = program.find(&node.id) else { continue };
        let count = program.in_edges(index).count();
        let title = if count == 1 { "1 way in".to_owned() } else { format!("{count} ways in") };
        lenses.push(lens(&range, &title, command, &json!([uri, range.start])));
    }
    Some(lenses)
}

fn of_sheet(cases: &[Json], uri: &crate::wire::Uri, commands: &std::collections::BTreeMap<String, String>) -> Vec<Json> {
    let mut lenses = Vec::new();
    let top = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
    if let Some(command) = commands.get("test") {
        lenses.push(lens(&top, "▶ run all", command, &json!([uri])));
        lenses.extend(cases.iter().map(|case| lens(&case["range"], "▶ run", command, &json!([uri, case["id"]]))));
    }
    if let Some(command) = commands.get("update") {
        lenses.extend(cases.iter().map(|case| lens(&case["range"], "update", command, &json!([uri, case["id"]]))));
    }
    lenses
}

fn lens(range: &impl serde::Serialize, title: &str, command: &str, arguments: &Json) -> Json {
    json!({ "range": range, "command": { "title": title, "command": command, "arguments": arguments } })
}
