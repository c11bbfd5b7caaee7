//! The end of a run: its reason, its place, and its remedy.

use trellis_core::{Program, Value, engine::EndView, program::Role, span::LineIndex, state::EndReason, syntax::document::Content};

use super::{Reason, console::RunSummary};

impl RunSummary {
    /// The end of a run whose session ended, on the program that it ended on.
    pub(super) fn ended(ended: EndView, program: &Program) -> Self {
        let failed = matches!(ended.reason, EndReason::Failed | EndReason::Denied);
        let code = ended.code.as_deref().unwrap_or_default();
        let of_text = || ended.place.as_ref().map(ToString::to_string);
        let place = failed.then(|| of_text().or_else(|| place(program, &ended))).flatten();
        let is_set = ended.message.as_deref().is_some_and(|message| !message.ends_with("is not set"));
        let help = match code {
            _ if ended.reason == EndReason::Denied => help("denied"),
            "template" if is_set => Some("let every path here save values of the kind that this needs"),
            code => help(code),
        };
        Self { reason: ended.reason.into(), place, help: help.filter(|_| failed), message: None, ended: Some(ended) }
    }

    /// The end of a run whose session did not end.
    pub(super) fn stopped(reason: Reason, message: Option<String>) -> Self {
        Self { reason, ended: None, message, place: None, help: None }
    }
}

/// Returns whether a rollback left effects: its list of them (language 7.7) is not empty.
pub fn leaves_something(rollback: &Value) -> bool {
    rollback.as_map().is_some_and(|lists| lists.iter().any(|(_, list)| !list.is_empty()))
}

/// The file and line of the node, or of its call where that failed.
fn place(program: &Program, ended: &EndView) -> Option<String> {
    let node = program.node(program.find(&ended.node)?);
    let document = program.documents().get(node.document as usize)?;
    let nodes = match &document.content {
        Content::Node(node) => std::slice::from_ref(&**node),
        Content::Nodes(nodes, _) => nodes,
        _ => &[],
    };
    let syntax = nodes.iter().find(|syntax| syntax.span == node.span);
    let call = syntax.and_then(|syntax| syntax.call.as_ref()).filter(|_| matches!(node.role, Role::Act(_)));
    let span = call.map_or(node.span, |call| call.span);
    let line = LineIndex::new(&document.text).locate(span.start).line;
    Some(format!("{}:{line}", document.path))
}

/// Returns the remedy for a failure.
fn help(code: &str) -> Option<&'static str> {
    Some(match code {
        "tool-error" => "say where to go then with `on_error`, or try again with `retry`",
        "timeout" => "say where to go then with `on_timeout`, or give it more time",
        "denied" => "say where to go then with `on_denied`",
        "no-match" => "add a `to`, which is taken when no transition holds",
        "max-visits" => "say where to go then with `on_max_visits`, or allow more visits",
        "missing-context" => "set the key before this node, or give it a `default_context`",
        "failed-assert" => "make the condition hold before this node is entered",
        "template" | "condition" => "guard the key: `{{ key | default(\"\") }}`, `key is set`",
        "limit" => "raise the bound under `limits` in `trellis.yaml`, if it is meant",
        _ => return None,
    })
}
