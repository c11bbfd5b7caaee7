//! Chat messages as sessions of a graph: channels, sealing, queues, and the functions that the graph calls (`docs/orchestrator.md`).
//!
//! ```text
//! channel ─read─▶ Receiver ─sealed─▶ Queue ─▶ Dispatcher ─start, send─▶ Sessions ─▶ functions (Hands)
//!    ▲                                  ▲           ▲                        │              │
//!    └────send──── Outbox ◀─────────────┘           └───────── turns ────────┘              │
//!                    ▲──────────────────────── message, notice ─────────────────────────────┘
//! ```
//!
//! What a graph can say stands in the graph. Here is what it cannot: reading and writing chats, and keeping what happens through restarts.
//!
//! **Invariant:** what was acknowledged is stored; nothing is stored, logged or shown before it was sealed; each hand-over has a name, so that doing it
//! twice is doing it once.

pub mod approvals;
pub mod channel;
pub mod config;
pub mod decisions;
pub mod dispatch;
mod fence;
pub mod inbound;
pub mod message;
pub mod model_context;
mod orchestrator;
pub mod outbound;
pub mod queue;
pub mod schedule;
pub mod seal;
pub mod texts;
pub mod tools;
pub mod words;
pub mod workspace;

pub use orchestrator::{Found, Orchestrator, Up, UpError, check, settings, vault};
