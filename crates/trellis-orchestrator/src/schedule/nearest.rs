//! The nearest valid schedule to an invalid one (orchestrator 8.1).

use jiff::{Timestamp, tz::TimeZone};
use trellis_core::diagnostic::nearest;

use super::{CronExpression, MIN_INTERVAL, Schedule, cron::clamp_fields, zone};

/// Runs that are shown.
const SHOWN: usize = 5;

/// A valid schedule near to an invalid one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestSchedule {
    /// Its text: `cron …` or `every …`.
    pub when: String,
    /// The zone of its calendar, if it has one.
    pub tz: Option<String>,
    /// Its next runs.
    pub runs: Vec<Timestamp>,
}

impl NearestSchedule {
    /// Returns the valid schedule nearest to `when` in the zone `tz`, with its next runs; `None` if none is near.
    pub fn of(when: &str, tz: Option<&str>, now: Timestamp) -> Option<Self> {
        let tz = tz.map(|name| if zone(name).is_ok() { Some(name.to_owned()) } else { nearest_zone(name) });
        let tz = match tz {
            Some(None) => return None,
            Some(named) => named,
            None => None,
        };
        let calendar = tz.as_deref().and_then(|name| zone(name).ok()).unwrap_or_else(TimeZone::system);
        let (when, schedule) = match when.split_once(' ') {
            Some(("at", _)) => return None,
            Some(("every", interval)) => {
                let interval =
                    if Schedule::every(interval, now).is_ok() { interval.to_owned() } else { format!("{}s", MIN_INTERVAL.as_secs()) };
                (format!("every {interval}"), Schedule::every(&interval, now).ok()?)
            }
            _ => {
                let expression = nearest_expression(when.trim_start_matches("cron "), now, &calendar)?;
                (format!("cron {expression}"), Schedule::cron(&expression, calendar).ok()?)
            }
        };
        let runs = std::iter::successors(schedule.next(now), |run| schedule.next(*run)).take(SHOWN).collect();
        Some(Self { when, tz, runs })
    }
}

/// The zone with a name near to this one.
fn nearest_zone(name: &str) -> Option<String> {
    let names: Vec<String> = jiff::tz::db().available().map(|known| known.to_string()).collect();
    let same =
        |known: &&String| known.eq_ignore_ascii_case(name) || known.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(name));
    let found = names.iter().find(same).map(String::as_str).or_else(|| nearest(name, names.iter().map(String::as_str)));
    found.map(str::to_owned)
}

/// An expression near to a text that fires: its fields within their bounds, its day one that the month has.
fn nearest_expression(text: &str, now: Timestamp, zone: &TimeZone) -> Option<String> {
    let mut fields = clamp_fields(text);
    for _ in 0..31 {
        let expression = fields.join(" ");
        if CronExpression::parse(&expression).ok()?.next(now, zone).is_some() {
            return Some(expression);
        }
        // Only a day that its months lack keeps an expression from firing.
        let day: u64 = fields[2].rsplit([',', '-']).next()?.parse().ok()?;
        fields[2] = day.checked_sub(1).filter(|day| *day > 0)?.to_string();
    }
    None
}
