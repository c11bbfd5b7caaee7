//! Hosts: sessions over the engine, the journal that they consist of, bindings that carry out calls, and the runner.
//!
//! ```text
//! Engine + Bindings ──▶ Sessions ──start, send, resume──▶ Turn      a client: HTTP, a window, twenty lines
//!                          │   └─▶ Session ──▶ Record, Record …      one state and its journal
//!                          └─────── Runner: Sessions + Console       a terminal, JSON Lines
//! ```
//!
//! **Invariant:** nothing here knows command-line arguments, served protocols or the terminal: readers, writers and signals are handed in.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `processes` | yes | bindings that name a command: tools as processes |
//! | `http` | no | bindings that name a URL, and `trellis_host::http`: the client that bindings share |
//! | `mcp` | no | bindings that name a tool of an MCP server; with `http` and `processes` |
//! | `model` | no | bindings that name the role of a language model; with `http` |
//! | `runner` | yes | [`runner`]: sessions over a console, as text or JSON Lines |
//! | `reload` | no | [`assembly::LiveGraph`](assembly): a graph on disk that is edited while it runs |
//! | `history` | yes | [`history`]: stored sessions read, moved, forked, replayed and checked |
//! | `sqlite`, `redis`, `postgres` | no | stores in SQLite, Redis and PostgreSQL |
//! | `encryption` | no | sealed sessions in any store |
//! | `vault` | no | `secrets::Vault`: secrets in an encrypted file |
//! | `metrics` | no | counts and times of sessions, as Prometheus reads them |
//! | `telemetry`, `telemetry-tls` | no | spans of sessions over OTLP and for subscribers of `tracing`; the second also to a collector behind TLS |
//! | `schemars` | no | schemas from Rust types: `Bindings::function_typed` and `function_async_typed`, and `wire::schema` of JSON Lines |
//! | `testing` | no | `testing`: scripted tools and a clock that tests move |
//!
//! # What may grow
//!
//! An enum that a host must act on, or gives whole, gains no variant without a new major version, so that a match on it is complete:
//! `Stop`, `Reply`, `Unbound`, `sessions::Drive`, `sessions::Driven`, `session::Halt`, `session::Adoption`, `session::NotBegun`, `policy::Decision`,
//! `policy::Otherwise`, `journal::Needs`, `journal::Destination`, `journal::Settlement`, `history::EditVerdict`, `store::Which`, `store::Removal`,
//! `store::Pruned`, `store::SessionStatus`, `key_value::Expected`, and of a console `runner::Awaited`, `runner::Reloaded`, `runner::Reason` and
//! `runner::Edit`. Every other enum here is `#[non_exhaustive]`, since it is data to read, or only made by a host: errors, events, entries of the
//! journal, verdicts.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "history", feature = "model", feature = "processes", feature = "runner", feature = "sqlite")),
    allow(dead_code, unused_imports, unused_variables, reason = "what these share with the rest has no user without them")
)]

pub mod assembly;
pub mod binding;
pub mod controls;
pub mod environment;
mod guard;
#[cfg(feature = "history")]
pub mod history;
pub mod hooks;
#[cfg(feature = "http")]
pub mod http;
pub mod interceptor;
pub mod journal;
pub mod key_value;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod policy;
pub mod recording;
#[cfg(feature = "runner")]
pub mod runner;
pub mod secrets;
pub mod session;
pub mod sessions;
pub mod store;
#[cfg(feature = "telemetry")]
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod wire;

pub use binding::{Bindings, CallContext};
pub use interceptor::{Interceptor, Verdict};
pub use journal::{Clock, Entry, Record};
#[cfg(feature = "runner")]
pub use runner::{Console, JsonLines, Outcome, Reason, Runner, TextConsole};
pub use secrets::Secrets;
pub use session::{Session, SessionError};
pub use sessions::{Policy, Reply, SendError, Sent, SessionEvent, Sessions, Stop, Turn, Unbound};

#[cfg(all(doctest, feature = "runner"))]
#[doc = include_str!("../README.md")]
struct Readme;
