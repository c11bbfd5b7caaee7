//! Tests as Markdown: a heading is a case, blocks named by file are its graph, other blocks say what must come out.
//!
//! ```text
//! Markdown ──trellis_project::sheet──▶ cases ──graph──▶ Compiled ─┬─ diagnostics, edges, graph ─┐
//!                                                                      └─ transcript, journal ───────┴─▶ blocks as they are, compared by run
//! ```
//!
//! **Invariant:** a case can only pass when every block it holds is exactly what came out, and what it does not hold is empty.

pub mod case;
pub mod diagnostics;
pub mod diff;
pub mod edges;
pub mod fuzz;
pub mod graph;
pub mod journal;
pub mod run;
pub mod transcript;
pub mod witness;

pub use graph::{Loaded, mended};
pub use run::{Findings, Mode, run_file, run_tree};
