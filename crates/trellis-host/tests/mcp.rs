//! Tools of MCP servers, against real servers and rude ones. They are processes, so `./test quick` leaves these tests out.
#![cfg(feature = "mcp")]
#![allow(clippy::unwrap_used)]

#[path = "mcp/host.rs"]
mod host;
#[path = "mcp/http.rs"]
mod http;
#[path = "mcp/manners.rs"]
mod manners;
#[path = "mcp/peers.rs"]
mod peers;
#[path = "mcp/reach.rs"]
mod reach;
