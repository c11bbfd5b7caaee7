//! Times and durations in a form for people.

use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};
use trellis_core::syntax::duration;

/// The local date and time of a moment, in milliseconds since 1970: `2026-11-21 14:02:10`.
pub(super) fn date_time(moment: u64) -> String {
    let moment = i64::try_from(moment).ok().and_then(|moment| Timestamp::from_millisecond(moment).ok());
    moment.map_or_else(
        || "an unknown time".to_owned(),
        |moment| moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// A duration as graphs have them: `90s`, `12h`, `30d`, `4w`.
///
/// # Errors
/// It is none; with how one is written.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| duration::help(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit_and_moments_are_dates() {
        assert_eq!(span("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(span("1w12h"), Ok(Duration::from_secs(7 * 86_400 + 43_200)));
        assert_eq!(span("0s"), Ok(Duration::ZERO));
        assert_eq!(span("30").unwrap_err(), "a duration has a unit: `30s` or `30ms`");
        for wrong in ["", "30", "d", "-1d", "1.5h", "99999999999999999999d", "18446744073709551615w", "3 d", "1y"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        assert_eq!(date_time(u64::MAX), "an unknown time");
        assert_eq!(date_time(0).len(), "2026-11-21 14:02:10".len());
    }
}
