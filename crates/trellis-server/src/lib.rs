//! Graphs over HTTP (`docs/serve.md`) and MCP (`docs/mcp.md`): sessions, approvals, time travel, findings, events, and tools of models.
//!
//! ```text
//! paths ──▶ Served ──▶ Server ──serve(listener, stop)──▶ requests ─▶ gate ─▶ http, mcp ─▶ act ─▶ Sessions, history
//!              │                                                                      └─▶ hub ─▶ events
//!              └─ each save: another program under the sessions of its graph
//! ```
//!
//! In come requests whose bodies are lines of JSON Lines, out go turns and problems. A request never decides: it is one verb of `act`, whose result
//! comes from the host.
//!
//! **Invariant:** an acknowledged step is stored; a request that goes away stops nothing; nothing is written into the folder of a graph but
//! `.trellis/`.
//!
//! # Features
//!
//! `tls` (off by default) adds certificates of the server's own.

mod act;
mod bounds;
mod clock;
mod digest;
mod elsewhere;
pub mod extra;
mod gate;
mod http;
mod hub;
mod layouts;
mod live;
pub mod mcp;
mod mcp_metrics;
mod pages;
mod readiness;
mod redaction;
mod renewal;
mod served;
mod server;
mod settings;
mod source;
mod stored_here;
mod task_notes;
mod trouble;

#[cfg(feature = "tls")]
pub use self::settings::BadCertificate;
pub use self::{
    bounds::Bounds,
    gate::{BadTokens, HostNames, LogLine, Right, Rights, Tokens},
    http::openapi,
    served::{BrokenGraph, Served},
    server::Server,
    settings::{Network, Settings},
    source::{BadGraph, GraphSource},
    trouble::{Code, Misfit, Trouble, TroubleParts},
};
