//! Errors of the client as errors of calls, with the codes of 9.4.

use std::{error::Error, time::SystemTime};

use jiff::{Timestamp, fmt::rfc2822};
use trellis_core::{ToolError, Value};

use super::HttpResponse;

/// Statuses that may be another one next time.
const PASSING: [u16; 7] = [408, 425, 429, 500, 502, 503, 504];

/// An error with one of the codes that the host makes (9.4). Some of them are final: [`ToolError::finally`].
pub fn coded(code: &str, message: impl Into<String>) -> ToolError {
    ToolError { code: Some(Value::text(code)), ..ToolError::new(message) }
}

/// The error of a status that is no success: `http-NNN`, or `redirect`. It is final, but for those statuses that pass; `Retry-After` and
/// `retry-after-ms` become its `after`.
pub fn status_error(response: &HttpResponse) -> ToolError {
    let (status, origin) = (response.status(), response.origin());
    if matches!(status, 301..=303 | 307 | 308) {
        let mut error = coded("redirect", format!("`{origin}` redirects with status {status}, which is not followed"));
        error.is_final = true;
        return error;
    }
    let name = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let error = coded(&format!("http-{status}"), format!("`{origin}` answered {status}{name}"));
    if !PASSING.contains(&status) {
        return error.finally();
    }
    ToolError { after: asked_delay(response, SystemTime::now()), ..error }
}

/// Milliseconds that a response asks to wait; `None` also where they cannot be read.
fn asked_delay(response: &HttpResponse, now: SystemTime) -> Option<u64> {
    let exact = response.header("retry-after-ms").and_then(whole);
    exact.or_else(|| retry_after(response.header("retry-after")?, now))
}

/// `Retry-After`: seconds, or a date.
fn retry_after(value: &str, now: SystemTime) -> Option<u64> {
    if let Some(seconds) = whole(value) {
        return Some(seconds.saturating_mul(1000));
    }
    let date = rfc2822::parse(value.trim()).ok()?.timestamp();
    let now = Timestamp::try_from(now).ok()?;
    Some(u64::try_from(date.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}

/// A number of digits alone; as many as there are.
fn whole(value: &str) -> Option<u64> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| value.parse().unwrap_or(u64::MAX))
}

/// No response came.
pub(super) fn sending(origin: &str, error: &(dyn Error + 'static)) -> ToolError {
    if let Some(tls) = cause::<rustls::Error>(error) {
        return coded("tls", format!("no trust in `{origin}`: {}", distrust(tls))).finally();
    }
    let connects = error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect);
    if connects { no_connection(origin, error) } else { receiving(origin, error) }
}

/// Nobody listens there.
pub(super) fn no_connection(origin: &str, error: &(dyn Error + 'static)) -> ToolError {
    coded("connect", format!("no connection to `{origin}`: {}", last(error)))
}

/// The answer broke off.
pub(super) fn receiving(origin: &str, error: &(dyn Error + 'static)) -> ToolError {
    coded("cut", format!("the answer of `{origin}` broke off: {}", last(error)))
}

/// The reason of a failed handshake in words.
fn distrust(error: &rustls::Error) -> String {
    use rustls::{CertificateError as Certificate, Error as Tls};
    match error {
        Tls::InvalidCertificate(Certificate::UnknownIssuer) => {
            "its certificate is signed by nobody known; `ca` names a PEM file to trust".to_owned()
        }
        Tls::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => "its certificate has expired".to_owned(),
        Tls::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            "its certificate is not valid yet".to_owned()
        }
        Tls::InvalidCertificate(Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }) => {
            "its certificate is for another name".to_owned()
        }
        Tls::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        error => error.to_string(),
    }
}

/// An error of a type among the causes of another. An error of input and output hands its own cause on only by `get_ref`.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(here) = next {
        if let Some(found) = here.downcast_ref() {
            return Some(found);
        }
        next = match here.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => here.source(),
        };
    }
    None
}

/// The cause behind all others: those before it repeat the URL.
fn last(error: &(dyn Error + 'static)) -> String {
    let mut here = error;
    while let Some(next) = here.source() {
        here = next;
    }
    here.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn delays_are_seconds_or_dates_and_junk_is_none() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, after) in [
            ("2", Some(2000)),
            (" 0 ", Some(0)),
            ("99999", Some(99_999_000)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("-1", None),
            ("", None),
            ("soon", None),
            ("1.5", None),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(0)),
            ("Sun, 36 Nov 1994 08:49:07 GMT", None),
        ] {
            assert_eq!(retry_after(value, now), after, "{value:?}");
        }
    }
}
