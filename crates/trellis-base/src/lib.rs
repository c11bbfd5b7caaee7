//! Values and their schemas, templates, findings as data, and the words that parser, program, state and engine share: the ground on which the other
//! crates of the core stand.
//!
//! **Invariant:** nothing here knows a document, a program, a state, or a step; nothing but [`template`] knows the template engine.

pub mod context;
pub mod diagnostic;
pub mod id;
pub mod index;
pub mod input;
#[cfg(feature = "schemars")]
pub mod json_schema;
pub mod language;
pub mod path;
pub mod schema;
pub mod scope;
pub mod span;
pub mod template;
pub mod value;
pub mod witness;

pub use context::Context;
pub use diagnostic::{Code, Diagnostic};
pub use id::{NodeId, SessionId, SignalName};
pub use template::Dialect;
pub use value::{Mapping, Value};
