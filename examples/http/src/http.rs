//! The routes: each request is one act of [`Sessions`], each answer a turn. Both are the wire types of the host: a request has the keys of a line of
//! JSON Lines.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use trellis_core::{SessionId, Start};
use trellis_host::{
    SendError, Sessions, Turn,
    wire::{self, Reply},
};

type Answer = Result<Json<wire::Turn>, (StatusCode, String)>;

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
    match Reply::parse(&body) {
        Ok(reply) => answer(sessions.send(&SessionId::new(id), reply).await),
        Err(bad) => Err((StatusCode::BAD_REQUEST, format!("{bad}\n"))),
    }
}

/// A turn as JSON, or why there is none. Who answers an earlier question is shown what is asked now.
fn answer(turn: Result<Turn, SendError>) -> Answer {
    match turn {
        Ok(turn) => Ok(Json(wire::Turn::from(&turn))),
        Err(SendError::Stale(turn) | SendError::TooLate(turn)) => {
            let now = serde_json::to_string(&wire::Turn::from(&*turn)).unwrap_or_else(|error| format!("{error}\n"));
            Err((StatusCode::PRECONDITION_FAILED, now))
        }
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
