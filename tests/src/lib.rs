//! The code that tests share across crates: the harness of the Markdown suite, terminal sessions, fake providers of chats, installed programs of
//! others, and the schema of JSON Lines.

/// The guide for embedders, whose blocks are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
pub mod embedding {}

/// The pages of the flows, whose blocks are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../graphs/toolflow/README.md")]
#[doc = include_str!("../../graphs/atod/README.md")]
#[doc = include_str!("../../graphs/chancellor/README.md")]
pub mod flows {}

pub mod crash;
pub mod generator;
pub mod harness;
pub mod peers;
pub mod providers;
pub mod screen;
pub mod wire;
