//! Moments as files write them: RFC 3339 texts, and seconds or milliseconds since 1970.

use trellis_core::Value;

/// Numbers from here on are milliseconds: as seconds they would lie behind the year 5000.
const MILLISECONDS: f64 = 1e11;

/// A moment in milliseconds since 1970. A text without an offset is in UTC.
pub(super) fn moment(value: &Value) -> Option<u64> {
    if let Some(text) = value.as_str() {
        return parse(text.trim());
    }
    let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)?;
    let millis = if number < MILLISECONDS { number * 1000.0 } else { number };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is not negative, and a cast saturates")]
    Some(millis as u64)
}

/// `2026-11-23T10:00:00.5+01:00`; `T` may be a blank, the fraction and the offset may be absent.
fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.split('-');
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let (clock, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (&time[..at], offset(&time[at..])?),
        None => (time, 0),
    };
    let (clock, fraction) = clock.split_once(['.', ',']).map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let (hour, minute, second) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    // A leap second is the one behind it.
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let millis = match fraction {
        Some(fraction) if !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{fraction:0<3}").get(..3)?.parse::<i64>().ok()?
        }
        Some(_) => return None,
        None => 0,
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    u64::try_from(seconds * 1000 + millis).ok()
}

/// Seconds that a clock is ahead of UTC: `Z`, `+01:00`, `-0530`.
fn offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'Z' | b'z' => return (text.len() == 1).then_some(0),
        b'+' => 1,
        _ => -1,
    };
    let rest = text.get(1..)?;
    let (hours, minutes) = rest.split_once(':').or_else(|| (rest.len() == 4).then(|| rest.split_at_checked(2)).flatten())?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

fn digits(text: &str, count: usize) -> Option<i64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the years 0 to 9999.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let days_before_year = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let days_before_month: i64 = (1..month).map(|month| days_in(year, month)).sum();
    // 719,162 days lie before 1970-01-01.
    days_before_year + days_before_month + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_text_or_a_number() {
        let text = |text: &str| moment(&Value::text(text));
        assert_eq!(text("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(text("2000-03-01T00:00:00Z"), Some(951_868_800_000));
        assert_eq!(text("2026-11-23T10:00:00Z"), Some(1_795_428_000_000));
        assert_eq!(text("2026-11-23 10:00:00.123456"), Some(1_795_428_000_123));
        assert_eq!(text("2026-11-23T11:30:00.5+01:30"), Some(1_795_428_000_500));
        assert_eq!(text("2026-11-23T05:00:00-0500"), Some(1_795_428_000_000));
        assert_eq!(moment(&Value::Int(1_795_428_000)), Some(1_795_428_000_000));
        assert_eq!(moment(&Value::Float(1_795_428_000_123.0)), Some(1_795_428_000_123));
    }

    #[test]
    fn junk_is_no_moment() {
        for junk in ["", "yesterday", "2026-11-23", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-23T24:00:00Z"] {
            assert_eq!(moment(&Value::text(junk)), None, "{junk}");
        }
        for junk in ["1969-12-31T23:59:59Z", "2026-11-23T10:00:00.Z", "2026-11-23T10:00:00+1", "2026-11-23T10:00:00Zé", "é-11-23T10:00:00"]
        {
            assert_eq!(moment(&Value::text(junk)), None, "{junk}");
        }
        assert_eq!((moment(&Value::Int(-1)), moment(&Value::Null), moment(&Value::Float(f64::NAN))), (None, None, None));
    }
}
