//! Sessions whose process is killed: a worker walks them, somebody kills it again and again, a judge looks at what is left.
//!
//! ```text
//! worker ──steps──▶ store        worker ──a line per acknowledged turn──▶ acknowledged
//!    └────calls───▶ tool.sh ──a line per call──▶ called
//! killer: SIGKILL at a random moment, start again, until every session has ended
//! judge: store + acknowledged + called ──▶ what was lost or done twice
//! ```
//!
//! **Invariant:** the judge believes the tools and the acknowledgements, which outlive the worker, and nothing that the worker says of itself.

pub mod graph;
pub mod judge;
pub mod killer;
pub mod worker;
