//! The routes: each request is one act of [`Sessions`], each answer a turn.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use serde_json::{Value as Wire, json};
use trellis_core::{Input, SessionId, SignalName, Start, Value};
use trellis_host::{Reply, SendError, Sent, Sessions, Stop, Turn};

type Answer = Result<Json<Wire>, (StatusCode, String)>;

pub(crate) fn routes(sessions: Arc<Sessions>) -> Router {
    Router::new().route("/sessions", post(start)).route("/sessions/{id}", get(view).post(send)).with_state(sessions)
}

/// The next free name: a server with accounts would have better ones.
async fn start(State(sessions): State<Arc<Sessions>>) -> Answer {
    for number in 1.. {
        let session = Some(SessionId::new(format!("s{number}")));
        match sessions.start(Start { session, ..Start::default() }).await {
            Err(SendError::Exists(_)) => {}
            turn => return answer(turn),
        }
    }
    unreachable!("there is always a free number")
}

/// Looks, and lets nothing go on.
async fn view(State(sessions): State<Arc<Sessions>>, Path(id): Path<String>) -> Answer {
    answer(sessions.view(&SessionId::new(id)).await)
}

async fn send(State(sessions): State<Arc<Sessions>>, Path(id): Path<String>, body: String) -> Answer {
    match sent(&body) {
        Ok(sent) => answer(sessions.send(&SessionId::new(id), sent).await),
        Err(why) => Err((StatusCode::BAD_REQUEST, format!("{why}\n"))),
    }
}

/// What a body says, and which question it answers.
fn sent(body: &str) -> Result<Sent, &'static str> {
    let Ok(Value::Map(body)) = Value::from_json(body) else { return Err("the body is a JSON object") };
    let reply = match (body.get("input"), body.get("approve"), body.get("signal")) {
        (Some(input), None, None) => Reply::Input(Input::Value(input.clone())),
        (None, Some(Value::Bool(yes)), None) => Reply::Approve { call: None, yes: *yes },
        (None, None, Some(Value::Text(signal))) => Reply::Input(Input::Signal(SignalName::new(&**signal))),
        _ => return Err("the body has one of `input`, `approve`, `signal`"),
    };
    let expected = match body.get("seq") {
        None => None,
        Some(Value::Int(seq)) if *seq >= 0 => Some(seq.unsigned_abs()),
        Some(_) => return Err("`seq` is the number of a question"),
    };
    Ok(Sent { expected, reply })
}

/// A turn as JSON, or why there is none. Who answers an earlier question is shown what is asked now.
fn answer(turn: Result<Turn, SendError>) -> Answer {
    match turn {
        Ok(turn) => Ok(Json(wire(&turn))),
        Err(SendError::Stale(turn) | SendError::TooLate(turn)) => Err((StatusCode::PRECONDITION_FAILED, wire(&turn).to_string())),
        Err(error) => {
            let status = match error {
                SendError::Unknown(_) => StatusCode::NOT_FOUND,
                SendError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::CONFLICT,
            };
            Err((status, format!("{error}\n")))
        }
    }
}

fn wire(turn: &Turn) -> Wire {
    let (stop, about) = match &turn.stop {
        Stop::Ask { request, .. } => ("ask", json!(request)),
        Stop::Approve { call, .. } => ("approve", json!(call)),
        Stop::Call { call, .. } => ("call", json!(call)),
        Stop::Ended(ended) => ("ended", json!(ended)),
        Stop::Running { .. } | Stop::Sleeping { .. } => ("busy", Wire::Null),
        // An edit may leave a session with a question of its own; `trellis session set` answers it.
        Stop::Keys { missing, .. } => ("needs", json!(missing)),
        Stop::Changed { now, .. } => ("changed", json!(now)),
        Stop::Predicate { name, .. } => ("predicate", json!(name)),
    };
    json!({ "session": turn.session, "seq": turn.asked, "said": turn.said, stop: about })
}
