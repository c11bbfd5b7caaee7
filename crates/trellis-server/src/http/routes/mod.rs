//! The table of routes: each with its right, its parameters, its answers, and its codes. The router and `openapi.json` are generated from it.

mod around;
mod looks;
mod walks;

use axum::routing::{MethodRouter, get};

use super::{App, health};
use crate::{gate::Right, trouble::Code};

type Methods = MethodRouter<std::sync::Arc<App>>;

/// A route.
pub(in crate::http) struct Route {
    /// The name of the operation.
    pub(in crate::http) id: &'static str,
    pub(in crate::http) method: &'static str,
    pub(in crate::http) path: &'static str,
    /// The right that it requires; `None` for a public one.
    pub(in crate::http) right: Option<Right>,
    pub(in crate::http) summary: &'static str,
    pub(in crate::http) query: &'static [Parameter],
    /// The headers that it reads.
    pub(in crate::http) headers: &'static [&'static str],
    /// The schema of the body, by name; `None` if it has none.
    pub(in crate::http) takes: Option<&'static str>,
    /// A body that can be sent.
    pub(in crate::http) example: &'static str,
    /// Statuses of success, each with the schema of its body.
    pub(in crate::http) answers: &'static [(u16, &'static str)],
    /// The codes of problems that are its own.
    pub(in crate::http) codes: &'static [&'static [Code]],
    /// True if it exists only where one graph is served.
    pub(in crate::http) is_alias: bool,
    pub(in crate::http) handler: fn() -> Methods,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Parameter {
    pub(in crate::http) name: &'static str,
    pub(in crate::http) kind: &'static str,
    pub(in crate::http) about: &'static str,
}

const fn parameter(name: &'static str, kind: &'static str, about: &'static str) -> Parameter {
    Parameter { name, kind, about }
}

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
const TIME: &[Code] =
    &[Code::CannotStandThere, Code::RollingBack, Code::Pruned, Code::UnknownRecord, Code::UnknownNode, Code::BadKey, Code::IfMatchRequired];
/// Codes of graphs.
const OF_GRAPH: &[Code] = &[Code::UnknownGraph];

const SENT: &[&str] = &["Idempotency-Key", "Prefer"];
const ANSWERED: &[&str] = &["If-Match", "Idempotency-Key", "Prefer"];
const PUT: &[&str] = &["If-Match", "Idempotency-Key"];

/// Every route.
pub(in crate::http) fn routes() -> impl Iterator<Item = &'static Route> {
    [walks::ROUTES, looks::ROUTES, around::ROUTES].into_iter().flatten()
}

/// A route with the usual values.
const USUAL: Route = Route {
    id: "",
    method: "GET",
    path: "",
    right: Some(Right::Read),
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
