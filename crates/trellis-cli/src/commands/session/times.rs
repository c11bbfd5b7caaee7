//! Moments and spans of time, as people write them.

use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};

/// The local date and time of a moment, in milliseconds since 1970: `2026-11-21 14:02:10`.
pub(super) fn date_time(moment: u64) -> String {
    let moment = i64::try_from(moment).ok().and_then(|moment| Timestamp::from_millisecond(moment).ok());
    moment.map_or_else(
        || "an unknown time".to_owned(),
        |moment| moment.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// A span: `90s`, `15m`, `12h`, `30d`, `4w`.
///
/// # Errors
/// It is none.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let split = text.find(|mark: char| !mark.is_ascii_digit()).unwrap_or(text.len());
    let seconds = match &text[split..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => 0,
    };
    let span = text[..split].parse::<u64>().ok().and_then(|number| number.checked_mul(seconds)).filter(|_| seconds > 0);
    span.map(Duration::from_secs).ok_or_else(|| "a span of time is a number with `s`, `m`, `h`, `d` or `w`, such as `30d`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit_and_moments_are_dates() {
        assert_eq!(span("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(span("0s"), Ok(Duration::ZERO));
        for wrong in ["", "30", "d", "-1d", "1.5h", "99999999999999999999d", "18446744073709551615w", "3 d", "1y"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        assert_eq!(date_time(u64::MAX), "an unknown time");
        assert_eq!(date_time(0).len(), "2026-11-21 14:02:10".len());
    }
}
