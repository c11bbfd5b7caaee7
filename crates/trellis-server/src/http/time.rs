//! Routes of a session's past: its records, the state after each, its path; and its moves.

use std::sync::Arc;

use axum::{
    http::{StatusCode, header},
    response::IntoResponse as _,
};
use serde_json::json;
use trellis_core::{NodeId, SessionId, path::KeyPath};

use super::{answer::Answered, ask::Ask, fields::Fields, html};
use crate::{
    act::{self, RecordQuery, Relocation, Target},
    trouble::{Code, Trouble},
};

pub(super) async fn records(ask: Ask) -> Answered {
    let target = ask.target().await?;
    let query =
        RecordQuery { from: ask.query_as("from", "a number of a record")?.unwrap_or(0), limit: ask.limit()?, newest: ask.flag("newest")? };
    let page = act::records(&target.graph, &target.id, query).await?;
    let items: Vec<_> = page.rows.into_iter().map(|row| row.json).collect();
    let next = page.next.map(|next| next.to_string());
    Ok(ask.json(StatusCode::OK, json!({ "items": items, "next": next, "first": page.first })))
}

pub(super) async fn at(ask: Ask) -> Answered {
    let target = ask.target().await?;
    let mut json =
        act::state_at(&target.graph, &target.id, ask.param_number("seq")?, ask.query("child").map(SessionId::from).as_ref()).await?;
    if ask.flag("html")?
        && let Some(said) = json["said"].as_str()
    {
        json["html"] = html::of(said).into();
    }
    Ok(ask.json(StatusCode::OK, json))
}

pub(super) async fn path(ask: Ask) -> Answered {
    let target = ask.target().await?;
    Ok(ask.json(StatusCode::OK, act::path(&target.graph, &target.id).await?))
}

pub(super) async fn replay(ask: Ask) -> Answered {
    let target = ask.target().await?;
    Ok(ask.json(StatusCode::OK, act::replay(&target.graph, &target.id).await?))
}

pub(super) async fn export(ask: Ask) -> Answered {
    let target = ask.target().await?;
    let text = act::export(&target.graph, &target.id).await?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response())
}

pub(super) async fn back(ask: Ask) -> Answered {
    let fields = ask.fields(&["to"])?;
    let to = Fields::needed("to", fields.number("to")?)?;
    relocated(ask, Relocation::Back(to)).await
}

pub(super) async fn goto(ask: Ask) -> Answered {
    let fields = ask.fields(&["node"])?;
    let node = Fields::needed("node", fields.text("node")?)?;
    relocated(ask, Relocation::Node(NodeId::new(node))).await
}

pub(super) async fn set(ask: Ask) -> Answered {
    let fields = ask.fields(&["set"])?;
    let set = Fields::needed("set", fields.mapping("set")?)?;
    let mut assignments = Vec::new();
    for (key, value) in set.iter() {
        let path = KeyPath::parse(key)
            .ok_or_else(|| Trouble::new(Code::BadKey, format!("`{key}` is no path of the context")).at(format!("/set/{key}")))?;
        assignments.push((path, value.clone()));
    }
    relocated(ask, Relocation::Context(assignments)).await
}

async fn relocated(ask: Ask, to: Relocation) -> Answered {
    let expected = ask.if_match_needed()?;
    ask.wait()?;
    let target = ask.target().await?;
    let request = ask.request(target.graph.redactions.places())?;
    let _flight = ask.fly(&request)?;
    let moved = tokio::spawn(act::relocate(target.clone(), expected, to, request)).await;
    match moved.map_err(broken)? {
        Ok(walked) => ask.turn(StatusCode::OK, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}

pub(super) async fn fork(ask: Ask) -> Answered {
    let fields = ask.fields(&["at", "id"])?;
    let (at, id) = (fields.number("at")?, fields.text("id")?);
    ask.wait()?;
    let target: Target = ask.target().await?;
    let request = ask.request(target.graph.redactions.places())?;
    let _flight = ask.fly(&request)?;
    let (served, from) = (Arc::clone(&ask.app.served), target.clone());
    let forked = tokio::spawn(async move { act::fork(&served, from, at, id, request).await }).await;
    match forked.map_err(broken)? {
        Ok(walked) if walked.is_repeated => ask.turn(StatusCode::OK, walked).await,
        Ok(walked) => ask.turn(StatusCode::CREATED, walked).await,
        Err(trouble) => Err(ask.refused(&target, trouble).await),
    }
}

fn broken(error: tokio::task::JoinError) -> Trouble {
    Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string())
}
