//! Routes around: whether the server lives, is ready, how much it does, and what it offers.

use axum::{
    http::{StatusCode, header},
    response::IntoResponse as _,
};

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
    let own = ask.app.metrics.render(ask.app.rates.streams());
    // One text ends with `# EOF`.
    let text = format!("{own}{}", ask.app.served.metrics.render());
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response())
}

pub(super) async fn openapi(ask: Ask) -> Answered {
    Ok(ask.json(StatusCode::OK, super::openapi::openapi()))
}
