//! A test kit for hosts: tools with scripted answers, and a clock that a test moves.
//!
//! ```
//! use std::time::Duration;
//!
//! use trellis_core::{Dialect, Document, Engine, Predicates, Source, Start, Value, compile};
//! use trellis_host::{
//!     Bindings, Sessions,
//!     testing::{ScriptedTools, TestClock},
//! };
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
//! # runtime.block_on(async {
//! let files = [
//!     ("trellis.yaml", "bindings:\n  weather: { function: weather }\n"),
//!     ("start.md", "---\ndo: { name: weather, args: { town: Aachen } }\nsave_to: sky\nto: told\n---\n"),
//!     ("told.md", "---\n---\nThe sky is {{ sky }}.\n"),
//! ];
//! let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
//! let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
//!
//! let tools = ScriptedTools::new().answer("weather", "blue");
//! let clock = TestClock::new(0);
//! let sessions = Sessions::new(engine, tools.bind(Bindings::none()))?.clock(clock.clock());
//! sessions.start(Start::default()).await?;
//!
//! assert_eq!(tools.calls_of("weather"), [[("town", "Aachen")].into_iter().collect()]);
//! assert!(tools.is_used_up());
//! clock.advance(Duration::from_secs(60)).await;
//! assert_eq!(clock.now(), 60_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod tools;

pub use self::{
    clock::TestClock,
    tools::{ScriptedCall, ScriptedTools},
};
