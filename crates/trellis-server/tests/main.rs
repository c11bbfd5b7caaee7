//! The server over real sockets: walked, driven by two, killed, and tried from outside.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "main/apps.rs"]
mod apps;
#[path = "main/beside.rs"]
mod beside;
#[path = "main/bounds.rs"]
mod bounds;
#[path = "main/busy.rs"]
mod busy;
#[path = "main/codes.rs"]
mod codes;
#[path = "main/doors.rs"]
mod doors;
#[path = "main/events.rs"]
mod events;
#[path = "main/forging.rs"]
mod forging;
#[path = "main/gates.rs"]
mod gates;
#[path = "main/gone.rs"]
mod gone;
#[path = "main/graphs.rs"]
mod graphs;
#[path = "main/hidden.rs"]
mod hidden;
#[path = "main/late.rs"]
mod late;
#[path = "main/lists.rs"]
mod lists;
#[path = "main/long_runs.rs"]
mod long_runs;
#[path = "main/mcp.rs"]
mod mcp;
#[path = "main/redacted.rs"]
mod redacted;
#[path = "main/refusals.rs"]
mod refusals;
#[path = "main/revoked.rs"]
mod revoked;
#[path = "main/secrets.rs"]
mod secrets;
#[path = "main/stand.rs"]
mod stand;
#[path = "main/stopping.rs"]
mod stopping;
#[path = "main/subscriptions.rs"]
mod subscriptions;
#[cfg(feature = "tls")]
#[path = "main/tls.rs"]
mod tls;
#[path = "main/walk.rs"]
mod walk;
