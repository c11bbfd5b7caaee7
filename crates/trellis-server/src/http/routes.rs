//! The table of routes: each with its right, what it takes, what it answers, and its codes. The router and `openapi.json` are made of it.

use axum::routing::{MethodRouter, delete, get, patch, post};

use super::{App, approvals, engine, events, graphs, health, sessions, time};
use crate::{gate::Right, trouble::Code};

type Methods = MethodRouter<std::sync::Arc<App>>;

/// A route.
pub(crate) struct Route {
    /// The name of the operation.
    pub(super) id: &'static str,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The right that it takes; nothing where none is needed.
    pub(super) right: Option<Right>,
    pub(super) summary: &'static str,
    pub(super) query: &'static [Parameter],
    /// The headers that it looks at.
    pub(super) headers: &'static [&'static str],
    /// The schema of the body, by name; nothing where it has none.
    pub(super) takes: Option<&'static str>,
    /// A body that can be sent.
    pub(super) example: &'static str,
    /// Statuses of success, each with the schema of its body.
    pub(super) answers: &'static [(u16, &'static str)],
    /// The codes of problems that are its own.
    pub(super) codes: &'static [&'static [Code]],
    /// Whether it is there only where one graph is served.
    pub(super) is_alias: bool,
    pub(super) handler: fn() -> Methods,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// A parameter of the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) about: &'static str,
}

const fn parameter(name: &'static str, kind: &'static str, about: &'static str) -> Parameter {
    Parameter { name, kind, about }
}

const GRAPH: Parameter = parameter("graph", "string", "The graph, where several are served.");
const LIMIT: Parameter = parameter("limit", "integer", "Items on a page, from 1 to 500.");
const AFTER: Parameter = parameter("after", "string", "The `next` of the page before.");
const HTML: Parameter = parameter("html", "boolean", "Whether texts come as safe HTML besides.");

/// Codes of every route of a session.
const SESSION: &[Code] = &[Code::UnknownSession, Code::BadName, Code::Ambiguous, Code::UnknownGraph];
/// Codes of every route that needs a program.
const PROGRAM: &[Code] = &[Code::NoProgram];
/// Codes of every route that reads a store.
const STORE: &[Code] = &[Code::StoreUnavailable, Code::Lost, Code::OtherGraph];
/// Codes of every route that walks.
const WALK: &[Code] =
    &[Code::StoreUnwritable, Code::Stopping, Code::PassThrough, Code::Render, Code::Refused, Code::Unfit, Code::Stopped, Code::Conflict];
/// Codes of what an engine refuses.
const REFUSAL: &[Code] = &[
    Code::Ended,
    Code::WrongKind,
    Code::ForeignCall,
    Code::UnhandledSignal,
    Code::UnansweredPredicate,
    Code::Unadopted,
    Code::InvalidInput,
    Code::InputTooLarge,
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

/// A route of which most is usual.
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

/// Every route.
pub(super) static ROUTES: &[Route] = &[
    Route {
        id: "start_session",
        method: "POST",
        path: "/api/sessions",
        right: Some(Right::Walk),
        summary: "Begins a session.",
        query: &[HTML],
        headers: SENT,
        takes: Some("start_request"),
        example: r#"{"id":"ana","context":{}}"#,
        answers: &[(201, "turn"), (202, "turn"), (200, "turn")],
        codes: &[
            &[Code::SessionExists, Code::StartRefused, Code::UnknownNode, Code::UnansweredPredicate, Code::BadName],
            OF_GRAPH,
            PROGRAM,
            STORE,
            WALK,
            NAMED,
        ],
        handler: || post(sessions::start),
        ..USUAL
    },
    Route {
        id: "list_sessions",
        path: "/api/sessions",
        summary: "Lists sessions, those that moved last first.",
        query: &[
            GRAPH,
            parameter("standing", "string", "Only these: `open`, or what they wait for or how they ended."),
            parameter("node", "string", "Only those at this node."),
            parameter("id", "string", "Only those whose name begins so."),
            parameter("began_after", "integer", "Only those that began after this moment."),
            parameter("moved_after", "integer", "Only those that moved after this moment."),
            LIMIT,
            AFTER,
        ],
        answers: &[(200, "head_list")],
        codes: &[&[Code::BadCursor], OF_GRAPH, STORE],
        handler: || get(sessions::list),
        ..USUAL
    },
    Route {
        id: "get_session",
        path: "/api/sessions/{id}",
        summary: "Shows where a session stands; nothing goes on.",
        query: &[GRAPH, HTML],
        headers: &["If-None-Match", "Prefer"],
        answers: &[(200, "turn"), (202, "turn"), (304, "")],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || get(sessions::look),
        ..USUAL
    },
    Route {
        id: "answer_session",
        method: "POST",
        path: "/api/sessions/{id}/turns",
        right: Some(Right::Walk),
        summary: "Answers a session, and waits for its next stop.",
        query: &[GRAPH, HTML],
        headers: ANSWERED,
        takes: Some("in"),
        example: r#"{"input":"Ada"}"#,
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[&[Code::TooLate, Code::ReservedName], SESSION, PROGRAM, STORE, WALK, REFUSAL, NAMED],
        handler: || post(sessions::send),
        ..USUAL
    },
    Route {
        id: "pause_session",
        method: "POST",
        path: "/api/sessions/{id}/pause",
        right: Some(Right::Walk),
        summary: "Stops what runs, until the session is resumed or answered.",
        query: &[GRAPH, HTML],
        takes: Some("nothing"),
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || post(sessions::pause),
        ..USUAL
    },
    Route {
        id: "resume_session",
        method: "POST",
        path: "/api/sessions/{id}/resume",
        right: Some(Right::Walk),
        summary: "Goes on with a session that was paused.",
        query: &[GRAPH, HTML],
        headers: &["Prefer"],
        takes: Some("nothing"),
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[SESSION, PROGRAM, STORE, WALK],
        handler: || post(sessions::resume),
        ..USUAL
    },
    Route {
        id: "remove_session",
        method: "DELETE",
        path: "/api/sessions/{id}",
        right: Some(Right::Operate),
        summary: "Removes a session.",
        query: &[GRAPH, parameter("open", "boolean", "Whether one is removed, too, that has not ended.")],
        headers: &["If-Match"],
        answers: &[(204, "")],
        codes: &[
            &[Code::NotEnded, Code::InProgress, Code::Conflict, Code::IfMatchRequired, Code::StoreUnwritable],
            SESSION,
            PROGRAM,
            STORE,
        ],
        handler: || delete(sessions::remove),
        ..USUAL
    },
    Route {
        id: "list_records",
        path: "/api/sessions/{id}/records",
        summary: "Lists the records of a session.",
        query: &[
            GRAPH,
            parameter("from", "integer", "The first record."),
            LIMIT,
            parameter("newest", "boolean", "Whether the newest are meant."),
        ],
        answers: &[(200, "record_list")],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || get(time::records),
        ..USUAL
    },
    Route {
        id: "get_state_at",
        path: "/api/sessions/{id}/at/{seq}",
        summary: "Shows a session as it was after a record.",
        query: &[GRAPH],
        codes: &[&[Code::UnknownRecord, Code::Pruned], SESSION, PROGRAM, STORE],
        handler: || get(time::at),
        ..USUAL
    },
    Route {
        id: "get_path",
        path: "/api/sessions/{id}/path",
        summary: "Shows the path that a session walked.",
        query: &[GRAPH],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || get(time::path),
        ..USUAL
    },
    Route {
        id: "replay_session",
        path: "/api/sessions/{id}/replay",
        summary: "Takes every recorded step again on the graph as it is.",
        query: &[GRAPH],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || get(time::replay),
        ..USUAL
    },
    Route {
        id: "export_session",
        path: "/api/sessions/{id}/export",
        summary: "Writes a session as a test in Markdown.",
        query: &[GRAPH],
        answers: &[(200, "text/markdown")],
        codes: &[&[Code::Pruned], SESSION, PROGRAM, STORE],
        handler: || get(time::export),
        ..USUAL
    },
    Route {
        id: "follow_session",
        path: "/api/sessions/{id}/events",
        summary: "Streams what happens in a session.",
        query: &[GRAPH, HTML, parameter("since", "integer", "The last record that the client has.")],
        headers: &["Last-Event-ID"],
        answers: &[(200, "text/event-stream")],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || get(events::session),
        ..USUAL
    },
    Route {
        id: "move_back",
        method: "POST",
        path: "/api/sessions/{id}/back",
        right: Some(Right::Operate),
        summary: "Puts a session back to where it was after a record.",
        query: &[GRAPH, HTML],
        headers: PUT,
        takes: Some("back_request"),
        example: r#"{"to":0}"#,
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[TIME, SESSION, PROGRAM, STORE, WALK, NAMED],
        handler: || post(time::back),
        ..USUAL
    },
    Route {
        id: "move_to_node",
        method: "POST",
        path: "/api/sessions/{id}/goto",
        right: Some(Right::Operate),
        summary: "Puts a session into a node.",
        query: &[GRAPH, HTML],
        headers: PUT,
        takes: Some("goto_request"),
        example: r#"{"node":"start"}"#,
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[TIME, SESSION, PROGRAM, STORE, WALK, NAMED],
        handler: || post(time::goto),
        ..USUAL
    },
    Route {
        id: "fork_session",
        method: "POST",
        path: "/api/sessions/{id}/fork",
        right: Some(Right::Operate),
        summary: "Begins a new session from where this one was after a record.",
        query: &[GRAPH, HTML],
        headers: &["Idempotency-Key"],
        takes: Some("fork_request"),
        example: r#"{"at":0}"#,
        answers: &[(201, "turn"), (202, "turn"), (200, "turn")],
        codes: &[&[Code::SessionExists], TIME, SESSION, PROGRAM, STORE, WALK, NAMED],
        handler: || post(time::fork),
        ..USUAL
    },
    Route {
        id: "set_context",
        method: "PATCH",
        path: "/api/sessions/{id}/context",
        right: Some(Right::Operate),
        summary: "Sets values of the context.",
        query: &[GRAPH, HTML],
        headers: PUT,
        takes: Some("set_request"),
        example: r#"{"set":{"name":"Ada"}}"#,
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[TIME, SESSION, PROGRAM, STORE, WALK, NAMED],
        handler: || patch(time::set),
        ..USUAL
    },
    Route {
        id: "list_approvals",
        path: "/api/approvals",
        summary: "Lists the calls that wait for an approval.",
        query: &[GRAPH],
        answers: &[(200, "approval_list")],
        codes: &[OF_GRAPH, STORE],
        handler: || get(approvals::list),
        ..USUAL
    },
    Route {
        id: "decide_approval",
        method: "POST",
        path: "/api/sessions/{id}/approvals/{call}",
        right: Some(Right::Approve),
        summary: "Approves or denies the call that was seen.",
        query: &[GRAPH, HTML],
        headers: SENT,
        takes: Some("decision_request"),
        example: r#"{"decision":"approve"}"#,
        answers: &[(200, "turn"), (202, "turn")],
        codes: &[&[Code::CallChanged, Code::ApprovedAlready, Code::Expired, Code::NotHeld], SESSION, PROGRAM, STORE, WALK, REFUSAL, NAMED],
        handler: || post(approvals::decide),
        ..USUAL
    },
    Route {
        id: "list_graphs",
        path: "/api/graphs",
        summary: "Lists the graphs.",
        answers: &[(200, "graph_list")],
        codes: &[STORE],
        handler: || get(graphs::list),
        ..USUAL
    },
    Route {
        id: "get_graph",
        path: "/api/graphs/{graph}",
        summary: "Shows a graph: its nodes, and every edge that can be taken.",
        query: &[parameter("format", "string", "`json`, `mermaid` or `dot`.")],
        headers: &["If-None-Match"],
        answers: &[(200, "object"), (304, "")],
        codes: &[OF_GRAPH, PROGRAM],
        handler: || get(graphs::graph),
        ..USUAL
    },
    Route {
        id: "get_node",
        path: "/api/graphs/{graph}/nodes/{*node}",
        summary: "Shows a node: its text, its ways, and what is known of the context there.",
        codes: &[&[Code::UnknownNode], OF_GRAPH, PROGRAM],
        handler: || get(graphs::node),
        ..USUAL
    },
    Route {
        id: "get_diagnostics",
        path: "/api/graphs/{graph}/diagnostics",
        summary: "Shows the findings of a graph.",
        headers: &["If-None-Match"],
        answers: &[(200, "object"), (304, "")],
        codes: &[OF_GRAPH],
        handler: || get(graphs::diagnostics),
        ..USUAL
    },
    Route {
        id: "search_graph",
        path: "/api/graphs/{graph}/search",
        summary: "Finds nodes by their ids and texts.",
        query: &[parameter("q", "string", "The words."), LIMIT],
        codes: &[OF_GRAPH, PROGRAM],
        handler: || get(graphs::search),
        ..USUAL
    },
    Route {
        id: "check_sessions",
        path: "/api/graphs/{graph}/fit",
        summary: "Holds the stored sessions against the graph as it is.",
        codes: &[OF_GRAPH, PROGRAM, STORE],
        handler: || get(graphs::fit),
        ..USUAL
    },
    Route {
        id: "reload_graph",
        method: "POST",
        path: "/api/graphs/{graph}/reload",
        right: Some(Right::Operate),
        summary: "Reads the files of a graph again.",
        takes: Some("nothing"),
        codes: &[&[Code::Vetoed], OF_GRAPH, PROGRAM],
        handler: || post(graphs::reload),
        ..USUAL
    },
    Route {
        id: "explain",
        path: "/api/explain/{code}",
        summary: "Explains the code of a finding or a problem.",
        answers: &[(200, "text/markdown")],
        codes: &[&[Code::UnknownCode, Code::NotAcceptable]],
        handler: || get(graphs::explain),
        ..USUAL
    },
    Route {
        id: "engine_start",
        method: "POST",
        path: "/api/graphs/{graph}/engine/start",
        right: Some(Right::Walk),
        summary: "Begins a session that the client keeps.",
        takes: Some("engine_start_request"),
        example: r#"{"context":{}}"#,
        codes: &[&[Code::StartRefused, Code::UnknownNode], OF_GRAPH, PROGRAM, REFUSAL],
        handler: || post(engine::start),
        ..USUAL
    },
    Route {
        id: "engine_render",
        method: "POST",
        path: "/api/graphs/{graph}/engine/render",
        right: Some(Right::Walk),
        summary: "Shows what a state says and asks.",
        takes: Some("engine_render_request"),
        example: r#"{"state":{}}"#,
        codes: &[&[Code::Render, Code::Unadopted], OF_GRAPH, PROGRAM],
        handler: || post(engine::render),
        ..USUAL
    },
    Route {
        id: "engine_navigate",
        method: "POST",
        path: "/api/graphs/{graph}/engine/navigate",
        right: Some(Right::Walk),
        summary: "Takes one step from a state.",
        takes: Some("engine_navigate_request"),
        example: r#"{"state":{},"input":"Ada"}"#,
        codes: &[OF_GRAPH, PROGRAM, REFUSAL],
        handler: || post(engine::navigate),
        ..USUAL
    },
    Route {
        id: "engine_signal",
        method: "POST",
        path: "/api/graphs/{graph}/engine/signal",
        right: Some(Right::Walk),
        summary: "Raises a signal at a state.",
        takes: Some("engine_signal_request"),
        example: r#"{"state":{},"signal":"interrupt"}"#,
        codes: &[OF_GRAPH, PROGRAM, REFUSAL],
        handler: || post(engine::signal),
        ..USUAL
    },
    Route {
        id: "follow_server",
        path: "/api/events",
        summary: "Streams what happens in the server.",
        query: &[GRAPH, parameter("session", "string", "At most 16 sessions, with commas between, that are streamed besides.")],
        headers: &["Last-Event-ID"],
        answers: &[(200, "text/event-stream")],
        codes: &[OF_GRAPH, SESSION, PROGRAM, STORE],
        handler: || get(events::server),
        ..USUAL
    },
    Route { id: "openapi", path: "/api/openapi.json", summary: "Shows this document.", handler: || get(health::openapi), ..USUAL },
    Route {
        id: "healthz",
        path: "/healthz",
        right: None,
        summary: "Tells that the process lives.",
        answers: &[(200, "text/plain")],
        handler: || get(health::live),
        ..USUAL
    },
    Route {
        id: "readyz",
        path: "/readyz",
        summary: "Tells whether every graph can be walked.",
        answers: &[(200, "text/plain")],
        codes: &[&[Code::Stopping, Code::NoProgram, Code::StoreUnavailable]],
        handler: || get(health::ready),
        ..USUAL
    },
    Route {
        id: "metrics",
        path: "/metrics",
        right: Some(Right::Metrics),
        summary: "Shows counts and times, as Prometheus reads them.",
        answers: &[(200, "text/plain")],
        handler: || get(health::metrics),
        ..USUAL
    },
    Route {
        id: "seed_navigate",
        method: "POST",
        path: "/navigate",
        right: Some(Right::Walk),
        summary: "Takes one step from a state of the only graph.",
        takes: Some("engine_navigate_request"),
        example: r#"{"state":{},"input":"Ada"}"#,
        codes: &[PROGRAM, REFUSAL],
        is_alias: true,
        handler: || post(engine::navigate),
        ..USUAL
    },
    Route {
        id: "seed_render",
        method: "POST",
        path: "/render",
        right: Some(Right::Walk),
        summary: "Shows what a state of the only graph says and asks.",
        takes: Some("engine_render_request"),
        example: r#"{"state":{}}"#,
        codes: &[&[Code::Render, Code::Unadopted], PROGRAM],
        is_alias: true,
        handler: || post(engine::render),
        ..USUAL
    },
    Route {
        id: "seed_view",
        path: "/render",
        summary: "Shows what a stored session, or a bare start, says and asks.",
        query: &[parameter("session", "string", "The session."), HTML],
        answers: &[(200, "object")],
        codes: &[&[Code::StartRefused, Code::UnansweredPredicate, Code::Render], SESSION, PROGRAM, STORE],
        is_alias: true,
        handler: || get(engine::view),
        ..USUAL
    },
    Route {
        id: "seed_graph",
        path: "/graph",
        summary: "Shows the only graph.",
        query: &[parameter("format", "string", "`json`, `mermaid` or `dot`.")],
        headers: &["If-None-Match"],
        answers: &[(200, "object"), (304, "")],
        codes: &[PROGRAM],
        is_alias: true,
        handler: || get(graphs::graph),
        ..USUAL
    },
    Route {
        id: "seed_events",
        path: "/events",
        summary: "Streams what happens in the server, and tells each sound reload as `reload`.",
        query: &[GRAPH, parameter("session", "string", "At most 16 sessions, with commas between, that are streamed besides.")],
        headers: &["Last-Event-ID"],
        answers: &[(200, "text/event-stream")],
        codes: &[OF_GRAPH, SESSION, PROGRAM, STORE],
        is_alias: true,
        handler: || get(events::server),
        ..USUAL
    },
];
