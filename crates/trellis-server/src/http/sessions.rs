//! Routes of sessions: begun, listed, shown, answered, paused, resumed and removed.

use axum::{http::StatusCode, response::IntoResponse as _};
use serde_json::json;
use trellis_core::{NodeId, Value};
use trellis_host::{
    store::SessionStatus,
    wire::{BadReply, Reply},
};

use super::{
    answer::Answered,
    ask::Ask,
    fields::{Fields, unknown},
};
use crate::{
    act::{self, Answer, Beginning, HeadQuery, SettleByHand, StandingFilter},
    gate::Right,
    trouble::{Code, Trouble},
};

pub(super) async fn start(ask: Ask) -> Answered {
    let fields = ask.fields(&["graph", "id", "context", "locale", "at"])?;
    let beginning = Beginning {
        graph: fields.text("graph")?,
        id: fields.text("id")?,
        context: fields.mapping("context")?.unwrap_or_default(),
        locale: fields.text("locale")?,
        at: fields.text("at")?.map(NodeId::new),
    };
    if beginning.at.is_some() {
        ask.admit(Right::Operate)?;
    }
    let places = ask.app.served.graph(beginning.graph.as_deref())?.redactions.places();
    let request = ask.request(places)?;
    let _flight = ask.fly(&request)?;
    let walked = act::start(&ask.app.served, beginning, request, ask.wait()?.0).await?;
    let status = if walked.is_repeated { StatusCode::OK } else { StatusCode::CREATED };
    ask.turn(status, walked).await
}

pub(super) async fn list(ask: Ask) -> Answered {
    let standing = match ask.query("standing") {
        None => None,
        Some("open") => Some(StandingFilter::Open),
        Some(name) => {
            let names: Vec<_> = SessionStatus::ALL.iter().map(|status| status.as_str()).chain(["open"]).collect();
            let status = SessionStatus::ALL.into_iter().find(|status| status.as_str() == name);
            Some(StandingFilter::Is(status.ok_or_else(|| unknown("standing", name, &names))?))
        }
    };
    let moment = "a moment in milliseconds since 1970";
    let query = HeadQuery {
        graph: ask.query("graph").map(str::to_owned),
        standing,
        node: ask.query("node").map(str::to_owned),
        id: ask.query("id").map(str::to_owned),
        began_after: ask.query_as("began_after", moment)?,
        moved_after: ask.query_as("moved_after", moment)?,
        limit: ask.limit()?,
        after: ask.query("after").map(cursor).transpose()?,
    };
    let (items, next) = act::list(&ask.app.served, query).await?;
    let items = items.into_iter().map(|head| json!(head)).collect();
    Ok(ask.list(items, next.as_ref().map(cursor_text)))
}

/// A cursor of a list of sessions.
pub(crate) fn cursor_text((at, graph, id): &(u64, String, String)) -> String {
    format!("{at}.{}.{id}", hex(graph))
}

/// Reads a cursor.
///
/// # Errors
/// It is none.
pub(crate) fn cursor(text: &str) -> Result<(u64, String, String), Trouble> {
    let parts = text.split_once('.').and_then(|(at, rest)| Some((at.parse().ok()?, rest.split_once('.')?)));
    let read = parts.and_then(|(at, (graph, id))| Some((at, unhex(graph)?, id.to_owned())));
    read.ok_or_else(|| Trouble::new(Code::BadCursor, "`after` is the `next` of the page before"))
}

/// A name of a graph may have any character.
fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<String> {
    let bytes = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok());
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

pub(super) async fn look(ask: Ask) -> Answered {
    let target = ask.target().await?;
    let (seen, (wait, _)) = (ask.if_none_match()?, ask.wait()?);
    match act::look(target, seen, wait).await? {
        Some(walked) => ask.turn(StatusCode::OK, walked).await,
        None => Ok(StatusCode::NOT_MODIFIED.into_response()),
    }
}

pub(super) async fn send(ask: Ask) -> Answered {
    let bad = |bad: BadReply| Trouble::new(Code::named(bad.code).unwrap_or(Code::BadRequest), bad.message).at(bad.pointer);
    let reply = Reply::try_from(ask.body()?).map_err(bad)?;
    if matches!(reply, Reply::Approve { .. } | Reply::Deny { .. }) {
        ask.admit(Right::Approve)?;
    }
    let target = ask.target().await?;
    let answer = Answer { reply, expected: ask.if_match()? };
    let request = ask.request(target.graph.redactions.places())?;
    let _flight = ask.fly(&request)?;
    match act::send(target.clone(), answer, request, ask.wait()?.0).await {
        Ok(walked) => ask.turn(StatusCode::OK, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}

/// Settles a call by hand: the right `operate` does what the right `walk` cannot.
pub(super) async fn settle(ask: Ask) -> Answered {
    let fields = ask.fields(&["tool_result", "because"])?;
    let given = Fields::needed("tool_result", fields.value("tool_result").cloned())?;
    let bad = |bad: BadReply| Trouble::new(Code::named(bad.code).unwrap_or(Code::BadRequest), bad.message).at(bad.pointer);
    let Reply::ToolResult { tool_result, .. } = Reply::try_from(Value::map([("tool_result", given)])).map_err(bad)? else {
        return Err(Trouble::request("/tool_result", "`tool_result` is the result of a call").into());
    };
    let settle = SettleByHand { result: tool_result, because: fields.text("because")?.map(Into::into) };
    let target = ask.target().await?;
    let request = ask.request(target.graph.redactions.places())?;
    let _flight = ask.fly(&request)?;
    match act::settle(target.clone(), settle, request, ask.wait()?.0).await {
        Ok(walked) => ask.turn(StatusCode::OK, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}

pub(super) async fn pause(ask: Ask) -> Answered {
    ask.fields(&[])?;
    ask.wait()?;
    let walked = act::pause(ask.target().await?).await?;
    ask.turn(StatusCode::OK, walked).await
}

pub(super) async fn resume(ask: Ask) -> Answered {
    ask.fields(&[])?;
    let target = ask.target().await?;
    match act::resume(target.clone(), ask.wait()?.0).await {
        Ok(walked) => ask.turn(StatusCode::OK, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}

pub(super) async fn remove(ask: Ask) -> Answered {
    let (expected, open) = (ask.if_match_needed()?, ask.flag("open")?);
    let target = ask.target().await?;
    match act::remove(target.clone(), expected, open).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}
