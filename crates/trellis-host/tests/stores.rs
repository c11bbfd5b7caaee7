//! Stores: one contract, held against every one of them, and what only some of them promise.
//!
//! A store joins by a line `contract!(name, place)`, where `place` opens it: see `stores/place.rs`.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "stores/contract/mod.rs"]
#[macro_use]
mod contract;
#[path = "stores/files.rs"]
mod files;
#[path = "stores/make.rs"]
mod make;
#[path = "stores/open.rs"]
mod open;
#[path = "stores/place.rs"]
mod place;
#[cfg(feature = "sqlite")]
#[path = "stores/sqlite.rs"]
mod sqlite;

contract!(memory, place::memory());
