//! What the tests across crates share: the harness of the Markdown suite.

pub mod generator;
pub mod harness;
