//! The route of secrets, by name alone.

use serde_json::json;

use super::{answer::Answered, ask::Ask};
use crate::act;

pub(super) async fn list(ask: Ask) -> Answered {
    let found = act::secrets(&ask.app.served, ask.query("graph")).await?;
    Ok(ask.list(found.into_iter().map(|secret| json!(secret)).collect(), None))
}
