//! Routes that show sessions.

use axum::routing::get;

use super::{AFTER, GRAPH, HTML, LIMIT, OF_GRAPH, PROGRAM, Route, SESSION, STORE, USUAL, parameter};
use crate::{
    gate::Right,
    http::{approvals, dead, events, secrets, sessions, time},
    trouble::Code,
};

pub(super) static ROUTES: &[Route] = &[
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
        summary: "Shows where a session stands; nothing advances.",
        query: &[GRAPH, HTML],
        headers: &["If-None-Match", "Prefer"],
        answers: &[(200, "turn"), (202, "turn"), (304, "")],
        codes: &[SESSION, PROGRAM, STORE],
        handler: || get(sessions::look),
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
        query: &[GRAPH, HTML, parameter("child", "string", "The child session that is meant.")],
        codes: &[&[Code::UnknownRecord, Code::Pruned, Code::UnknownChild], SESSION, PROGRAM, STORE],
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
        codes: &[SESSION, PROGRAM, STORE, &[Code::Stopping]],
        handler: || get(events::session),
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
        id: "list_dead_letters",
        path: "/api/dead-letters",
        right: Some(Right::Operate),
        summary: "Lists the calls that were given up.",
        query: &[GRAPH],
        answers: &[(200, "dead_letter_list")],
        codes: &[OF_GRAPH, STORE],
        handler: || get(dead::list),
        ..USUAL
    },
    Route {
        id: "get_dead_letter",
        path: "/api/dead-letters/{letter}",
        right: Some(Right::Operate),
        summary: "Shows a call that was given up.",
        query: &[GRAPH],
        answers: &[(200, "dead_letter")],
        codes: &[&[Code::UnknownLetter], OF_GRAPH, STORE],
        handler: || get(dead::show),
        ..USUAL
    },
    Route {
        id: "list_secrets",
        path: "/api/secrets",
        right: Some(Right::Operate),
        summary: "Lists the secrets of the graphs by name: when they were set, and which are named and missing. No value is told.",
        query: &[GRAPH],
        answers: &[(200, "secret_list")],
        codes: &[OF_GRAPH, &[Code::StoreUnavailable]],
        handler: || get(secrets::list),
        ..USUAL
    },
];
