//! Routes of the engine alone, for clients that store the state, and the paths of Go Trellis.

use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use trellis_core::{Input, NodeId, SessionId, SignalName, Start, Value, engine::Answers};
use trellis_host::wire::Reply;

use super::{answer::Answered, ask::Ask, fields::Fields};
use crate::{
    act::{self, EngineInput},
    served::ServedGraph,
    trouble::Trouble,
};

pub(super) async fn start(ask: Ask) -> Answered {
    let fields = ask.fields(&["session", "context", "locale", "at", "answers"])?;
    let start = Start {
        session: fields.text("session")?.map(SessionId::new),
        context: fields.mapping("context")?.unwrap_or_default(),
        locale: fields.text("locale")?.map(Into::into),
        at: fields.text("at")?.map(NodeId::new),
        seed: None,
    };
    let answers = answers(&fields)?;
    Ok(ask.json(StatusCode::OK, act::engine_start(graph(&ask)?, start, answers)?))
}

pub(super) async fn render(ask: Ask) -> Answered {
    let fields = ask.fields(&["state"])?;
    let state = Fields::needed("state", read("state", fields.value("state"))?)?;
    Ok(ask.json(StatusCode::OK, act::engine_render(graph(&ask)?, state)?))
}

pub(super) async fn navigate(ask: Ask) -> Answered {
    let fields = ask.fields(&["state", "input", "tool_result", "answers"])?;
    let state = Fields::needed("state", read("state", fields.value("state"))?)?;
    let input = match (fields.value("input"), fields.value("tool_result")) {
        (None, None) => Input::Pass,
        (Some(Value::Text(text)), None) => Input::Text(text.to_string()),
        (Some(value), None) => Input::Value(value.clone()),
        (None, Some(result)) => {
            let line = Value::map([("tool_result", result.clone())]);
            match Reply::try_from(line).map_err(|bad| Trouble::request("/tool_result", bad.message))? {
                Reply::ToolResult { tool_result, .. } => Input::Result(tool_result.into()),
                _ => Input::Pass,
            }
        }
        (Some(_), Some(_)) => return Err(Trouble::request("", "a step takes `input` or `tool_result`, not both").into()),
    };
    let answers = answers(&fields)?;
    Ok(ask.json(StatusCode::OK, act::engine_navigate(graph(&ask)?, EngineInput { state, input, answers })?))
}

pub(super) async fn signal(ask: Ask) -> Answered {
    let fields = ask.fields(&["state", "signal"])?;
    let state = Fields::needed("state", read("state", fields.value("state"))?)?;
    let signal = SignalName::from(&*Fields::needed("signal", fields.text("signal")?)?);
    Ok(ask.json(StatusCode::OK, act::engine_signal(graph(&ask)?, state, &signal)?))
}

/// Renders a stored session; without one, a new start.
pub(super) async fn view(ask: Ask) -> Answered {
    let Some(session) = ask.query("session") else {
        let begun = act::engine_start(graph(&ask)?, Start::default(), Answers::new())?;
        let state = serde_json::from_value(begun["state"].clone()).map_err(|error| Trouble::request("", error.to_string()))?;
        return Ok(ask.json(StatusCode::OK, act::engine_render(graph(&ask)?, state)?));
    };
    let target = act::Target::find(&ask.app.served, session, None).await?;
    match act::look(target, None, std::time::Duration::ZERO).await? {
        Some(walked) => ask.turn(StatusCode::OK, walked).await,
        None => Err(Trouble::new(crate::Code::UnknownSession, "there is no such session").into()),
    }
}

fn graph(ask: &Ask) -> Result<&ServedGraph, Trouble> {
    let name = ask.param("graph");
    Ok(ask.app.served.graph(Some(name).filter(|name| !name.is_empty()))?)
}

fn answers(fields: &Fields) -> Result<Answers, Trouble> {
    Ok(read("answers", fields.value("answers"))?.unwrap_or_default())
}

/// Reads a value of a body as a type.
fn read<T: DeserializeOwned>(key: &str, value: Option<&Value>) -> Result<Option<T>, Trouble> {
    let read = |value: &Value| {
        serde_json::from_str(&value.to_json()).map_err(|error| {
            let error = error.to_string();
            let why = error.split_once(" at line").map_or(&*error, |(why, _)| why);
            Trouble::request(format!("/{key}"), format!("`{key}`: {why}"))
        })
    };
    value.map(read).transpose()
}
