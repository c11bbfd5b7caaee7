//! Real terminal sessions: the program on a pseudo-terminal, keys and signals in, screens out, compared with what a Markdown sheet says.
//!
//! ```text
//! sheet ──case──▶ files in a folder, author lines ──play──▶ Terminal { pty, program, emulator } ──look──▶ screens as text ──▶ compared, or rewritten
//!                                                                                      └──picture──▶ docs/pictures/*.svg
//! ```
//!
//! **Invariant:** nothing here waits for time to pass: it waits until the screen shows what it should, and gives up when it never does.

mod look;
mod person;
mod picture;
mod play;
mod script;
mod sheet;
mod terminal;

pub use self::{person::Person, picture::drawn, play::Stage, sheet::run_sheets};
