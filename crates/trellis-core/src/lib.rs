//! The pure half of Trellis: markdown documents become a [`Program`], a session's [`State`] becomes a [`View`](engine::View) and, with an [`Input`], the next [`Step`](engine::Step).
//!
//! ```text
//! Source ──parse──▶ Document ──compile──▶ Program ──┐
//!                                                   ├─▶ Engine: State ──render──▶ View
//!                                         State ────┘           State + Input ──navigate──▶ Step
//! ```
//!
//! It is a facade over crates that use each other in this order: `trellis-base`, `trellis-syntax`, `trellis-engine`, `trellis-compiler`, and beside each
//! other `trellis-draw` and `trellis-ide`.
//!
//! **Invariant:** nothing here knows files, clocks, the environment, threads or any protocol.
//!
//! # A walk
//!
//! A host renders the state, carries out the action of the view, and navigates with its result:
//!
//! ```
//! # use trellis_core::{Dialect, Document, Source};
//! # let start = "---\ninput_type: text\nsave_to: name\nto: hello\n---\nWhat is your name?\n";
//! # let files = [("start.md", start), ("hello.md", "---\n---\nHello {{ name }}.\n")];
//! # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
//! use trellis_core::{Engine, Input, Next, Predicates, Start, compile};
//!
//! let program = compile(&documents).program.ok_or("the graph has mistakes")?;
//! let engine = Engine::new(program, Predicates::new())?;
//! let mut state = engine.start(Start::default())?.state;
//! loop {
//!     let view = engine.render(&state)?;
//!     let input = match view.next {
//!         Next::Pass => Input::Pass,
//!         Next::Ask(_) => Input::Text("Ana".into()),
//!         Next::Call(_) | Next::Parts { .. } => unreachable!("this graph calls nothing"),
//!         Next::End(_) => break,
//!     };
//!     state = engine.navigate(&state, input)?.state;
//! }
//! assert_eq!(engine.render(&state)?.content.as_deref(), Some("Hello Ana.\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Predicates of a host
//!
//! A graph declares names, and the host answers them (language 6.2).
//!
//! ```
//! # use trellis_core::{Dialect, Document, Source};
//! use trellis_core::{Engine, Input, Predicates, Start, Value, compile};
//!
//! let files = [
//!     ("trellis.yaml", "predicates: [is_open]\n"),
//!     ("start.md", "---\ntransitions: [{ condition: is_open, to: in }, { to: out }]\n---\n"),
//!     ("in.md", "---\n---\nCome in.\n"),
//!     ("out.md", "---\n---\nWe are closed.\n"),
//! ];
//! # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
//! let program = compile(&documents).program.ok_or("the graph has mistakes")?;
//! let is_open = |context: &trellis_core::Context| context.get("hour").is_some_and(|hour| matches!(hour, Value::Int(9..17)));
//! let engine = Engine::new(program, Predicates::new().with("is_open", is_open))?;
//!
//! let start = Start { context: [("hour", Value::Int(10))].into_iter().collect(), ..Start::default() };
//! let state = engine.start(start)?.state;
//! assert_eq!(engine.navigate(&state, Input::Pass)?.state.current_node_id.as_str(), "in");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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

pub mod context;
pub mod schema;
pub mod scope;
pub mod value;

#[cfg(feature = "schemars")]
pub use trellis_base::json_schema;
pub use trellis_base::{Code, Context, Diagnostic, Dialect, Mapping, NodeId, SessionId, SignalName, Value};
pub use trellis_base::{diagnostic, id, language, path, span, template, witness};
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
