//! Hosts: sessions over the engine, the journal they are made of, bindings that carry out calls, and the runner.
//!
//! ```text
//! Engine + Bindings ──▶ Sessions ──start, send, resume──▶ Turn      a client: HTTP, a window, twenty lines
//!                          │   └─▶ Session ──▶ Record, Record …      one state and its journal
//!                          └─────── Runner: Sessions + Console       a terminal, JSON Lines
//! ```
//!
//! **Invariant:** nothing here knows command-line arguments, served protocols or the terminal: readers, writers and signals are handed in.

pub mod binding;
pub mod controls;
mod guard;
pub mod history;
pub mod hooks;
pub mod interceptor;
pub mod journal;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod recording;
pub mod runner;
pub mod session;
pub mod sessions;
pub mod store;
#[cfg(feature = "telemetry")]
pub mod telemetry;
pub mod values;

pub use binding::{Bindings, CallContext, Secrets};
pub use interceptor::{Interceptor, Verdict};
pub use journal::{Clock, Entry, MemoryJournal, Record};
pub use runner::{Console, JsonLines, Outcome, Reason, RunError, Runner, TextConsole};
pub use session::{Session, SessionError};
pub use sessions::{Happening, Policy, Reply, SendError, Sent, Sessions, Stop, Turn, Unbound};
