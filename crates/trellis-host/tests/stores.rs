//! Stores: one contract, held against every one of them, and what only some of them promise.
//!
//! A store joins by a line `contract!(name, place)`, where `place` opens it: see `stores/place.rs`.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "stores/bad_head.rs"]
mod bad_head;
#[path = "stores/child.rs"]
mod child;
#[path = "stores/contract/mod.rs"]
#[macro_use]
mod contract;
#[cfg(any(feature = "postgres", feature = "redis"))]
#[path = "stores/earlier.rs"]
mod earlier;
#[path = "stores/files/mod.rs"]
mod files;
#[path = "stores/make.rs"]
mod make;
#[path = "stores/open.rs"]
mod open;
#[path = "stores/place.rs"]
mod place;
#[cfg(feature = "postgres")]
#[path = "stores/postgres.rs"]
mod postgres;
#[path = "stores/processes.rs"]
mod processes;
#[path = "stores/redacted.rs"]
mod redacted;
#[cfg(feature = "redis")]
#[path = "stores/redis.rs"]
mod redis;
#[cfg(feature = "encryption")]
#[path = "stores/sealed.rs"]
mod sealed;
#[cfg(any(feature = "postgres", feature = "redis"))]
#[path = "stores/servers/mod.rs"]
mod servers;
#[cfg(feature = "sqlite")]
#[path = "stores/sqlite.rs"]
mod sqlite;
#[cfg(all(feature = "postgres", feature = "redis", target_os = "linux"))]
#[path = "stores/stops.rs"]
mod stops;
#[cfg(all(feature = "postgres", feature = "redis"))]
#[path = "stores/wire.rs"]
mod wire;

contract!(memory, place::memory());
