//! Graphs that are edited while they are watched: real files, and what the system really tells of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "main/desk.rs"]
mod desk;
#[path = "main/extents.rs"]
mod extents;
#[path = "main/roots.rs"]
mod roots;
#[path = "main/saves.rs"]
mod saves;
#[path = "main/scripts.rs"]
mod scripts;
#[path = "main/storm.rs"]
mod storm;
