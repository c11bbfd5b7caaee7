//! The compiled program, the state of a session, and the engine that walks the one with the other: `start`, `render`, `navigate`, `signal`, `adopt`,
//! `replay`.
//!
//! A program, a state and an input go in; a view, or the next state with its events, comes out.
//!
//! **Invariant:** nothing here knows the compiler; [`engine`] uses only [`program`] and [`state`]; of documents, only a program knows.

pub mod engine;
pub mod program;
pub mod state;
pub mod tree;

pub use engine::{Engine, Event, Input, NavigateError, Next, Predicates, Start, ToolError, ToolOutcome, ToolResult};
pub use program::Program;
pub use state::State;
