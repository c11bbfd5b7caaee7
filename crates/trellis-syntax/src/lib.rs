//! From text to documents: splitting, YAML with exact spans, decoding, conditions, links.
//!
//! **Invariant:** parsing never fails and never reads another file.

mod allow;
mod decode;
mod lexer;
mod links;
mod parse;
pub use self::document::is_hidden;
mod config;
pub mod removal;
mod scalar;
mod text;
mod tree;

#[cfg(test)]
mod tests;

pub mod builtin;
pub mod condition;
pub mod cursor;
pub mod document;
pub mod duration;
pub mod format;
mod frontmatter;
pub mod migrate;
mod misspellings;
pub mod node;
pub mod project;
pub mod vocabulary;

pub use document::{Document, Source};
