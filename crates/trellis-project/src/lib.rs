//! Graphs on their way into the compiler: a [`GraphLoader`] lists and reads files, a [`Project`] parses them on threads and compiles them.
//!
//! ```text
//! folder, file or memory ──GraphLoader──▶ Source ──parse──▶ Document ──┐
//!                                                 (on threads, cached) ├─▶ Project ──compile──▶ Compiled
//!                        trellis.yaml: the dialect of its folder ──────┘
//! ```
//!
//! Errors here are the world's ([`LoadError`]); what authors did wrong comes out of [`Project::compile`] as diagnostics.
//!
//! **Invariant:** nothing reaches the compiler but through a [`GraphLoader`]; nothing here knows sessions, tools or async.

mod directory;
mod discover;
mod error;
mod format;
mod ignored;
mod loader;
mod memory;
mod parse;
mod project;
mod root;
mod walk;

pub use directory::Directory;
pub use discover::{Found, default_path, discover};
pub use error::LoadError;
pub use format::format;
pub use loader::{FILE_LIMIT, GraphLoader};
pub use memory::Memory;
pub use project::Project;
