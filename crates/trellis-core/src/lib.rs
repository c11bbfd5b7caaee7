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

#[cfg(feature = "schemars")]
pub use trellis_base::json_schema;
pub use trellis_base::{Code, Context, Diagnostic, Dialect, Mapping, NodeId, SessionId, SignalName, Value};
pub use trellis_base::{context, diagnostic, id, language, path, schema, scope, span, template, value, witness};
pub use trellis_compiler::{self as compile, Compiled, compile, context_types, transcript};
pub use trellis_draw as draw;
#[cfg(feature = "miette")]
pub use trellis_draw::miette;
pub use trellis_engine::{
    Engine, Event, Input, NavigateError, Next, Predicates, Program, Start, State, ToolError, ToolOutcome, ToolResult, engine, program,
    state, tree,
};
pub use trellis_ide as query;
pub use trellis_syntax::{self as syntax, Document, Source, builtin};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
