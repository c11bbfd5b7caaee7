//! Answers: turns, lists and objects as JSON, without secrets.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value as Json, json};
use trellis_core::SessionId;
use trellis_host::{Turn, wire};

use super::{Problem, ask::Ask, html, integers::texts};
use crate::{
    act::{Target, Walked},
    gate::Right,
    served::ServedGraph,
    trouble::Trouble,
};

pub(super) type Answered = Result<Response, Problem>;

impl Ask {
    /// An object.
    pub(super) fn json(&self, status: StatusCode, mut json: Json) -> Response {
        if self.wants_texts() {
            texts(&mut json);
        }
        (status, [(header::CONTENT_TYPE, "application/json")], json.to_string()).into_response()
    }

    /// An object with a tag; nothing, where the client has it.
    pub(super) fn tagged(&self, tag: &str, json: Json) -> Response {
        let tag = format!("\"{tag}\"");
        let is_known = self.headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { self.json(StatusCode::OK, json) };
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }

    /// A list.
    pub(super) fn list(&self, items: Vec<Json>, next: Option<String>) -> Response {
        self.json(StatusCode::OK, json!({ "items": items, "next": next }))
    }

    /// Answers with a turn: 202 while the session runs without a client, else `status`.
    ///
    /// # Errors
    /// The secrets of the session are unknown.
    pub(super) async fn turn(&self, status: StatusCode, walked: Walked) -> Answered {
        let Walked { target, turn, is_repeated } = walked;
        let json = turn_json(&target.graph, &turn, self.caller.rights.has(Right::Walk), self.flag("html").unwrap_or(false)).await?;
        let status = if turn.stop.needs_nobody() { StatusCode::ACCEPTED } else { status };
        let mut response = self.json(status, json);
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", turn.seq)) {
            headers.insert(header::ETAG, tag);
        }
        if status != StatusCode::OK
            && let Ok(place) = HeaderValue::from_str(&format!("/api/sessions/{}", target.id))
        {
            headers.insert(header::LOCATION, place);
        }
        if is_repeated {
            headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
        }
        if let (wait, true) = self.wait()?
            && let Ok(applied) = HeaderValue::from_str(&format!("wait={}", wait.as_secs()))
        {
            headers.insert("preference-applied", applied);
        }
        Ok(response)
    }

    /// Returns the reason why a request about a session was refused, without the secrets of the session.
    pub(super) async fn refused(&self, target: &Target, trouble: Trouble) -> Problem {
        let mut trouble = refused(target, trouble).await;
        trouble.has_texts = self.wants_texts();
        Problem(trouble)
    }
}

/// Returns the reason why a request about a session was refused, without the secrets of the session.
pub(crate) async fn refused(target: &Target, mut trouble: Trouble) -> Trouble {
    let mut current = trouble.current.take().map(|turn| addressed(&target.graph, *turn));
    let mut json = current.as_ref().map(|turn| serde_json::to_value(turn).unwrap_or_default());
    let mut detail = Json::from(trouble.detail.as_str());
    let mut errors: Json = trouble.errors.iter().map(|misfit| Json::from(misfit.message.as_str())).collect();
    let hidden = {
        let mut parts = vec![&mut detail, &mut errors];
        parts.extend(&mut trouble.expected);
        parts.extend(json.iter_mut().flat_map(|json| parts_of(json, None)));
        target.graph.redactions.hide(target.graph.store(), &target.id, &mut parts).await
    };
    if let Some(expected) = &mut trouble.expected
        && let Ok(turn) = target.sessions.view(&target.id).await
    {
        expected["payload"]["seq"] = turn.asked.into();
    }
    if hidden.is_err() {
        // Its secrets are unknown, so only the title is safe.
        (detail, current, trouble.expected) = (Json::from(trouble.code.title()), None, None);
    }
    trouble.detail = detail.as_str().unwrap_or_default().to_owned();
    for (misfit, message) in trouble.errors.iter_mut().zip(errors.as_array().into_iter().flatten()) {
        misfit.message = message.as_str().unwrap_or_default().to_owned();
    }
    trouble.current = current.zip(json).and_then(|(_, json)| serde_json::from_value::<wire::Turn>(json).ok()).map(Box::new);
    trouble
}

/// The JSON of a turn. `is_whole` shows the arguments of a call that the client carries out.
///
/// # Errors
/// The secrets of the session are unknown.
pub(crate) async fn turn_json(graph: &ServedGraph, turn: &Turn, is_whole: bool, with_html: bool) -> Result<Json, Trouble> {
    let id: &SessionId = &turn.session;
    let mut json = serde_json::to_value(addressed(graph, wire::Turn::from(turn))).unwrap_or_default();
    let mut parts = parts_of(&mut json, Some(turn).filter(|_| is_whole));
    graph.redactions.hide(graph.store(), id, &mut parts).await?;
    if with_html {
        add_html(&mut json);
    }
    Ok(json)
}

/// Adds the texts of a turn as HTML.
pub(crate) fn add_html(turn: &mut Json) {
    for said in turn["said"].as_array_mut().into_iter().flatten() {
        said["html"] = html::of(said["text"].as_str().unwrap_or_default()).into();
    }
}

/// A turn with the name of its graph, the time, and whether the session is paused here.
fn addressed(graph: &ServedGraph, turn: wire::Turn) -> wire::Turn {
    let is_paused = graph.sessions().is_ok_and(|sessions| sessions.is_paused(&turn.session));
    turn.addressed(graph.name.clone(), crate::clock::now()).paused(is_paused)
}

/// The parts of a turn that have values of its session; but for the calls of `whole`, which its client carries out.
fn parts_of<'j>(json: &'j mut Json, whole: Option<&Turn>) -> Vec<&'j mut Json> {
    let mut parts = Vec::new();
    for (key, value) in json.as_object_mut().into_iter().flatten() {
        match &**key {
            "said" => parts.push(value),
            "happened" => parts.extend(value.as_array_mut().into_iter().flatten()),
            "stop" if !whole.is_some_and(|turn| turn.stop.is_call()) => parts.push(value),
            "others" => {
                let others = value.as_array_mut().into_iter().flatten().enumerate();
                let is_spared = |at: usize| whole.and_then(|turn| turn.others.get(at)).is_some_and(|other| other.stop.is_call());
                parts.extend(others.filter(|(at, _)| !is_spared(*at)).filter_map(|(_, other)| other.get_mut("stop")));
            }
            _ => {}
        }
    }
    parts
}
