//! `/cron`, and the tool of that name: schedules (orchestrator 3.7, 8.1).

use std::sync::Arc;

use jiff::{Timestamp, tz::TimeZone};
use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, function, run_blocking, store_error, text, typed::Typed};
use crate::{
    message::{ChatPlace, now},
    schedule::{BadSchedule, Job, JobsError, MAX_JOBS, NearestSchedule, Schedule, zone},
    seal::sha256,
    texts::Language,
};

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    function(bindings, hands, "cron", plan)
}

/// Adds a job for a model. By the policy, such a call waits for approval.
async fn plan(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let place = hands.place(&context.session).await?;
    run_blocking(move || {
        // The call is made again after a crash, and must mean the same job then.
        let id = sha256(&context.idempotency_key.to_string())[..6].to_owned();
        if let Some(known) = hands.jobs.list().into_iter().find(|job| job.id == id) {
            return Ok(Value::map([("job", Value::text(line(&known)))]));
        }
        let when = text(&args, "when").trim();
        let is_named = ["at ", "every "].iter().any(|word| when.starts_with(word));
        let when = if is_named { when.to_owned() } else { format!("cron {when}") };
        let prompt = hands.sealer.seal(&place.provider, &place.chat, text(&args, "text"), None);
        let zone = args.get("tz").and_then(Value::as_str);
        let bad = |bad: BadSchedule| ToolError::coded("schedule", hands.explanation(&bad, &when, zone)).finally();
        let job = Job { id, created_by: "agent".to_owned(), ..job(&when, zone, &prompt, &place, Timestamp::now()).map_err(bad)? };
        let line = line(&job);
        hands.jobs.add(job).map_err(|error| match error {
            JobsError::TooMany => ToolError::coded("too-many", error.to_string()).finally(),
            error => store_error(error),
        })?;
        Ok(Value::map([("job", Value::text(line))]))
    })
    .await
}

pub(super) async fn cron(hands: Arc<Hands>, typed: Typed) -> Result<String, ToolError> {
    if let ["run", id] = typed.args()[..]
        && let Some(job) = hands.jobs.list().into_iter().find(|job| job.id == id)
    {
        // An extra run: the times of the job stay as they are. The end of this command wakes the dispatcher.
        let message = job.message(Timestamp::now().as_millisecond());
        hands.queue.store("schedules", vec![message], None, now()).await.map_err(store_error)?;
        return Ok(hands.settings.language.fill("cron_done", &[("id", id)]));
    }
    run_blocking(move || hands.schedule(&typed)).await
}

impl Hands {
    /// The error of an invalid schedule, with the next runs of the nearest valid one.
    fn explanation(&self, bad: &BadSchedule, when: &str, tz: Option<&str>) -> String {
        let bad = bad.said(self.settings.language);
        let Some(near) = NearestSchedule::of(when, tz, Timestamp::now()) else { return bad };
        let named = near.tz.as_deref().and_then(|name| zone(name).ok()).unwrap_or_else(TimeZone::system);
        let form = if near.runs.iter().all(|run| run.as_second() % 60 == 0) { "%Y-%m-%d %H:%M %Z" } else { "%Y-%m-%d %H:%M:%S %Z" };
        let runs = near.runs.iter().map(|run| run.to_zoned(named.clone()).strftime(form).to_string());
        let (when, runs) = (near.when.trim_start_matches("cron "), runs.collect::<Vec<_>>().join(", "));
        let written = near.tz.as_ref().map_or_else(|| format!("`{when}`"), |tz| format!("`{when}` tz={tz}"));
        format!("{bad}\n{}", self.settings.language.fill("cron_nearest", &[("when", &written), ("runs", &runs)]))
    }

    fn schedule(&self, typed: &Typed) -> Result<String, ToolError> {
        let (language, jobs) = (self.settings.language, &self.jobs);
        let usage = || language.text("cron_usage").to_owned();
        match typed.args()[..] {
            ["ls"] => Ok(list(language, &jobs.list())),
            ["add", ref words @ ..] => match made(words, &typed.place, Timestamp::now()) {
                None => Ok(usage()),
                Some((when, tz, Err(bad))) => Ok(self.explanation(&bad, &when, tz)),
                Some((.., Ok(job))) => {
                    let line = line(&job);
                    match jobs.add(Job { created_by: typed.who(), ..job }) {
                        Ok(()) => Ok(language.fill("cron_added", &[("job", &line)])),
                        Err(JobsError::TooMany) => Ok(language.fill("cron_full", &[("count", &MAX_JOBS.to_string())])),
                        Err(error) => Err(store_error(error)),
                    }
                }
            },
            [verb @ ("rm" | "pause" | "resume"), id] => {
                let is_there = jobs.update(id, |job| {
                    job.enable(verb == "resume");
                    verb != "rm"
                });
                let text = if is_there.map_err(store_error)? { "cron_done" } else { "cron_unknown" };
                Ok(language.fill(text, &[("id", id)]))
            }
            ["run", id] => Ok(language.fill("cron_unknown", &[("id", id)])),
            _ => Ok(usage()),
        }
    }
}

/// The job that words describe, with its schedule and zone; `None` if they have another form.
fn made<'w>(words: &[&'w str], place: &ChatPlace, now: Timestamp) -> Option<(String, Option<&'w str>, Result<Job, BadSchedule>)> {
    let tz = words.iter().find_map(|word| word.strip_prefix("tz="));
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with("tz=")).collect();
    let (when, prompt) = match words[..] {
        ["at", moment, prompt] => (format!("at {moment}"), prompt),
        ["every", interval, prompt] => (format!("every {interval}"), prompt),
        [expression, prompt] => (format!("cron {expression}"), prompt),
        _ => return None,
    };
    let job = job(&when, tz, prompt, place, now);
    Some((when, tz, job))
}

fn job(when: &str, tz: Option<&str>, prompt: &str, place: &ChatPlace, now: Timestamp) -> Result<Job, BadSchedule> {
    let named = tz.map_or_else(|| Ok(TimeZone::system()), zone)?;
    let schedule = match when.split_once(' ') {
        Some(("at", moment)) => Schedule::at(moment, &named)?,
        Some(("every", interval)) => Schedule::every(interval, now)?,
        _ => Schedule::cron(when.trim_start_matches("cron "), named)?,
    };
    let next = schedule.next(now).ok_or_else(|| BadSchedule::Never(when.to_owned()))?;
    let id = sha256(&format!("{when}\0{prompt}\0{}", now.as_nanosecond()))[..6].to_owned();
    Ok(Job {
        id,
        when: when.to_owned(),
        tz: tz.map(str::to_owned),
        prompt: prompt.to_owned(),
        place: place.clone(),
        enabled: true,
        created_at: now.as_millisecond(),
        next_at: Some(next.as_millisecond()),
        last_at: None,
        last_status: None,
        runs: 0,
        created_by: String::new(),
    })
}

fn list(language: Language, jobs: &[Job]) -> String {
    match jobs.len() {
        0 => language.text("cron_empty").to_owned(),
        _ => jobs.iter().map(|job| format!("- {}", line(job))).collect::<Vec<_>>().join("\n"),
    }
}

/// Describes a job in one line: id, schedule, next run, message.
fn line(job: &Job) -> String {
    let named = job.tz.as_deref().and_then(|name| zone(name).ok()).unwrap_or_else(TimeZone::system);
    let next = job.next_at.filter(|_| job.enabled).and_then(|next| Timestamp::from_millisecond(next).ok());
    let next = next.map_or_else(|| "–".to_owned(), |next| next.to_zoned(named).strftime("%Y-%m-%d %H:%M %Z").to_string());
    format!("`{}` `{}` → {next}: {}", job.id, job.when, job.prompt)
}
