//! Routes about the server itself: liveness, readiness, metrics, and its API.

use axum::{
    http::{StatusCode, header},
    response::IntoResponse as _,
};

use trellis_host::metrics::CONTENT_TYPE;

use super::{answer::Answered, ask::Ask};
use crate::act;

pub(super) async fn live() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(ask: Ask) -> Answered {
    act::ready(&ask.app.served).await?;
    Ok("ready\n".into_response())
}

pub(super) async fn metrics(ask: Ask) -> Answered {
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], ask.app.measured()).into_response())
}

pub(super) async fn openapi(ask: Ask) -> Answered {
    Ok(ask.json(StatusCode::OK, (ask.app.document)(ask.app.served.only().is_some())))
}
