//! The server as a client sees it, over channels in memory.

#[path = "main/client.rs"]
mod client;
#[path = "main/findings.rs"]
mod findings;
