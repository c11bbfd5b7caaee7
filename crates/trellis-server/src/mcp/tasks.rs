//! Tasks: readings of a session, by its name and the number at which the call came; so they outlive the process.

use rmcp::model::{CreateTaskResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use serde_json::Value as Json;
use trellis_core::SignalName;
use trellis_host::wire::Reply;

use super::{
    ask,
    turn_report::{TurnReport, tell},
    walk::Walk,
};
use crate::{
    act::{self, Answer, RecordQuery, Target, Walked},
    served::Served,
    task_notes::NoAnswer,
    trouble::{Code, Trouble},
};

/// The interval at which a client is to ask, in milliseconds.
const POLL: u64 = 500;
/// The signal that asks a session to stop.
const INTERRUPT: &str = "interrupt";

/// The task of a call that came at this number.
#[derive(Clone, Debug)]
pub(super) struct TaskName {
    /// The graph, where several have a session of that name.
    graph: Option<String>,
    session: String,
    seq: u64,
}

impl TaskName {
    /// Returns the task of a call whose session is at this turn.
    async fn of(served: &Served, walked: &Walked) -> Self {
        let named = served.graph_of(&walked.target.id, None).await;
        let is_shared = named.is_err_and(|trouble| trouble.code == Code::Ambiguous);
        let graph = is_shared.then(|| walked.target.graph.name.to_string());
        Self { graph, session: walked.target.id.to_string(), seq: walked.turn.seq }
    }

    /// Reads the name of a task.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn read(name: &str) -> Result<Self, Trouble> {
        let parts = name.rsplit_once('@').and_then(|(of, seq)| Some((of, seq.parse().ok()?)));
        let (of, seq) = parts.ok_or_else(|| unknown(name))?;
        // No name of a session has a slash.
        let (graph, session) = of.rsplit_once('/').map_or((None, of), |(graph, session)| (Some(graph.to_owned()), session));
        Ok(Self { graph, session: session.to_owned(), seq })
    }
}

impl std::fmt::Display for TaskName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.graph {
            Some(graph) => write!(f, "{graph}/{}@{}", self.session, self.seq),
            None => write!(f, "{}@{}", self.session, self.seq),
        }
    }
}

fn unknown(name: impl std::fmt::Display) -> Trouble {
    Trouble::new(Code::UnknownSession, format!("there is no task `{name}`"))
}

impl Walk<'_> {
    /// Returns a task for the further work of a session; `None` if it waits for its client already, or is over.
    ///
    /// # Errors
    /// The session cannot be read.
    pub(super) async fn task(&self, walked: &Walked) -> Result<Option<CreateTaskResult>, Trouble> {
        let read = self.read_task(&TaskName::of(&self.door.served, walked).await, walked).await?;
        Ok(Some(read.task).filter(|task| !task.status.is_terminal()).map(CreateTaskResult::new))
    }

    /// Reads a task by its name.
    ///
    /// # Errors
    /// There is none.
    pub(super) async fn task_of(&self, name: &TaskName) -> Result<DetailedTask, Trouble> {
        self.read_task(name, &self.found(name).await?).await
    }

    /// Returns the current turn of the session of a task.
    ///
    /// # Errors
    /// There is none, or it has not come to that number.
    async fn found(&self, name: &TaskName) -> Result<Walked, Trouble> {
        let target = Target::find(&self.door.served, &name.session, name.graph.as_deref()).await?;
        let turn = target.sessions.view(&target.id).await?;
        if name.seq > turn.seq {
            return Err(unknown(name));
        }
        Ok(Walked { target, turn, is_repeated: false })
    }

    async fn read_task(&self, name: &TaskName, walked: &Walked) -> Result<DetailedTask, Trouble> {
        let turn_report = tell(walked).await?;
        let records = |from, newest| act::records(&walked.target.graph, &walked.target.id, RecordQuery { from, limit: 1, newest });
        let at = |rows: &[act::RecordRow]| rows.first().and_then(|row| row.json["at"].as_u64()).unwrap_or_default();
        let began = at(&records(name.seq.saturating_sub(1), false).await?.rows);
        let moved = at(&records(0, true).await?.rows).max(began);
        let task = Task::new(name.to_string(), TaskStatus::Working, moment(began), moment(moved)).with_poll_interval_ms(POLL);
        let (_, came) = walked.target.graph.task_notes.key(&walked.target.id, &turn_report.asked);
        let message = status_message(walked, &turn_report, came.as_ref());
        let task = message.into_iter().fold(task, Task::with_status_message);
        if walked.turn.stop.needs_nobody() || came == Some(NoAnswer::Opened) {
            return Ok(DetailedTask::new(task, TaskPayload::Working));
        }
        if ask::ended(&turn_report.turn.stop).is_some() && self.was_interrupted(name, walked).await? {
            return Ok(DetailedTask::new(task, TaskPayload::Cancelled));
        }
        let declined = came.and_then(|came| if let NoAnswer::Declined(why) = came { Some(why) } else { None });
        if declined.is_none()
            && let Some(input_requests) = self.requests(walked, &turn_report)?
        {
            return Ok(DetailedTask::new(task, TaskPayload::InputRequired { input_requests }));
        }
        let result = match serde_json::to_value(self.result(&turn_report, declined.as_deref())) {
            Ok(Json::Object(result)) => result,
            _ => JsonObject::new(),
        };
        Ok(DetailedTask::new(task, TaskPayload::Completed { result }))
    }

    /// Returns whether a session was interrupted since a task began.
    async fn was_interrupted(&self, name: &TaskName, walked: &Walked) -> Result<bool, Trouble> {
        let mut from = Some(name.seq);
        while let Some(seq) = from {
            let page = act::records(&walked.target.graph, &walked.target.id, RecordQuery { from: seq, limit: 500, newest: false }).await?;
            if page.rows.iter().any(|row| row.json["kind"] == "signal" && row.json["signal"] == INTERRUPT) {
                return Ok(true);
            }
            from = page.next;
        }
        Ok(false)
    }

    /// Takes answers to the questions of a task.
    ///
    /// # Errors
    /// Something else is asked, or an answer is refused.
    pub(super) async fn update(&self, name: &TaskName, answers: std::collections::BTreeMap<String, Json>) -> Result<(), Trouble> {
        self.take(self.found(name).await?, answers).await
    }

    /// Asks a session to stop: by a signal where its node handles it, else it is paused.
    ///
    /// # Errors
    /// There is no such session.
    pub(super) async fn cancel(&self, name: &TaskName) -> Result<(), Trouble> {
        let target = self.found(name).await?.target;
        // A signal would end the pause.
        if target.sessions.is_paused(&target.id) {
            return Ok(());
        }
        let reply = Reply::signal(SignalName::from(INTERRUPT));
        match self.send(target.clone(), Answer { reply, expected: None }).await {
            Err(trouble) if trouble.code == Code::UnhandledSignal => act::pause_for_task(target).await.map(drop),
            // A task that is over needs no end.
            Err(trouble) if trouble.code == Code::Ended => Ok(()),
            done => done.map(drop),
        }
    }
}

/// Returns what a client is told about a task beside its status.
fn status_message(walked: &Walked, turn_report: &TurnReport, came: Option<&NoAnswer>) -> Option<&'static str> {
    let is_question = !walked.turn.stop.needs_nobody();
    if ask::ended(&turn_report.turn.stop).is_some() {
        return None;
    }
    if walked.target.sessions.is_paused(&walked.target.id) {
        return Some(match (is_question, walked.target.is_paused_by_task()) {
            (true, true) => "It is paused; an answer or `navigate` resumes it.",
            (true, false) => "It is paused; an answer resumes it.",
            (false, true) => "It is paused; `navigate` resumes it.",
            (false, false) => "It is paused; a person resumes it.",
        });
    }
    (came == Some(&NoAnswer::Opened)).then_some("A person types the secret on its page; `navigate` asks again.")
}

/// A moment as RFC 3339 writes it.
fn moment(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    // Years begin in March here, so that a leap day is their last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second, milli) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_dates() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_470_593_786, "2026-11-23T21:49:53.786Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ] {
            assert_eq!(moment(millis), text);
        }
    }

    #[test]
    fn a_task_is_a_session_and_a_number() {
        let name = TaskName::read("a@b@3").unwrap_or_else(|trouble| panic!("{trouble:?}"));
        assert_eq!((&*name.session, name.seq, &*name.to_string()), ("a@b", 3, "a@b@3"));
        let name = TaskName::read("of/us/a@3").unwrap_or_else(|trouble| panic!("{trouble:?}"));
        assert_eq!((name.graph.as_deref(), &*name.session, &*name.to_string()), (Some("of/us"), "a", "of/us/a@3"));
        assert!(TaskName::read("a").is_err() && TaskName::read("a@b").is_err());
    }
}
