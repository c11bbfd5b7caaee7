//! What a process knows of tasks and no record of a session has: answers that were refused or not given, and pauses that came from a task.
//!
//! A key of a question of MCP stands for one request and its one answer, so a question that is asked again has another key. A process that begins anew
//! knows of no answer, and uses the first key again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use trellis_core::SessionId;

/// Sessions of a graph whose last answers are known at once.
const MAX_KNOWN: usize = 1024;

/// What came of an answer after which the session waits as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// It was refused for this reason.
    Refused(String),
    /// The person did not answer, as this sentence says.
    Declined(String),
    /// The person opened the page where a secret is typed.
    Opened,
}

/// The notes of a graph.
#[derive(Debug, Default)]
pub(crate) struct TaskNotes(Mutex<Notes>);

#[derive(Debug, Default)]
struct Notes {
    answers: BTreeMap<SessionId, LastAnswer>,
    /// The sessions whose last pause came from a task. The pause may have ended since.
    paused: BTreeSet<SessionId>,
}

#[derive(Clone, Debug)]
struct LastAnswer {
    /// The name of the question that waits.
    question: String,
    /// The number of answers to it.
    count: u32,
    /// `None` after it was to be asked again.
    came: Option<NoAnswer>,
}

impl TaskNotes {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what came of an answer to the question `before`, after which the question `now` waits.
    pub(crate) fn answered(&self, id: &SessionId, before: &str, now: &str, came: NoAnswer) {
        let answers = &mut self.notes().answers;
        let count = answers.get(id).filter(|last| last.question == before).map_or(0, |last| last.count);
        let count = if before == now { count.saturating_add(1) } else { 0 };
        answers.insert(id.clone(), LastAnswer { question: now.to_owned(), count, came: Some(came) });
        if answers.len() > MAX_KNOWN
            && let Some(other) = answers.keys().find(|other| *other != id).cloned()
        {
            answers.remove(&other);
        }
    }

    /// Has the question of a session asked again, also if its person did not answer.
    pub(crate) fn ask_again(&self, id: &SessionId) {
        if let Some(last) = self.notes().answers.get_mut(id) {
            last.came = None;
        }
    }

    /// Returns the key of the question of this name, and what came of the last answer to it.
    pub(crate) fn key(&self, id: &SessionId, question: &str) -> (String, Option<NoAnswer>) {
        let notes = self.notes();
        let last = notes.answers.get(id).filter(|last| last.question == question);
        let key = match last.map(|last| last.count) {
            Some(count) if count > 0 => format!("{question}.{count}"),
            _ => question.to_owned(),
        };
        (key, last.and_then(|last| last.came.clone()))
    }

    /// Notes whether a pause of a session that begins comes from a task.
    pub(crate) fn paused(&self, id: &SessionId, is_of_task: bool) {
        let paused = &mut self.notes().paused;
        if is_of_task {
            paused.insert(id.clone());
        } else {
            paused.remove(id);
        }
    }

    /// Returns whether the last pause of a session came from a task.
    pub(crate) fn has_paused(&self, id: &SessionId) -> bool {
        self.notes().paused.contains(id)
    }
}
