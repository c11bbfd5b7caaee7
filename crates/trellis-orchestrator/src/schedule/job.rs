//! A scheduled job, and the fields of it in `cron-store.json` (orchestrator 8.1, 9).

use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};

use super::{CronExpression, Schedule, zone};
use crate::message::{ChatPlace, Incoming};

/// Characters of the name of a job.
const NAME: usize = 40;
/// The sender of a job's message.
pub(crate) const SENDER: &str = "cron";

/// A scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "JobFields", into = "JobFields")]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Its schedule as written: `at …`, `every …` or `cron …`.
    pub when: String,
    /// The zone of its calendar.
    pub tz: Option<String>,
    /// The message to the agent.
    pub prompt: String,
    /// The chat.
    pub place: ChatPlace,
    /// True if it runs; false while it is paused.
    pub enabled: bool,
    /// The time at which it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// The time of its next run, in milliseconds since 1970.
    pub next_at: Option<i64>,
    /// The time of its last run, in milliseconds since 1970.
    pub last_at: Option<i64>,
    /// The result of that: `fired` until its session has ended, then the end of the session.
    pub last_status: Option<String>,
    /// The number of its runs.
    pub runs: u64,
    /// Its author: `provider:sender`, or the agent.
    pub created_by: String,
}

impl Job {
    /// Returns its schedule.
    pub fn schedule(&self) -> Option<Schedule> {
        let zone = self.tz.as_deref().map_or_else(|| Some(TimeZone::system()), |name| zone(name).ok())?;
        let from = Timestamp::from_millisecond(self.created_at).ok()?;
        match self.when.split_once(' ')? {
            ("at", moment) => Schedule::at(moment, &zone).ok(),
            ("every", interval) => Schedule::every(interval, from).ok(),
            (_, expression) => Some(Schedule::Cron { expression: CronExpression::parse(expression).ok()?, zone }),
        }
    }

    /// Pauses it, or resumes it from now: runs that were missed meanwhile are dropped.
    pub fn enable(&mut self, is_enabled: bool) {
        self.enabled = is_enabled;
        if is_enabled {
            let next = self.schedule().and_then(|schedule| schedule.next(Timestamp::now()));
            self.next_at = next.map(Timestamp::as_millisecond).or(self.next_at);
        }
    }

    /// Returns its message at a moment, for its chat.
    pub fn message(&self, moment: i64) -> Incoming {
        Incoming {
            place: self.place.clone(),
            id: format!("cron-{}-{moment}", self.id),
            sender: SENDER.to_owned(),
            sender_name: SENDER.to_owned(),
            text: self.prompt.clone(),
            at: u64::try_from(moment).unwrap_or_default(),
            files: Vec::new(),
        }
    }
}

/// The kind of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JobKind {
    At,
    Every,
    Cron,
}

/// The fields of a job in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct JobFields {
    id: String,
    name: String,
    kind: JobKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tz: Option<String>,
    prompt: String,
    #[serde(flatten)]
    place: ChatPlace,
    enabled: bool,
    created_at: i64,
    next_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_status: Option<String>,
    runs: u64,
    created_by: String,
}

impl From<Job> for JobFields {
    fn from(job: Job) -> Self {
        let (kind, rest) = match job.when.split_once(' ') {
            Some(("at", rest)) => (JobKind::At, rest),
            Some(("every", rest)) => (JobKind::Every, rest),
            Some((_, rest)) => (JobKind::Cron, rest),
            None => (JobKind::Cron, &*job.when),
        };
        let every = match Schedule::every(rest, Timestamp::UNIX_EPOCH) {
            Ok(Schedule::Every { every, .. }) if kind == JobKind::Every => Some(every),
            _ => None,
        };
        let words: Vec<&str> = job.prompt.split_whitespace().collect();
        Self {
            name: words.join(" ").chars().take(NAME).collect(),
            at: (kind == JobKind::At).then(|| rest.to_owned()),
            every_ms: every,
            expr: (kind == JobKind::Cron).then(|| rest.to_owned()),
            kind,
            id: job.id,
            tz: job.tz,
            prompt: job.prompt,
            place: job.place,
            enabled: job.enabled,
            created_at: job.created_at,
            next_at: job.next_at,
            last_at: job.last_at,
            last_status: job.last_status,
            runs: job.runs,
            created_by: job.created_by,
        }
    }
}

impl TryFrom<JobFields> for Job {
    type Error = String;

    fn try_from(fields: JobFields) -> Result<Self, String> {
        let without = |key: &str| format!("job `{}` has no `{key}`", fields.id);
        let when = match fields.kind {
            JobKind::At => format!("at {}", fields.at.as_deref().ok_or_else(|| without("at"))?),
            JobKind::Every => format!("every {}", interval(fields.every_ms.ok_or_else(|| without("every_ms"))?)),
            JobKind::Cron => format!("cron {}", fields.expr.as_deref().ok_or_else(|| without("expr"))?),
        };
        let job = Self {
            id: fields.id,
            when,
            tz: fields.tz,
            prompt: fields.prompt,
            place: fields.place,
            enabled: fields.enabled,
            created_at: fields.created_at,
            next_at: fields.next_at,
            last_at: fields.last_at,
            last_status: fields.last_status,
            runs: fields.runs,
            created_by: fields.created_by,
        };
        if let Some(name) = &job.tz {
            zone(name).map_err(|bad| bad.to_string())?;
        }
        match job.schedule() {
            Some(_) => Ok(job),
            None => Err(format!("job `{}` has no schedule that can be read: `{}`", job.id, job.when)),
        }
    }
}

/// Milliseconds in the largest unit that they are whole in.
fn interval(millis: u64) -> String {
    let seconds = millis / 1000;
    let unit = [(86_400, 'd'), (3600, 'h'), (60, 'm')].into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit) && seconds > 0);
    unit.map_or_else(|| format!("{seconds}s"), |(unit, name)| format!("{}{name}", seconds / unit))
}
