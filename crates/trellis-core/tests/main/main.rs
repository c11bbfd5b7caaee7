//! The core through its public surface: graphs as authors write them, walked step by step.

#![expect(clippy::unwrap_used, unreachable_pub, reason = "a test may panic, and nothing is published here")]

mod adopt;
mod calls;
mod defaults;
mod elsewhere;
mod graph;
mod needs;
mod replay;
mod rollback;
mod steps;
