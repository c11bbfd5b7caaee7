//! Transcripts: the lines of author and program. The table of lines is in `docs/testing.md`.
//!
//! ```text
//! line ──read──▶ AuthorLine        Input ──input──▶ line        View, Event ──print──▶ lines
//! ```

mod beginning;
mod double;
pub mod input;
pub mod print;
pub mod read;
mod recorded;
mod writer;

pub use self::{
    beginning::Beginning,
    double::DoubleLine,
    read::{AuthorLine, is_program_line, unmarked},
    recorded::RecordedResult,
    writer::TranscriptWriter,
};
