//! Gates: the checks that a request passes before a route sees it.
//!
//! ```text
//! listen ─▶ headers ─▶ host, origin ─▶ token ─▶ rate ─▶ route: right, media type, body
//! ```
//!
//! **Invariant:** nothing outside of this module reads a token.

mod bearer;
pub(crate) mod cors;
mod host;
mod log;
mod metrics;
mod rate;
mod rights;
mod slots;
mod socket;
mod token;

pub(crate) use self::{
    bearer::{admission, caller},
    metrics::HttpMetrics,
    rate::{RateLimits, StreamPermit},
    slots::ConnectionSlots,
    socket::{LastingBody, PatientSocket},
    token::{Admission, Caller},
};
pub use self::{
    host::HostNames,
    log::LogLine,
    rights::{Right, Rights},
    token::{BadTokens, Tokens},
};
