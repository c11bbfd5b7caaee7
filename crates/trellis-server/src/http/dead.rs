//! Routes of dead letters.

use axum::{http::StatusCode, response::IntoResponse as _};
use serde_json::{Value as Json, json};

use super::{answer::Answered, ask::Ask};
use crate::{act, served::Served, trouble::Trouble};

pub(super) async fn list(ask: Ask) -> Answered {
    let items = dead_letters(&ask.app.served, ask.query("graph")).await?;
    Ok(ask.list(items, None))
}

/// Returns the dead letters of one graph or of all, without secrets.
///
/// # Errors
/// There is no such graph, or a store fails.
pub(crate) async fn dead_letters(served: &Served, graph: Option<&str>) -> Result<Vec<Json>, Trouble> {
    let mut items = Vec::new();
    for found in act::letters(served, graph).await? {
        items.push(json!(found.shown().await?));
    }
    Ok(items)
}

pub(super) async fn show(ask: Ask) -> Answered {
    let found = act::letter(&ask.app.served, ask.param("letter"), ask.query("graph")).await?;
    Ok(ask.json(StatusCode::OK, json!(found.shown().await?)))
}

pub(super) async fn retry(ask: Ask) -> Answered {
    let (found, is_settled) = act::retry(&ask.app.served, ask.param("letter"), ask.query("graph")).await?;
    let mut letter = json!(found.shown().await?);
    letter["settled"] = is_settled.into();
    Ok(ask.json(StatusCode::OK, letter))
}

pub(super) async fn remove(ask: Ask) -> Answered {
    act::drop_letter(&ask.app.served, ask.param("letter"), ask.query("graph")).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
