//! The server over real sockets: walked, driven by two, killed, and tried from outside.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "main/busy.rs"]
mod busy;
#[path = "main/codes.rs"]
mod codes;
#[path = "main/events.rs"]
mod events;
#[path = "main/gates.rs"]
mod gates;
#[path = "main/graphs.rs"]
mod graphs;
#[path = "main/stand.rs"]
mod stand;
#[path = "main/walk.rs"]
mod walk;
