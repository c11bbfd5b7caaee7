//! The tools beside the flows.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value as Json, json};
use trellis_core::{Mapping, SessionId, Value};
use trellis_host::{
    store::SessionStatus,
    wire::{self, BadReply, Reply},
};

use super::{
    McpApprovals, admit, arguments, ask, schemas,
    turn_report::{both, refusal_about, tell},
    walk::Walk,
};
use crate::{
    act::{self, Answer, HeadQuery, StandingFilter, Target},
    gate::Right,
    http::{self, unknown},
    trouble::{Code, Trouble},
};

/// The names of these tools; no flow has one of them.
pub(super) const NAMES: [&str; 5] = ["navigate", "render_state", "list_sessions", "list_approvals", "check"];
/// Those without which the questions of a flow could not be answered.
pub(super) const WALKING: [&str; 2] = ["navigate", "render_state"];
/// Sessions on a page.
const PAGE: u64 = 50;
/// Sessions on the longest page.
const MAX_PAGE: u64 = 500;

/// The tools.
pub(super) fn tools() -> Vec<Tool> {
    let session = json!({ "type": "string", "description": "The session." });
    let graph = json!({ "type": "string", "description": "The graph, where several have a session of that name." });
    let only = json!({ "type": "string", "description": "Only of this graph." });
    let reads = || ToolAnnotations::new().read_only(true).open_world(false);
    let about = "Answers a session, and advances it to its next question or its end. Give exactly one of input, tool_result, signal, approve, deny, \
                 predicate, context and keep; without any, it asks what is asked now.";
    let navigate = json!({
        "session": session, "graph": graph,
        "seq": { "type": "integer", "minimum": 0, "description": "The number of the turn that is answered: where something else is asked by now, nothing changes." },
        "to": { "type": "string", "description": "The child session that an input or a signal is for." },
        "input": { "description": "The answer to a question." },
        "tool_result": {
            "type": "object", "description": "What came of a call that you carried out: its id, and one of result, error and denied.",
            "properties": {
                "id": { "type": "string" }, "result": {}, "error": {}, "denied": { "const": true }, "reason": { "type": "string" },
            },
            "required": ["id"],
        },
        "signal": { "type": "string", "description": "Such as `interrupt`." },
        "approve": { "type": "string", "description": "The id of a call that may run." },
        "deny": { "type": "string", "description": "The id of a call that may not run." },
        "predicate": {
            "type": "object", "properties": { "id": { "type": "string" }, "value": { "type": "boolean" } }, "required": ["id", "value"],
        },
        "context": { "type": "object", "description": "The keys that an edited graph needs." },
        "keep": { "type": "boolean", "description": "Whether a call stays as it was before an edit." },
    });
    let turn = || schemas::turns(&json!({}));
    let list = json!({
        "graph": only,
        "standing": { "type": "string", "enum": standings(), "description": "What they are doing." },
        "limit": { "type": "integer", "minimum": 1, "maximum": MAX_PAGE },
        "after": { "type": "string", "description": "`next` of the page before." },
    });
    let report = schemas::object(json!({ "type": "object" }));
    vec![
        Tool::new("navigate", about, schemas::takes(navigate, &["session"])).with_raw_output_schema(turn()),
        Tool::new(
            "render_state",
            "Says where a session stands, what it said and what it asks. Waits up to 50 s while it works by itself.",
            schemas::takes(json!({ "session": session, "graph": graph }), &["session"]),
        )
        .with_raw_output_schema(turn())
        .with_annotations(reads()),
        Tool::new("list_sessions", "Lists sessions, those that moved last first.", schemas::takes(list, &[]))
            .with_raw_output_schema(schemas::lists())
            .with_annotations(reads()),
        Tool::new(
            "list_approvals",
            "Lists the calls that wait for the approval of a person.",
            schemas::takes(json!({ "graph": only }), &[]),
        )
        .with_raw_output_schema(schemas::lists())
        .with_annotations(reads()),
        Tool::new(
            "check",
            "Lists the mistakes of a graph, with their places and how to fix them.",
            schemas::takes(json!({ "graph": only }), &[]),
        )
        .with_raw_output_schema(report)
        .with_annotations(reads()),
    ]
}

fn standings() -> Vec<&'static str> {
    SessionStatus::ALL.iter().map(|status| status.as_str()).chain(["open"]).collect()
}

impl Walk<'_> {
    /// Carries out one of these tools.
    ///
    /// # Errors
    /// It is refused.
    pub(super) async fn tool(&self, params: CallToolRequestParams) -> Result<CallToolResponse, Trouble> {
        let arguments = params.arguments;
        let right = if params.name == "navigate" { Right::Walk } else { Right::Read };
        admit(&self.caller, right)?;
        Ok(match &*params.name {
            "navigate" => match params.request_state {
                Some(state) => self.answered(&state, params.input_responses).await?,
                None => self.navigate(arguments).await?,
            },
            "render_state" => {
                let walked = self.view(self.find(&arguments::fields(arguments, &["session", "graph"])?).await?).await?;
                self.result(&tell(&walked).await?, None).into()
            }
            "list_sessions" => self.sessions(arguments).await?.into(),
            "list_approvals" => self.approvals(arguments).await?.into(),
            _ => self.check(arguments)?.into(),
        })
    }

    async fn find(&self, fields: &http::Fields) -> Result<Target, Trouble> {
        let session = http::Fields::needed("session", fields.text("session")?)?;
        Target::find(&self.door.served, &session, fields.text("graph")?.as_deref()).await
    }

    async fn navigate(&self, given: Option<JsonObject>) -> Result<CallToolResponse, Trouble> {
        const KNOWN: [&str; 12] =
            ["session", "graph", "seq", "to", "input", "tool_result", "signal", "approve", "deny", "predicate", "context", "keep"];
        let fields = arguments::fields(given.clone(), &KNOWN)?;
        let target = self.find(&fields).await?;
        match self.replied(target.clone(), &fields, given).await {
            Ok(response) => Ok(response),
            Err(trouble) => Ok(refusal_about(&target, &trouble).await.into()),
        }
    }

    /// Hands the reply in that is among the arguments, if there is one.
    ///
    /// # Errors
    /// It is refused.
    async fn replied(&self, target: Target, fields: &http::Fields, given: Option<JsonObject>) -> Result<CallToolResponse, Trouble> {
        let expected = fields.number("seq")?;
        let reply: Mapping = arguments::mapping(given)?
            .iter()
            .filter(|(key, _)| !["session", "graph", "seq"].contains(&&***key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if reply.iter().next().is_none() {
            target.graph.task_notes.ask_again(&target.id);
            let walked = if target.is_paused_by_task() { self.resume(target).await? } else { self.view(target).await? };
            return self.go_on(walked, 1, None).await;
        }
        let bad = |bad: BadReply| Trouble::new(Code::named(bad.code).unwrap_or(Code::BadRequest), bad.message).at(bad.pointer);
        let reply = Reply::try_from(Value::Map(reply)).map_err(bad)?;
        if let Reply::Approve { .. } | Reply::Deny { .. } = &reply {
            admit(&self.caller, Right::Approve)?;
        }
        if matches!(&reply, Reply::Approve { .. }) && self.door.settings.approvals != McpApprovals::Call {
            return Err(needs_a_person(&target, self.door.settings.approvals));
        }
        if let Reply::Input { to, .. } = &reply
            && target.graph.redactions.places().is_some()
            && asks_secret(&target, to.as_ref()).await?
        {
            return Err(a_person_types_it(&target));
        }
        match self.send(target.clone(), Answer { reply, expected }).await {
            Ok(walked) => self.go_on(walked, 1, None).await,
            Err(trouble) => Err(http::refused(&target, trouble).await),
        }
    }

    async fn sessions(&self, given: Option<JsonObject>) -> Result<CallToolResult, Trouble> {
        let fields = arguments::fields(given, &["graph", "standing", "limit", "after"])?;
        let standing = match fields.text("standing")?.as_deref() {
            None => None,
            Some("open") => Some(StandingFilter::Open),
            Some(name) => {
                let status = SessionStatus::ALL.into_iter().find(|status| status.as_str() == name);
                Some(StandingFilter::Is(status.ok_or_else(|| unknown("standing", name, &standings()))?))
            }
        };
        let limit = fields.number("limit")?.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let after = fields.text("after")?.map(|after| http::cursor(&after)).transpose()?;
        let query = HeadQuery {
            graph: fields.text("graph")?,
            standing,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            after,
            ..HeadQuery::default()
        };
        let (items, next) = act::list(&self.door.served, query).await?;
        let items: Vec<Json> = items.into_iter().map(|head| json!(head)).collect();
        let line = |head: &Json| {
            let text = |key: &str| head[key].as_str().unwrap_or_default().to_owned();
            format!("{}, of {}: {} at {}", text("session"), text("graph"), text("standing"), text("node"))
        };
        let text = lines(items.iter().map(line), "There is no session.");
        Ok(both(text, json!({ "items": items, "next": next.map(|next| http::cursor_text(&next)) })))
    }

    async fn approvals(&self, given: Option<JsonObject>) -> Result<CallToolResult, Trouble> {
        let fields = arguments::fields(given, &["graph"])?;
        let items = http::held(&self.door.served, fields.text("graph")?.as_deref()).await?;
        let line = |item: &Json| {
            let ask = item["ask"].as_str().map(|ask| format!(" ({ask})")).unwrap_or_default();
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let call = &item["call"];
            format!("{}: {} with {}{ask}, call {}", text(&item["session"]), text(&call["name"]), call["args"], text(&call["id"]))
        };
        let text = lines(items.iter().map(line), "No call waits for an approval.");
        Ok(both(text, json!({ "items": items, "next": null })))
    }

    fn check(&self, given: Option<JsonObject>) -> Result<CallToolResult, Trouble> {
        let fields = arguments::fields(given, &["graph"])?;
        let graph = Arc::clone(self.door.served.graph(fields.text("graph")?.as_deref())?);
        let report = http::report(&graph);
        let line = |found: &Json| {
            let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
            let place = format!("{}:{}:{} ", text("path"), found["line"], found["column"]);
            let place = if found["path"].is_string() { place } else { String::new() };
            let help = found["help"].as_str().map(|help| format!("\n  help: {help}")).unwrap_or_default();
            format!("{place}{}[{}] {}{help}", text("severity"), text("code"), text("message"))
        };
        let found = report["diagnostics"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(both(lines(found.iter().map(line), "The graph has no mistakes."), report))
    }
}

fn lines(lines: impl Iterator<Item = String>, none: &str) -> String {
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() { none.to_owned() } else { text }
}

/// Returns whether a session of the tree, or the one that asks first, asks for a secret.
async fn asks_secret(target: &Target, to: Option<&SessionId>) -> Result<bool, Trouble> {
    let turn = target.sessions.view(&target.id).await?;
    let to = to.map_or(turn.child.as_ref(), |to| Some(to).filter(|to| **to != target.id));
    let others = turn.others.iter().map(|other| (&other.child, &other.stop));
    let mut all = std::iter::once((&turn.child, &turn.stop)).chain(others);
    Ok(all.any(|(child, stop)| child.as_ref() == to && ask::is_secret(&wire::Stop::of(stop, 0))))
}

/// A person types a secret: a model would have to know it.
fn a_person_types_it(target: &Target) -> Trouble {
    let detail = format!(
        "a secret is asked for, and a person types it, never a model: on the pages of `trellis serve`, or at a terminal with `trellis run --session {}`",
        target.id
    );
    Trouble::new(Code::WrongKind, detail).with("session", target.id.as_str())
}

/// A person decides, not the model that made the call.
fn needs_a_person(target: &Target, approvals: McpApprovals) -> Trouble {
    let or = if approvals == McpApprovals::Never { "or " } else { "" };
    let mut detail = format!(
        "a person decides about this call, not a model: on the pages of `trellis serve`, over HTTP, {or}at a terminal with `trellis run --session {}`",
        target.id
    );
    if approvals != McpApprovals::Never {
        detail += ", or by the form that `navigate` without an answer shows, where the client has forms";
    }
    Trouble::new(Code::ApprovalNeedsAPerson, detail).with("session", target.id.as_str())
}
