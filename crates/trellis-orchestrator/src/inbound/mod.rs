//! The path of an incoming message, from a channel to a session (orchestrator 3).
//!
//! ```text
//! read ─▶ seal ─▶ store (each once) ─▶ group ─▶ approval by text? ─▶ command? ─▶ references ─▶ session
//!         └──────── Receiver ───────┘   └──────────────────── Dispatcher ────────────────────────┘
//! ```

mod commands;
mod group;
mod receive;
mod setter;

pub use self::{
    commands::{CommandTable, KnownCommand, LiveCommands, Who},
    group::{Group, group_rows},
    receive::Receiver,
};
pub use crate::words::{Answer, Command, Decision, Kind, answer, command, kind};

/// Messages of a group at most (orchestrator 3.4).
pub const MAX_GROUP: usize = 8;

#[cfg(test)]
mod tests;
