//! Gates: the checks that a request passes before a route sees it.
//!
//! ```text
//! listen ─▶ headers ─▶ host, origin ─▶ token ─▶ rate ─▶ route: right, media type, body
//! ```
//!
//! **Invariant:** nothing outside of this module reads a token.

mod cors;
mod host;
mod listen;
mod log;
mod metrics;
mod pass;
mod rate;
mod rights;
mod socket;
mod token;

pub use self::{
    host::HostNames,
    log::LogLine,
    rights::{Right, Rights},
    token::{BadTokens, Tokens},
};
pub(crate) use self::{
    listen::accept,
    metrics::HttpMetrics,
    pass::pass,
    rate::{RateLimits, StreamPermit},
    token::{Caller, digest},
};
