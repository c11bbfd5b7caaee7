//! Graphs from their source to the compiler: a [`GraphLoader`] lists and reads files, a [`Project`] parses them on threads and compiles
//! them. A [`Watch`] reports changed files, and a [`Live`] graph is then loaded again.
//!
//! ```text
//! folder, file or memory ──GraphLoader──▶ Source ──parse──▶ Document ──┐
//!                                                 (on threads, cached) ├─▶ Project ──compile──▶ Compiled
//!                        trellis.yaml: the dialect of its folder ──────┘
//! ```
//!
//! Errors here are the world's ([`LoadError`]); mistakes of authors come out of [`Project::compile`] as diagnostics.
//!
//! **Invariant:** nothing reaches the compiler but through a [`GraphLoader`]; nothing here knows sessions, tools or async.
//!
//! # Features
//!
//! `watching` (on by default) adds [`Watch`] and [`Live::next`], to which the system reports saved files; without it a host decides when a
//! [`Live`] graph looks for changes. `schemars` (off by default) adds `wire::schema`, the JSON Schema of findings.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod aliases;
mod directory;
mod discover;
mod edit;
mod error;
mod extent;
pub mod fix;
mod format;
mod ignored;
mod live;
mod loader;
mod memory;
pub mod migrate;
mod overlay;
mod parse;
mod project;
mod refactor;
mod root;
pub mod sheet;
mod snapshot;
mod threads;
mod unread;
mod walk;
#[cfg(feature = "watching")]
mod watch;
pub mod wire;

pub use directory::Directory;
pub use discover::{Found, default_path, discover};
pub use error::LoadError;
pub use extent::Extent;
pub use format::format;
#[cfg(feature = "watching")]
pub use live::Waited;
pub use live::{Edit, Live, Status, Version};
pub use loader::{FILE_LIMIT, GraphLoader, is_graph_file};
pub use memory::Memory;
pub use overlay::{Edited, Overlay};
pub use project::Project;
pub use refactor::refactored;
pub use snapshot::Snapshot;
#[cfg(feature = "watching")]
pub use watch::{Wake, Watch, WatchError, WatchHandle};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
