//! The bounds of a server.

use std::time::Duration;

/// The bounds of concurrent work. An error names the bound that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Connections. While there are as many, a new one takes the place of the one that has waited longest for a request.
    pub connections: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of all headers of a request.
    pub header_bytes: usize,
    /// Time limit for the headers of the first request of a connection, from its begin; that of a handshake is part of it.
    pub first_header_time: Duration,
    /// Time limit for the headers of a later request, from their first byte.
    pub header_time: Duration,
    /// The time for which a connection may wait for its next request.
    pub idle: Duration,
    /// Bytes of a body.
    pub body: usize,
    /// Time limit for a body.
    pub body_time: Duration,
    /// The time within which a client must take some of the waiting data.
    pub patience: Duration,
    /// Streams of a token.
    pub streams: usize,
    /// Sessions of older revisions of MCP.
    pub mcp_sessions: usize,
    /// Bytes of a body of MCP.
    pub mcp_body: usize,
    /// Requests of a token per second, with bursts of twice that number; `None` without a limit.
    pub requests_a_second: Option<u32>,
    /// Wrong tokens from an address in a minute.
    pub failures_a_minute: u32,
    /// The time for turns to come to their stops when the server ends.
    pub grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 1024,
            headers: 32,
            header_bytes: 16 << 10,
            first_header_time: Duration::from_secs(5),
            header_time: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body: 2 << 20,
            body_time: Duration::from_secs(30),
            patience: Duration::from_secs(75),
            streams: 64,
            mcp_sessions: 256,
            mcp_body: 4 << 20,
            requests_a_second: None,
            failures_a_minute: 10,
            grace: Duration::from_secs(10),
        }
    }
}
