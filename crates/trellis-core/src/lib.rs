//! The pure half of Trellis: markdown documents become a [`Program`], a session's [`State`] becomes a [`View`](engine::View) and, with an [`Input`], the next [`Step`](engine::Step).
//!
//! ```text
//! Source ──parse──▶ Document ──compile──▶ Program ──┐
//!                                                   ├─▶ Engine: State ──render──▶ View
//!                                         State ────┘           State + Input ──navigate──▶ Step
//! ```
//!
//! **Invariant:** nothing here knows files, clocks, the environment, threads or any protocol.
//!
//! # Features
//!
//! `miette` (off unless switched on) adds the module `miette`: findings as diagnostics of miette, with the texts that they point into.
//! `schemars` (off unless switched on) gives values and names JSON Schemas, for types of hosts that derive theirs.
//!
//! # What may change
//!
//! Data for a host to read (errors, findings, views) is `#[non_exhaustive]` and may grow. Data that it must act on, such as [`Next`], is not: a new
//! case is a compile error there. The inside of the compiler ([`program`], [`syntax`], [`compile`](mod@compile), [`template`]) is open to tools, and
//! may change with every minor version.

pub mod builtin;
pub mod compile;
pub mod context;
pub mod context_types;
pub mod diagnostic;
pub mod draw;
pub mod engine;
pub mod id;
mod index;
mod input;
#[cfg(feature = "schemars")]
pub mod json_schema;
pub mod language;
#[cfg(feature = "miette")]
pub mod miette;
pub mod path;
pub mod program;
pub mod query;
pub mod schema;
pub mod scope;
pub mod span;
pub mod state;
pub mod syntax;
pub mod template;
pub mod transcript;
pub mod tree;
pub mod value;
pub mod witness;

pub use compile::{Compiled, compile};
pub use context::Context;
pub use diagnostic::{Code, Diagnostic};
pub use engine::{Engine, Event, Input, NavigateError, Next, Predicates, Start, ToolError, ToolOutcome, ToolResult};
pub use id::{NodeId, SessionId, SignalName};
pub use program::Program;
pub use state::State;
pub use syntax::document::{Document, Source};
pub use template::Dialect;
pub use value::{Mapping, Value};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
