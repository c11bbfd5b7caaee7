//! Transcripts: what author and program say, through the engine alone.
//!
//! A block's author lines go in, its whole text as it should be comes out; on the way every property that holds for each step is checked.

mod drive;
mod walk;

use std::sync::Arc;

pub use drive::drive;
use trellis_core::{
    Engine, Program, Start,
    engine::{Answers, Moment},
    transcript::is_program_line,
};
pub use walk::{Record, Walk};

/// The result of a transcript.
#[derive(Debug)]
pub struct Played {
    /// The block as it should be.
    pub text: String,
    /// Promises that a step broke.
    pub problems: Vec<String>,
    /// Lines of the transcript that mean nothing.
    pub slips: Vec<String>,
    /// The accepted moves, the start first; none when it was refused.
    pub records: Vec<Record>,
    /// The engine of the walk.
    pub engine: Engine,
    /// The start of the session.
    pub start: Start,
    /// The answers of predicates at that time.
    pub begun: Answers,
    /// True if it began with a whole state, which no host can be given.
    pub is_stored: bool,
}

/// Plays the author lines of a block.
pub fn play(program: &Arc<Program>, block: &str) -> Played {
    let mut walk = Walk::new(Arc::clone(program));
    for line in block.lines() {
        if !is_program_line(line) {
            walk.take(line);
        }
    }
    walk.finish()
}

/// Moments of recorded moves, for a replay.
fn moments(records: &[Record]) -> Vec<Moment> {
    records.iter().map(|record| record.moment.clone()).collect()
}
