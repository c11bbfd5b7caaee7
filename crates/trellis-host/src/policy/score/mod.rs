//! The score lock: a score that some other program wrote into files decides, while it is fresh (language 11.4).
//!
//! ```text
//! newest readable file ─▶ verdict BLOCK, or score < block_below ─▶ BLOCK, however old
//!                      ─▶ older than max_age, or no risk ─▶ ASK
//!                      ─▶ score > auto_above and risk < risk_below ─▶ AUTO_RUN, else ASK
//! ```
//!
//! Scores and risks are from 0 to 100; any other number is none.
//!
//! **Invariant:** numbers are rounded to two decimals, half up, before they are compared and cited.

mod files;
mod round;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc, time::Duration};

use trellis_core::{
    Mapping, ToolError, Value,
    path::{KeyPath, walk},
};

pub(crate) use self::files::FileGlob;
use self::{files::ScoreFile, round::hundredths};
use super::{Decided, Decision, DecisionSource, policy_error};
use crate::environment::Environment;

/// Notes about files that were skipped; there may be thousands.
const MAX_NOTES: usize = 8;

/// A lock that decides about a call by a score in files.
#[derive(Clone, Debug)]
pub struct ScoreLock {
    pub(crate) files: FileGlob,
    /// The number in a file.
    pub(crate) field: KeyPath,
    /// A text in a file that blocks where it is `BLOCK`.
    pub(crate) verdict: Option<KeyPath>,
    /// The moment in a file; without it, the time of the file.
    pub(crate) at: Option<KeyPath>,
    /// The age from which on a score holds no longer.
    pub(crate) max_age: Duration,
    /// A variable with another age, in minutes.
    pub(crate) max_age_env: Option<Arc<str>>,
    pub(crate) block_below: f64,
    pub(crate) auto_above: f64,
    /// The risk in the arguments of the call.
    pub(crate) risk: KeyPath,
    pub(crate) risk_below: f64,
    /// The time by which a file may be ahead of the clock.
    pub(crate) future: Duration,
}

/// A file that can be read, with its score.
struct ScoreReading {
    file: ScoreFile,
    score: f64,
    is_blocked: bool,
    at: u64,
}

impl ScoreLock {
    /// Decides about a call with these arguments. It reads files, so it may block.
    ///
    /// # Errors
    /// Code `policy`: the variable with the age holds something else than minutes.
    pub(super) fn decide(&self, folder: &Path, args: &Mapping, now: u64, environment: &Environment) -> Result<Decided, ToolError> {
        let max_age = self.max_age(environment)?;
        let mut notes = Vec::new();
        let newest = self.newest(folder, now, &mut notes);
        let skipped = notes.len().saturating_sub(MAX_NOTES);
        notes.truncate(MAX_NOTES);
        if skipped > 0 {
            notes.push(format!("{skipped} more files were skipped"));
        }
        let Some(ScoreReading { file, score, is_blocked, at }) = newest else {
            notes.push(format!("no file of `{}` has a score", self.files));
            let notes = notes.into_iter().map(Arc::from).collect();
            return Ok(Decided { notes, ..Decided::new(Decision::Ask, DecisionSource::ScoreLock) });
        };
        let risk = args.get(self.risk.root()).and_then(|value| walk(value, self.risk.rest())).and_then(percentage).map(hundredths);
        let age = hundredths(minutes(Duration::from_millis(now.saturating_sub(at))));
        let (block_below, auto_above, risk_below) =
            (hundredths(self.block_below), hundredths(self.auto_above), hundredths(self.risk_below));
        let (decision, why) = if is_blocked {
            (Decision::Block, "the verdict is BLOCK".to_owned())
        } else if score < block_below {
            (Decision::Block, format!("the score {score:.2} is below {block_below:.2}"))
        } else if age > hundredths(max_age) {
            (Decision::Ask, format!("the score is {age:.2} minutes old, more than {:.2}", hundredths(max_age)))
        } else {
            match risk {
                None => (Decision::Ask, format!("the call has no number from 0 to 100 at `{}`", self.risk)),
                Some(risk) if score > auto_above && risk < risk_below => (
                    Decision::AutoRun,
                    format!("the score {score:.2} is above {auto_above:.2}, and the risk {risk:.2} below {risk_below:.2}"),
                ),
                Some(risk) if score > auto_above => (Decision::Ask, format!("the risk {risk:.2} is not below {risk_below:.2}")),
                Some(_) => (Decision::Ask, format!("the score {score:.2} is not above {auto_above:.2}")),
            }
        };
        notes.push(why);
        let mut evidence = Mapping::from_iter([("score", Value::Float(score)), ("file", Value::text(&*file.shown))]);
        evidence.insert("age_minutes".into(), Value::Float(age));
        if let Some(risk) = risk {
            evidence.insert("risk".into(), Value::Float(risk));
        }
        let notes = notes.into_iter().map(Arc::from).collect();
        Ok(Decided { notes, ..Decided::new(decision, DecisionSource::ScoreLock).evidence(Value::Map(evidence)) })
    }

    /// The greatest age, in minutes.
    fn max_age(&self, environment: &Environment) -> Result<f64, ToolError> {
        let Some((name, text)) = self.max_age_env.as_ref().and_then(|name| Some((name, environment.find(name)?))) else {
            return Ok(minutes(self.max_age));
        };
        let found = text.trim().parse::<f64>().ok().filter(|minutes| minutes.is_finite() && *minutes >= 0.0);
        found
            .ok_or_else(|| policy_error(format!("`{name}` holds the greatest age of a score in minutes, such as 60, not `{}`", cut(&text))))
    }

    /// The newest file with a score; notes say which ones were skipped, and why.
    fn newest(&self, folder: &Path, now: u64, notes: &mut Vec<String>) -> Option<ScoreReading> {
        let files = match self.files.list(folder) {
            Ok(files) => files,
            Err(why) => {
                notes.push(why);
                return None;
            }
        };
        let latest = now.saturating_add(u64::try_from(self.future.as_millis()).unwrap_or(u64::MAX));
        let mut newest: Option<ScoreReading> = None;
        for file in files {
            let shown = file.shown.clone();
            match self.read(file) {
                Ok(reading) if reading.at > latest => notes.push(format!("`{shown}` was skipped: it is from the future")),
                Ok(reading) if newest.as_ref().is_some_and(|newest| newest.at > reading.at) => {}
                Ok(reading) => newest = Some(reading),
                Err(why) => notes.push(format!("`{shown}` was skipped: {why}")),
            }
        }
        newest
    }

    fn read(&self, file: ScoreFile) -> Result<ScoreReading, String> {
        let content = file.content()?;
        let find = |path: &KeyPath| content.get(path.root()).and_then(|value| walk(value, path.rest()));
        let score = find(&self.field).and_then(percentage).ok_or_else(|| format!("it has no number from 0 to 100 at `{}`", self.field))?;
        let at = match self.at.as_ref().and_then(|path| Some((path, find(path)?))) {
            Some((path, value)) => super::timestamp::moment(value).ok_or_else(|| format!("`{path}` is no moment"))?,
            None => file.modified.ok_or("it has no time")?,
        };
        let is_blocked = self.verdict.as_ref().and_then(find).and_then(Value::as_str) == Some(Decision::Block.as_str());
        Ok(ScoreReading { file, score: hundredths(score), is_blocked, at })
    }
}

/// A number of JSON from 0 to 100; texts are none.
fn percentage(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| (0.0..=100.0).contains(number))
}

fn minutes(duration: Duration) -> f64 {
    duration.as_secs_f64() / 60.0
}

/// As much of a text as an error cites.
pub(super) fn cut(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}
