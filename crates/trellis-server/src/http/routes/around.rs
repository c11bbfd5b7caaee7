//! Routes of graphs, of the engine alone, and around.

use axum::routing::{get, post};

use super::{GRAPH, HTML, LIMIT, OF_GRAPH, PROGRAM, Parameter, REFUSAL, Route, SESSION, STORE, USUAL, parameter};
use crate::{
    gate::Right,
    http::{drawing, engine, events, graphs, health},
    trouble::Code,
};

/// Parameters of a drawn graph.
const DRAWN: &[Parameter] = &[
    parameter("format", "string", "`json`, `mermaid`, `dot` or `svg`."),
    parameter("layout", "string", "`down` or `right` adds places for everything, read in that direction; for `json` and `svg`."),
    parameter(
        "collapsed",
        "string",
        "The modules that are one box each, with commas between; all of them if nothing is said and the graph has more than 400 nodes.",
    ),
    parameter("expanded", "string", "Modules that are not collapsed all the same, with commas between."),
];

pub(super) static ROUTES: &[Route] = &[
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
        query: DRAWN,
        headers: &["If-None-Match"],
        answers: &[(200, "object"), (200, "image/svg+xml"), (200, "text/plain"), (304, "")],
        codes: &[OF_GRAPH, PROGRAM],
        handler: || get(drawing::graph),
        ..USUAL
    },
    Route {
        id: "get_node",
        path: "/api/graphs/{graph}/nodes/{*node}",
        summary: "Shows a node: its text, its transitions, and what is known of the context there.",
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
        summary: "Finds nodes by their ids, keys, tools and texts.",
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
        answers: &[(200, "text/markdown"), (200, "text/html")],
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
        has_chats: true,
        summary: "Streams what happens in the server.",
        query: &[GRAPH, parameter("session", "string", "At most 16 sessions, with commas between, that are streamed besides.")],
        headers: &["Last-Event-ID"],
        answers: &[(200, "text/event-stream")],
        codes: &[OF_GRAPH, SESSION, PROGRAM, STORE, &[Code::Stopping]],
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
        summary: "Tells whether every graph can be walked, and its steps be stored.",
        answers: &[(200, "text/plain")],
        codes: &[&[Code::Stopping, Code::NoProgram, Code::Unready, Code::StoreUnavailable, Code::StoreUnwritable, Code::Lost]],
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
        query: DRAWN,
        headers: &["If-None-Match"],
        answers: &[(200, "object"), (200, "image/svg+xml"), (200, "text/plain"), (304, "")],
        codes: &[PROGRAM],
        is_alias: true,
        handler: || get(drawing::graph),
        ..USUAL
    },
    Route {
        id: "seed_events",
        path: "/events",
        summary: "Streams what happens in the server, and tells each sound reload as `reload`.",
        query: &[GRAPH, parameter("session", "string", "At most 16 sessions, with commas between, that are streamed besides.")],
        headers: &["Last-Event-ID"],
        answers: &[(200, "text/event-stream")],
        codes: &[OF_GRAPH, SESSION, PROGRAM, STORE, &[Code::Stopping]],
        is_alias: true,
        handler: || get(events::server),
        ..USUAL
    },
];
