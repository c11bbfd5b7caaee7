//! A job as `cron-store.json` has it (orchestrator 9).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Job, Schedule, zone};
use crate::message::ChatPlace;

/// Characters of the name of a job.
const NAME: usize = 40;

/// How a job repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JobKind {
    At,
    Every,
    Cron,
}

/// The fields of a job in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JobFields {
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
