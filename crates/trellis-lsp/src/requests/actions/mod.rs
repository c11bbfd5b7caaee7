//! Code actions: the fixes of findings, what findings ask to be added, and changes that leave the graph the same.

mod add;
mod allow;
mod mend;
mod rewrite;

use serde_json::{Value as Json, json};
use trellis_core::{Diagnostic, diagnostic::TextEdit, span::Span};

use super::{Answer, Refusal, edits::plain_edit};
use crate::{
    client::Client,
    findings::diagnostic,
    graph::Graph,
    state::ServerState,
    wire::{CodeActionKind, CodeActionParams, CodeActionTriggerKind},
};

const FIX: &str = "quickfix";
const FIX_ALL: &str = "source.fixAll.trellis";
const EXTRACT: &str = "refactor.extract";
const REWRITE: &str = "refactor.rewrite";

/// The kinds of actions that there are.
pub(super) const ACTION_KINDS: [&str; 4] = [FIX, EXTRACT, REWRITE, FIX_ALL];

/// Returns what can be done in a range.
pub(super) fn actions(state: &mut ServerState, params: &CodeActionParams) -> Answer {
    let client = state.client.clone();
    let only: Option<Vec<String>> = params.context.only.as_ref().map(|kinds| kinds.iter().filter_map(named).collect());
    let wants = |kind: &str| {
        only.as_ref()
            .is_none_or(|only| only.iter().any(|asked| asked.is_empty() || kind == asked || kind.starts_with(&format!("{asked}."))))
    };
    let Some((graph, path)) = state.graph(&params.text_document.uri) else { return Ok(Json::Null) };
    let Some(span) = graph.text(&path).map(|text| text.span(params.range, client.encoding)) else { return Ok(Json::Null) };
    let found = graph.findings(&path);
    let is_here =
        |found: &&Diagnostic| found.place.as_ref().is_none_or(|place| place.span.start <= span.end && span.start <= place.span.end);
    let mut actions = Vec::new();
    if wants(FIX) {
        for found in found.iter().filter(is_here) {
            let finding = serde_json::to_value(diagnostic(graph, &path, found, &client)).unwrap_or_default();
            for mut action in fixes(graph, &path, found, &client) {
                action["diagnostics"] = json!([finding]);
                actions.push(action);
            }
        }
    }
    // Nobody wants a line for it in every menu: it is made on request, such as at a save.
    if only.is_some() && wants(FIX_ALL) {
        actions.extend(fix_all(graph, &found, &client));
    }
    // Each of them is proved by compiling the graph twice: not at every move of a cursor.
    let is_asked = only.is_some() || params.context.trigger_kind != Some(CodeActionTriggerKind::Automatic);
    if is_asked && (wants(REWRITE) || wants(EXTRACT)) {
        if !graph.is_linked() {
            return if only.is_some() && actions.is_empty() { Err(Refusal::NotLinked) } else { Ok(actions.into()) };
        }
        actions
            .extend(rewrite::offers(graph, &path, span, &client).into_iter().filter(|action| action["kind"].as_str().is_some_and(wants)));
    }
    Ok(actions.into())
}

fn named(kind: &CodeActionKind) -> Option<String> {
    serde_json::to_value(kind).ok()?.as_str().map(str::to_owned)
}

/// Returns what resolves a finding: its fix first, then what it asks to be added, then to allow it.
fn fixes(graph: &mut Graph, path: &trellis_core::diagnostic::FilePath, found: &Diagnostic, client: &Client) -> Vec<Json> {
    let mut actions = Vec::new();
    if let Some(fix) = &found.fix {
        let edit = plain_edit(graph, &fix.edits, client);
        actions.push(json!({ "title": fix.title, "kind": FIX, "isPreferred": true, "edit": edit }));
    }
    let (changes, additions) = (mend::offers(graph, path, found, client), add::offers(graph, path, found, client));
    // A short name that is near an ending is more likely that of a node which is yet to be written.
    let is_new = found.help.as_deref().is_some_and(|help| help.starts_with("did you mean `fail`?"));
    let (first, second) = if is_new { (additions, changes) } else { (changes, additions) };
    actions.extend(first.into_iter().chain(second));
    actions.extend(allow::offer(graph, path, found, client));
    actions
}

/// Returns all fixes of a file at once, as far as they do not touch each other.
fn fix_all(graph: &mut Graph, found: &[Diagnostic], client: &Client) -> Option<Json> {
    let mut edits: Vec<TextEdit> = Vec::new();
    let touches = |one: Span, other: Span| one.start < other.end && other.start < one.end || one == other;
    for fix in found.iter().filter_map(|found| found.fix.as_ref()) {
        let is_free =
            |new: &TextEdit| !edits.iter().any(|edit| edit.place.path == new.place.path && touches(edit.place.span, new.place.span));
        if fix.edits.iter().all(is_free) {
            edits.extend(fix.edits.iter().cloned());
        }
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort();
    Some(json!({ "title": "fix everything that has one safe fix", "kind": FIX_ALL, "edit": plain_edit(graph, &edits, client) }))
}
