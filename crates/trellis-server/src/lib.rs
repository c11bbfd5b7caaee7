//! Graphs over HTTP: sessions, approvals, time travel, findings and events (`docs/serve.md`).
//!
//! ```text
//! paths ──▶ Served ──▶ Server ──serve(listener, stop)──▶ requests ─▶ gate ─▶ http ─▶ act ─▶ Sessions, history
//!              │                                                                      └─▶ hub ─▶ events
//!              └─ each save: another program under the sessions of its graph
//! ```
//!
//! In come requests whose bodies are lines of JSON Lines, out go turns and problems. A request never decides: it is one verb of `act`, and what comes
//! of that is the host's.
//!
//! **Invariant:** what is acknowledged is stored; a request that goes away stops nothing; nothing is written into the folder of a graph but `.trellis/`.

mod act;
mod gate;
mod http;
mod hub;
mod live;
mod redaction;
mod served;
mod server;
mod settings;
mod trouble;

pub use self::{
    gate::{BadTokens, HostNames, LogLine, Right, Rights, Tokens},
    http::openapi,
    served::{BadGraph, GraphSource, Served},
    server::Server,
    settings::{Bounds, Network, Settings},
    trouble::{Code, Misfit, Trouble, TroubleParts},
};
