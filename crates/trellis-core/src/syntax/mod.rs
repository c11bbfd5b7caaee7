//! From text to documents: splitting, YAML with exact spans, decoding, conditions, links.
//!
//! **Invariant:** parsing never fails and never looks at another file.

pub mod condition;
pub mod document;
pub mod node;
pub mod project;
