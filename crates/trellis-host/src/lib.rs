//! Hosts: sessions over the engine, the journal they are made of, bindings that carry out calls, and the runner.
//!
//! ```text
//! Engine + Start ──▶ Session ──advance──▶ Turn ──┐
//!                       ▲   └─▶ Record, Record … │ Runner: Console (text, JSON Lines), Bindings (process, function)
//!                       └────────send────────────┘
//! ```
//!
//! **Invariant:** nothing here knows command-line arguments, served protocols or the terminal: readers, writers and signals are handed in.

pub mod binding;
pub mod journal;
pub mod runner;
pub mod session;

pub use binding::{Bindings, Secrets, Stop};
pub use journal::{Clock, Entry, MemoryJournal, Record};
pub use runner::{Console, JsonLines, Outcome, Policy, Reason, RunError, Runner, TextConsole, Unbound};
pub use session::{Session, SessionError, Turn};
