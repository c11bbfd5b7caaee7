//! The token of a request.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::{
    rate::RateLimits,
    token::{Caller, Tokens},
};
use crate::trouble::{Code, Trouble};

/// The sender of a request, by its token. An address that sends wrong ones is counted.
///
/// # Errors
/// A token is needed, or it is none of these.
pub(crate) fn caller(tokens: &Tokens, rates: &RateLimits, headers: &HeaderMap, address: IpAddr) -> Result<Caller, Trouble> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if let Some(caller) = tokens.caller(token.map(|(_, token)| token.trim())) {
        return Ok(caller);
    }
    if given.is_some() {
        rates.fail(address);
    }
    let what = if given.is_some() { "the token is none of this server's" } else { "a token is needed" };
    Err(Trouble::new(Code::Unauthenticated, format!("{what}: send `Authorization: Bearer TOKEN`; it is printed where the server starts")))
}
