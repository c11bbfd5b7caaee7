//! What the tests across crates share: the harness of the Markdown suite, terminal sessions, and the schema of JSON Lines.

pub mod crash;
pub mod generator;
pub mod harness;
pub mod screen;
pub mod wire;
