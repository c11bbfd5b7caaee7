//! The jobs of a workspace: `runtime/cron/cron-store.json` (orchestrator 9).

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::job::Job;
use crate::{
    message::Incoming,
    workspace::{MaybeRead, ObjectFileError, copy_corrupt, read_object, write_object},
};

/// The newest form of the file.
const SCHEDULES_VERSION: u32 = 1;
/// Jobs at most.
pub const MAX_JOBS: usize = 200;

/// The jobs failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobsError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] ObjectFileError),
    /// There are too many.
    #[error("there are {MAX_JOBS} jobs already: remove one")]
    TooMany,
}

#[derive(Serialize)]
struct Contents {
    version: u32,
    jobs: Vec<Job>,
}

/// The contents of the file as they are read.
#[derive(Default, Deserialize)]
struct ReadContents {
    jobs: Vec<MaybeRead<Job>>,
}

/// The jobs of a workspace. Clones share them.
#[derive(Clone, Debug)]
pub struct Jobs {
    file: PathBuf,
    jobs: Arc<Mutex<Vec<Job>>>,
    /// Notified when the next run may be sooner.
    pub changed: Arc<Notify>,
}

impl Jobs {
    /// Opens the jobs in a file. A file that cannot be understood is moved aside, as the warning says.
    ///
    /// # Errors
    /// The file cannot be read, or a newer program wrote it.
    pub fn open(file: &Path) -> Result<(Self, Option<String>), JobsError> {
        let (contents, mut warning) = read_object::<ReadContents>(file, SCHEDULES_VERSION)?;
        let (jobs, lost) = MaybeRead::part(contents.jobs);
        if lost > 0 {
            warning = Some(copy_corrupt(file, lost)?);
        }
        Ok((Self { file: file.to_owned(), jobs: Arc::new(Mutex::new(jobs)), changed: Arc::default() }, warning))
    }

    /// All jobs.
    pub fn list(&self) -> Vec<Job> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a job.
    ///
    /// # Errors
    /// There are too many, or the file cannot be written.
    pub fn add(&self, job: Job) -> Result<(), JobsError> {
        self.change(|jobs| {
            if jobs.len() >= MAX_JOBS {
                return Err(JobsError::TooMany);
            }
            jobs.push(job);
            Ok(())
        })
    }

    /// Changes the job of an id, and removes it if `change` returns false; returns whether there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn update(&self, id: &str, mut change: impl FnMut(&mut Job) -> bool) -> Result<bool, JobsError> {
        self.change(|jobs| {
            let mut is_there = false;
            jobs.retain_mut(|job| {
                let is_meant = job.id == id;
                is_there |= is_meant;
                !is_meant || change(job)
            });
            Ok(is_there)
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Job>) -> Result<T, JobsError>) -> Result<T, JobsError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = jobs.clone();
        let done = change(&mut changed)?;
        let contents = Contents { version: SCHEDULES_VERSION, jobs: changed };
        write_object(&self.file, &contents)?;
        *jobs = contents.jobs;
        self.changed.notify_one();
        Ok(done)
    }

    /// Returns the jobs that are due at a moment, each with the message of its chat. Missed runs of a job become one.
    pub fn due(&self, now: Timestamp) -> Vec<(Job, Incoming)> {
        let is_due = |job: &Job| job.enabled && job.next_at.is_some_and(|next| next <= now.as_millisecond());
        let due = self.list().into_iter().filter(is_due);
        due.map(|job| {
            let moment = job.next_at.unwrap_or_default();
            let message = job.message(moment);
            (job, message)
        })
        .collect()
    }

    /// Lets no job wait longer than its schedule says: where the clock was set back, what came next by the clock of before comes sooner.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn wait_no_longer(&self, now: Timestamp) -> Result<(), JobsError> {
        let sooner = |job: &Job| {
            let schedule = job.schedule()?;
            let next = schedule.next(now)?;
            // What happened a moment ago does not happen again.
            let is_over = job.last_at == Some(next.as_millisecond());
            let next = if is_over { schedule.next(next)? } else { next }.as_millisecond();
            job.next_at.filter(|known| job.enabled && next < *known).map(|_| next)
        };
        if self.list().iter().all(|job| sooner(job).is_none()) {
            return Ok(());
        }
        self.change(|jobs| {
            jobs.iter_mut().for_each(|job| job.next_at = sooner(job).or(job.next_at));
            Ok(())
        })
    }

    /// Notes that a job happened, and when it happens next. One that is over goes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_run(&self, id: &str, now: Timestamp) -> Result<(), JobsError> {
        let done = self.update(id, |job| {
            job.runs += 1;
            job.last_status = Some("fired".to_owned());
            job.last_at = job.next_at.or(Some(now.as_millisecond()));
            job.next_at = job.schedule().and_then(|schedule| schedule.next(now)).map(Timestamp::as_millisecond);
            job.next_at.is_some()
        });
        done.map(drop)
    }

    /// Notes the result of the message of a job, once its session has ended. A finished job is removed already.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_end(&self, message: &str, status: &str) -> Result<(), JobsError> {
        let Some(id) = message.strip_prefix("cron-").and_then(|rest| rest.rsplit_once('-')).map(|(id, _)| id) else { return Ok(()) };
        let note = |job: &mut Job| {
            job.last_status = Some(status.to_owned());
            true
        };
        self.update(id, note).map(drop)
    }

    /// Returns the time at which the next job is due.
    pub fn next(&self) -> Option<Timestamp> {
        let next = self.list().into_iter().filter(|job| job.enabled).filter_map(|job| job.next_at).min()?;
        Timestamp::from_millisecond(next).ok()
    }
}
