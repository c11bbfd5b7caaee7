//! Schedules: when the agent acts without a message (orchestrator 8.1).
//!
//! ```text
//! job ──due──▶ a message of the chat, named `cron-<job>-<due>` ──▶ the queue, as if somebody had written it
//! ```
//!
//! **Invariant:** a run is named by its job and its time, so that it happens once, however often it is found due.

mod cron;
mod job;
mod nearest;
mod store;

use std::time::Duration;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

pub(crate) use self::job::SENDER;
pub use self::{
    cron::{BadExpression, CronExpression},
    job::Job,
    nearest::NearestSchedule,
    store::{Jobs, JobsError},
};

/// The shortest time between two runs.
const MIN_INTERVAL: Duration = Duration::from_secs(10);

/// The times at which something happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Once.
    At(Timestamp),
    /// Again and again, counted from a moment.
    Every {
        /// The time between two runs, in milliseconds.
        every: u64,
        /// The moment.
        from: Timestamp,
    },
    /// At the times of a calendar.
    Cron {
        /// The times.
        expression: CronExpression,
        /// The zone of the calendar.
        zone: TimeZone,
    },
}

/// Words that are no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSchedule {
    /// The moment cannot be read.
    #[error("`{0}` is no moment: write `2026-11-23T09:00`, or with an offset `2026-11-23T09:00+09:00`")]
    Moment(String),
    /// The duration cannot be read, or is too short.
    #[error("`{0}` is no time between runs: write `30s`, `10m`, `2h` or `1d`, at least 10s")]
    Interval(String),
    /// There is no such zone.
    #[error("there is no time zone `{0}`: write its name, such as `Asia/Seoul`")]
    Zone(String),
    /// The expression cannot be read.
    #[error(transparent)]
    Expression(#[from] BadExpression),
    /// It never happens.
    #[error("`{0}` never happens")]
    Never(String),
}

impl Schedule {
    /// Once at a moment: with an offset, or local time of a zone.
    ///
    /// # Errors
    /// It is no moment.
    pub fn at(text: &str, zone: &TimeZone) -> Result<Self, BadSchedule> {
        let local = || {
            let moment: DateTime = text.parse().ok()?;
            Some(moment_of(zone, moment))
        };
        let moment = text.parse::<Timestamp>().ok().or_else(local);
        moment.map(Self::At).ok_or_else(|| BadSchedule::Moment(text.to_owned()))
    }

    /// Again and again, from now on.
    ///
    /// # Errors
    /// It is no duration, or below 10 s.
    pub fn every(text: &str, from: Timestamp) -> Result<Self, BadSchedule> {
        let bad = || BadSchedule::Interval(text.to_owned());
        let unit = text.chars().next_back().ok_or_else(bad)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return Err(bad()),
        };
        let count: u64 = text[..text.len() - 1].parse().map_err(|_| bad())?;
        let every = count
            .checked_mul(seconds)
            .filter(|seconds| *seconds >= MIN_INTERVAL.as_secs() && *seconds <= 10 * 366 * 86_400)
            .ok_or_else(bad)?;
        Ok(Self::Every { every: every * 1000, from })
    }

    /// At the times of a calendar in a zone.
    ///
    /// # Errors
    /// The expression cannot be read, or never happens.
    pub fn cron(text: &str, zone: TimeZone) -> Result<Self, BadSchedule> {
        let schedule = Self::Cron { expression: CronExpression::parse(text)?, zone };
        match schedule.next(Timestamp::now()) {
            Some(_) => Ok(schedule),
            None => Err(BadSchedule::Never(text.to_owned())),
        }
    }

    /// Returns the first run after a time.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::At(moment) => Some(*moment).filter(|moment| *moment > after),
            Self::Every { every, from } => {
                let passed = u64::try_from(after.as_millisecond().saturating_sub(from.as_millisecond())).unwrap_or_default();
                let next = (passed / every + 1).saturating_mul(*every);
                let next = from.as_millisecond().checked_add(i64::try_from(next).ok()?)?;
                Timestamp::from_millisecond(next).ok()
            }
            Self::Cron { expression, zone } => expression.next(after, zone),
        }
    }
}

/// The zone of a name.
///
/// # Errors
/// There is none.
pub fn zone(name: &str) -> Result<TimeZone, BadSchedule> {
    TimeZone::get(name).map_err(|_| BadSchedule::Zone(name.to_owned()))
}

/// Converts a local time: a time in a gap becomes its end, and of an ambiguous time the first one counts.
fn moment_of(zone: &TimeZone, local: DateTime) -> Timestamp {
    use jiff::tz::AmbiguousOffset;
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let moment = match ambiguous.offset() {
        AmbiguousOffset::Gap { .. } => {
            let before = ambiguous.earlier();
            before.map(|before| zone.following(before).next().map_or(before, |transition| transition.timestamp()))
        }
        _ => ambiguous.earlier(),
    };
    moment.unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
