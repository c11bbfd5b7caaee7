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
    cron::{BadExpression, BadField, CronExpression},
    job::Job,
    nearest::NearestSchedule,
    store::{Jobs, JobsError, MAX_JOBS},
};

use crate::texts::Language;

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
#[error("{}", self.said(Language::English))]
#[non_exhaustive]
pub enum BadSchedule {
    /// The moment cannot be read.
    Moment(String),
    /// The duration cannot be read, or is too short.
    Interval(String),
    /// There is no such zone.
    Zone(String),
    /// The expression cannot be read.
    Expression(#[from] BadExpression),
    /// It never happens.
    Never(String),
}

impl BadSchedule {
    /// Why it is none, for people.
    pub fn said(&self, language: Language) -> String {
        let (name, text) = match self {
            Self::Moment(text) => ("cron_moment", text),
            Self::Interval(text) => ("cron_interval", text),
            Self::Zone(text) => ("cron_zone", text),
            Self::Never(text) => ("cron_never", text),
            Self::Expression(bad) => return bad.said(language),
        };
        language.fill(name, &[("text", text)])
    }
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
                // The clock may have been set back behind the moment from which it counts.
                let every = i64::try_from(*every).ok()?;
                let runs = after.as_millisecond().checked_sub(from.as_millisecond())?.div_euclid(every) + 1;
                Timestamp::from_millisecond(from.as_millisecond().checked_add(runs.checked_mul(every)?)?).ok()
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
