//! Tests of graphs: runs sheets of cases through the engine alone, and reports differences at their places.
//!
//! ```text
//! _tests/*.md ──trellis_project::sheet──▶ cases ──Player──▶ lines ──compare──▶ Difference
//!                                                   └──────▶ Counts ──coverage──▶ items
//! ```
//!
//! **Invariant:** no binding is ever run; the same sheets give the same bytes on every run, except for times.
//!
//! # Features
//!
//! `schemars` (off by default) adds `wire::schema`, the JSON Schema of results.

mod beside;
mod compare;
mod coverage;
mod doubles;
mod junit;
mod lcov;
mod limits;
mod player;
mod session;
mod suite;
mod trial;
mod update;
pub mod wire;

pub use coverage::{Counts, coverage};
pub use junit::junit;
pub use lcov::lcov;
pub use limits::Limits;
pub use suite::{Options, Suite, SuiteError};
pub use trial::Verdict;
pub use update::{Update, rewritten};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
