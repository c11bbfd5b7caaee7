//! From the text of one file to its [`Document`]: splitting, YAML with exact spans, decoding of every key, conditions, links.
//!
//! The tables of keys that decode a file also format it ([`format`](mod@format)), migrate it ([`migrate`]) and describe it to editors ([`vocabulary`]).
//! [`builtin`] has the contracts of the builtin tools.
//!
//! **Invariant:** parsing never fails and never reads another file; nothing here knows a program or a step.

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
