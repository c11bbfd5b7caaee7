//! Durations as people write them: `30s`, `200ms`, `2m`, `1h30m`, `1d`, `4w`. The one reader, for graphs, bindings and commands.

use std::time::Duration;

/// The form of a duration, for messages.
pub const FORM: &str = "write it like `30s`, `200ms`, `2m`, `1h30m`, `1d` or `4w`";

/// The units, largest first, in milliseconds.
const UNITS: [(&str, u64); 6] = [("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The longest one: a hundred years, so that adding it to a moment cannot overflow.
const MAX_MILLISECONDS: u64 = 100 * 365 * 86_400_000;

/// Returns the remedy for a text that is no duration.
pub fn help(text: &str) -> String {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("a duration has a unit: `{text}s` or `{text}ms`"),
        false => FORM.to_owned(),
    }
}

/// Units as people also write them.
const WORDS: [(&str, &[&str]); 6] = [
    ("w", &["week", "weeks"]),
    ("d", &["day", "days"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("m", &["min", "mins", "minute", "minutes"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
];

/// Returns the duration that words mean: `5m` for `5 minutes`.
pub(crate) fn meant(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let word = text[digits..].trim_start().to_ascii_lowercase();
    let (unit, _) = WORDS.iter().find(|(unit, words)| *unit == word || words.contains(&&*word))?;
    let meant = format!("{}{unit}", &text[..digits]);
    parse(&meant).map(|_| meant)
}

/// Reads a duration: whole numbers with units, largest unit first, each at most once.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut units = UNITS.as_slice();
    let mut total = 0_u64;
    while !rest.is_empty() || total == 0 && units.len() == UNITS.len() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let at = units.iter().position(|(name, _)| *name == &rest[digits..digits + unit])?;
        total = number.checked_mul(units[at].1)?.checked_add(total).filter(|total| *total <= MAX_MILLISECONDS)?;
        units = &units[at + 1..];
        rest = &rest[digits + unit..];
    }
    Some(Duration::from_millis(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whole_numbers_with_units() {
        for (text, millis) in
            [("30s", 30_000), ("200ms", 200), ("2m", 120_000), ("1h30m", 5_400_000), ("1d", 86_400_000), ("1w1d", 691_200_000), ("0s", 0)]
        {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn words_mean_a_unit() {
        for (text, duration) in [("5 minutes", Some("5m")), ("30sec", Some("30s")), ("1 Hour", Some("1h")), ("30 s", Some("30s"))] {
            assert_eq!(meant(text).as_deref(), duration, "{text}");
        }
        assert_eq!([meant("minutes"), meant("5"), meant("5 moons"), meant("1.5 hours"), meant("")], [const { None }; 5]);
    }

    #[test]
    fn refuses_everything_else() {
        for text in
            ["", "30", "s", "1.5s", "-1s", "30 s", "30S", "30sec", "1m1h", "1s1s", "1h ", "99999999999999999999s", "200000d", "1µs", "٣s"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
