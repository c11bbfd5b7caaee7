//! Chat messages as sessions of a graph: channels, sealing, queues, and the functions that the graph calls (`docs/orchestrator.md`).
//!
//! ```text
//! channel ─read─▶ Receiver ─sealed─▶ Queue ─▶ Dispatcher ─start, send─▶ Sessions ─▶ functions (Hands)
//!    ▲                                  ▲           ▲                        │              │
//!    └────send──── Outbox ◀─────────────┘           └───────── turns ────────┘              │
//!                    ▲──────────────────────── message, notice ─────────────────────────────┘
//! ```
//!
//! Behaviour that a graph can express is in the graph. This crate does the rest: it reads and writes chats, and survives restarts.
//!
//! **Invariant:** acknowledged messages are stored; nothing is stored, logged or shown before it is sealed; each hand-over has a name, so
//! that a repeated one has no effect.

pub mod approvals;
pub mod channel;
pub mod config;
pub mod dashboard;
pub mod decisions;
pub mod dispatch;
pub mod events;
mod fence;
pub mod inbound;
pub mod message;
pub mod model_context;
mod orchestrator;
pub mod outbound;
pub mod queue;
pub mod schedule;
pub mod seal;
pub mod state;
pub mod supervisor;
pub mod texts;
pub mod tools;
pub mod visible;
pub mod words;
pub mod workspace;

pub use orchestrator::{Found, Orchestrator, Up, UpError, check, settings, vault};
