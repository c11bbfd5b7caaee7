//! What the tests across crates share: the harness of the Markdown suite, and the schema of JSON Lines.

pub mod generator;
pub mod harness;
pub mod wire;
