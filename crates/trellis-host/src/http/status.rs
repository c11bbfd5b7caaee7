//! Statuses that are no success, and the delay that a response asks for (language 9.3, 9.4).

use std::time::SystemTime;

use jiff::{Timestamp, fmt::rfc2822};
use trellis_core::ToolError;

use super::HttpResponse;

/// Statuses that may be another one next time.
const PASSING: [u16; 7] = [408, 425, 429, 500, 502, 503, 504];

/// The error of a status that is no success: `http-NNN`, or `redirect`. It is final, but for those statuses that pass; `Retry-After` and
/// `retry-after-ms` become its `after`.
pub fn status_error(response: &HttpResponse) -> ToolError {
    let (status, origin) = (response.status(), response.origin());
    if matches!(status, 301..=303 | 307 | 308) {
        let mut error = ToolError::coded("redirect", format!("`{origin}` redirects with status {status}, which is not followed"));
        error.is_final = true;
        return error;
    }
    let name = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let error = ToolError::coded(format!("http-{status}"), format!("`{origin}` answered {status}{name}"));
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

/// Milliseconds that a header `Retry-After` asks to wait: it has seconds, or a date. `None` for junk.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<u64> {
    if let Some(seconds) = whole(value) {
        return Some(seconds.saturating_mul(1000));
    }
    let date = rfc2822::parse(value.trim()).ok()?.timestamp();
    let now = Timestamp::try_from(now).ok()?;
    Some(u64::try_from(date.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}

/// Returns a number of digits alone, capped at the largest.
fn whole(value: &str) -> Option<u64> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| value.parse().unwrap_or(u64::MAX))
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
