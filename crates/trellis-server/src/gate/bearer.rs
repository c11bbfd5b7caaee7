//! The token of a request.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::{
    rate::RateLimits,
    rights::Rights,
    token::{Admission, Caller, Tokens},
};
use crate::{
    bounds::Bounds,
    trouble::{Code, Trouble},
};

/// The sender of a request, by its token. An address that sends wrong ones is counted; a right one, which is too long to be guessed, is always taken.
///
/// # Errors
/// A token is needed, it is none of these, or too many of them were none.
pub(crate) fn caller(
    tokens: &Tokens,
    rates: &RateLimits,
    bounds: &Bounds,
    headers: &HeaderMap,
    address: IpAddr,
) -> Result<Caller, Trouble> {
    if let Some(caller) = tokens.caller(token(headers)) {
        return Ok(caller);
    }
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if given.is_some() {
        rates.fail(address, bounds)?;
    }
    let what = if given.is_some() { "the token is none of this server's" } else { "a token is needed" };
    Err(Trouble::new(Code::Unauthenticated, format!("{what}: send `Authorization: Bearer TOKEN`; it is printed where the server starts")))
}

/// Returns what holds for the stream that a request begins, by its token, which had these rights.
pub(crate) fn admission(tokens: &Tokens, headers: &HeaderMap, rights: Rights) -> Admission {
    tokens.admission(token(headers), rights)
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
