//! The server as a client sees it, over channels in memory.

#[path = "main/client.rs"]
mod client;
#[path = "main/findings.rs"]
mod findings;
#[path = "main/requests.rs"]
mod requests;
#[path = "main/trouble.rs"]
mod trouble;
#[path = "main/typing.rs"]
mod typing;
