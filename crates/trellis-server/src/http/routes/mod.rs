//! The table of routes: each with its right, its parameters, its answers, and its codes. The router and `openapi.json` are generated from it.

mod around;
mod looks;
mod walks;

use axum::routing::get;

use super::{
    health,
    route::{Parameter, Route, parameter},
};
use crate::{gate::Right, trouble::Code};

const GRAPH: Parameter = parameter("graph", "string", "The graph, where several are served.");
const LIMIT: Parameter = parameter("limit", "integer", "Items on a page, from 1 to 500.");
const AFTER: Parameter = parameter("after", "string", "The `next` of the page before.");
const HTML: Parameter = parameter("html", "boolean", "Whether texts come as safe HTML besides.");

/// Codes of every route of a session.
const SESSION: &[Code] = &[Code::UnknownSession, Code::BadName, Code::Ambiguous, Code::UnknownGraph, Code::Unfit, Code::Render];
/// Codes of every route that needs a program.
const PROGRAM: &[Code] = &[Code::NoProgram];
/// Codes of every route that reads a store.
const STORE: &[Code] = &[Code::StoreUnavailable, Code::Lost, Code::OtherGraph];
/// Codes of every route that walks.
const WALK: &[Code] =
    &[Code::StoreUnwritable, Code::Stopping, Code::PassThrough, Code::Render, Code::Refused, Code::Unfit, Code::Stopped, Code::Conflict];
/// Codes of refusals by an engine.
const REFUSAL: &[Code] = &[
    Code::Ended,
    Code::WrongKind,
    Code::ForeignCall,
    Code::UnhandledSignal,
    Code::UnansweredPredicate,
    Code::Unadopted,
    Code::InvalidInput,
    Code::InputTooLarge,
    Code::UnknownChild,
];
/// Codes of every route that takes a named request.
const NAMED: &[Code] = &[Code::KeyReused, Code::InProgress];
/// Codes of time travel.
const TIME: &[Code] = &[Code::CannotStandThere, Code::RollingBack, Code::Pruned, Code::UnknownRecord, Code::UnknownNode, Code::BadKey];
/// Codes of every route that must say which state it means.
const MATCHED: &[Code] = &[Code::IfMatchRequired];
/// Codes of graphs.
const OF_GRAPH: &[Code] = &[Code::UnknownGraph];

const SENT: &[&str] = &["Idempotency-Key", "Prefer"];
const ANSWERED: &[&str] = &["If-Match", "Idempotency-Key", "Prefer"];
const PUT: &[&str] = &["If-Match", "Idempotency-Key"];

/// Every route of a server that serves one graph alone, or several.
pub(in crate::http) fn routes(is_alone: bool) -> impl Iterator<Item = &'static Route> {
    [walks::ROUTES, looks::ROUTES, around::ROUTES].into_iter().flatten().filter(move |route| is_alone || !route.is_alias)
}

/// A route with the usual values.
const USUAL: Route = Route {
    id: "",
    method: "GET",
    path: "",
    right: Some(Right::Read),
    has_chats: false,
    summary: "",
    query: &[],
    headers: &[],
    takes: None,
    example: "{}",
    answers: &[(200, "object")],
    codes: &[],
    is_alias: false,
    handler: || get(health::live),
};
