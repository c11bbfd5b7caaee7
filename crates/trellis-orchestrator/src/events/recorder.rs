//! Reads the events since the last time, and writes them down.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trellis_core::{SessionId, Value};
use trellis_host::{
    Sessions, Stop,
    history::{History as Journal, HistoryError},
    sessions::Turn,
    store::{Head, Query, SessionStore, Which},
};

use super::{
    EventKind, EventLog, Task, WorkflowEvent,
    dead_letters::LetterFile,
    details::Details,
    of_queue::{came_in, death, went_out},
    of_records::{RecordReader, kind_of},
    tasks::TaskFile,
};
use crate::{
    approvals::held_calls,
    message::now,
    queue::Queue,
    supervisor::DaemonStatus,
    workspace::{ObjectFileError, Workspace},
};

/// Time before the newest event from which on everything is read again after a start, in milliseconds: an hour.
const LOOK_BACK_MS: u64 = 3_600_000;
/// Time after which a task that ended is forgotten, in milliseconds: 30 days.
const TASK_RETENTION_MS: u64 = 30 * 24 * 3_600_000;
/// Sessions that are listed at once.
const HEADS_PAGE: usize = 256;

/// The events cannot be written down.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] ObjectFileError),
    /// A file cannot be written.
    #[error("what happened cannot be written down: {0}")]
    Io(#[from] std::io::Error),
    /// The queue.
    #[error(transparent)]
    Queue(#[from] crate::queue::QueueError),
    /// The sessions.
    #[error(transparent)]
    Store(#[from] trellis_host::store::StoreError),
}

/// Writes down the events.
#[derive(Debug)]
pub struct Recorder {
    queue: Queue,
    sessions: Arc<Sessions>,
    store: Arc<dyn SessionStore>,
    log: EventLog,
    tasks: TaskFile,
    details: Details,
    letters: LetterFile,
    /// Events before this moment are written down already.
    floor: u64,
    /// Messages up to this number were read.
    heard: i64,
    /// Messages that were sent before this moment were read.
    sent: u64,
    /// Sessions that moved before this moment were read.
    moved: u64,
    /// The number of records that were read of each session.
    read: BTreeMap<SessionId, u64>,
    /// Sessions that cannot be read, each reported once.
    unreadable: BTreeSet<SessionId>,
}

impl Recorder {
    /// Opens the files of a workspace; returns warnings about them, too.
    ///
    /// # Errors
    /// A file cannot be used, or a newer program wrote it.
    pub fn open(
        workspace: &Workspace,
        queue: Queue,
        sessions: Arc<Sessions>,
        store: Arc<dyn SessionStore>,
    ) -> Result<(Self, Vec<String>), RecordingError> {
        let (log, mut warnings) = EventLog::open(&workspace.path("runtime/events"))?;
        let tasks = TaskFile::open(&workspace.path("runtime/tasks/store.json"))?;
        let (letters, others) = LetterFile::open(&workspace.path("runtime/dlq/outbound.jsonl"))?;
        warnings.extend(others);
        let details = Details(workspace.path("runtime/tasks/details"));
        details.catch_up(&log)?;
        let floor = log.newest().saturating_sub(LOOK_BACK_MS);
        let moved = if tasks.is_known { floor } else { 0 };
        let (read, unreadable) = (BTreeMap::new(), BTreeSet::new());
        let recorder = Self { queue, sessions, store, log, tasks, details, letters, floor, heard: 0, sent: floor, moved, read, unreadable };
        Ok((recorder, warnings))
    }

    /// Writes down the events since the last time, and `services` that changed their state; returns warnings.
    ///
    /// # Errors
    /// A file cannot be written, or the queue or the store fails.
    pub async fn record(&mut self, services: Vec<DaemonStatus>) -> Result<Vec<String>, RecordingError> {
        let mut events: Vec<WorkflowEvent> = services.iter().map(of_service).collect();
        for row in self.queue.heard_since(self.heard, self.floor).await? {
            self.heard = row.n;
            events.extend(came_in(&row));
        }
        for (row, at) in self.queue.sent_since(self.sent).await? {
            self.sent = self.sent.max(at);
            events.extend(went_out(&row, at));
        }
        let now = now();
        let dead = self.letters.catch_up(&self.queue, now).await.map_err(|error| std::io::Error::other(error.to_string()))?;
        events.extend(dead.iter().map(|row| death(row, now)));
        let (mut tasks, mut warnings) = (Vec::new(), Vec::new());
        for head in self.heads().await? {
            match self.session(&head).await {
                Ok((of_session, task)) => {
                    events.extend(of_session);
                    tasks.extend(task);
                    self.read.insert(head.session.clone(), head.next);
                }
                Err(HistoryError::Store(error)) if may_pass(&error) => return Err(error.into()),
                Err(error) => {
                    self.read.insert(head.session.clone(), head.next);
                    if self.unreadable.insert(head.session.clone()) {
                        warnings.push(format!("session `{}` is missing in `events.jsonl`: {error}", head.session));
                    }
                }
            }
        }
        events.retain(|event| event.at >= self.floor);
        events.sort_by_key(|event| event.at);
        let new = self.log.append(events)?;
        self.details.append(&new)?;
        self.tasks.update(tasks, now.saturating_sub(TASK_RETENTION_MS))?;
        Ok(warnings)
    }

    /// Writes the files that are otherwise written now and then only.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn close(&mut self) -> Result<(), RecordingError> {
        Ok(self.log.write_index()?)
    }

    /// The sessions that moved since the last time.
    async fn heads(&mut self) -> Result<Vec<Head>, RecordingError> {
        let (mut heads, mut after, mut newest) = (Vec::new(), None, self.moved);
        loop {
            let query = Query { graph: None, which: Which::Newest, after: after.take(), limit: HEADS_PAGE };
            let page = self.store.list(query).await?;
            let (is_last, last) = (page.len() < HEADS_PAGE, page.last().map(|head| (head.at, head.session.clone())));
            for head in page {
                newest = newest.max(head.at);
                if head.at >= self.moved && self.read.get(&head.session).is_none_or(|read| *read < head.next) {
                    heads.push(head);
                }
            }
            match last {
                Some((at, session)) if !is_last && at >= self.moved => after = Some((at, session)),
                _ => break,
            }
        }
        // Another one may move in the same millisecond, or by a clock that is a little behind.
        self.moved = newest.saturating_sub(60_000).max(self.moved);
        if self.read.len() > 4 * HEADS_PAGE {
            let recent: BTreeSet<SessionId> = heads.iter().map(|head| head.session.clone()).collect();
            self.read.retain(|session, _| recent.contains(session));
        }
        heads.sort_by_key(|head| head.at);
        Ok(heads)
    }

    /// The events of a session, and its task, if it is one.
    async fn session(&self, head: &Head) -> Result<(Vec<WorkflowEvent>, Option<Task>), HistoryError> {
        let run = head.session.as_str();
        let journal = Journal::open(&*self.store, &head.session).await?;
        let mut reader = RecordReader::new(run);
        journal.records.iter().for_each(|record| reader.take(record));
        let row = self.queue.of_run(run).await.ok().flatten();
        let place = row.map(|row| row.message.place);
        let in_chat = |event: WorkflowEvent| match &place {
            Some(place) => event.in_chat(place),
            None => event,
        };
        let task = if run.starts_with("task-") { self.task(head, &reader, place.as_ref()).await } else { None };
        Ok((std::mem::take(&mut reader.events).into_iter().map(in_chat).collect(), task))
    }

    /// Returns the present state of a task.
    async fn task(&self, head: &Head, reader: &RecordReader<'_>, place: Option<&crate::message::ChatPlace>) -> Option<Task> {
        let state = reader.state.as_ref()?;
        let text = |key: &str| state.context.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let engine = self.sessions.engine();
        let program = engine.inspect();
        let most = |(node, visits): (&trellis_core::NodeId, &u32)| {
            let bound = program.find(node).and_then(|index| program.node(index).entry.max_visits)?;
            Some((*visits, bound))
        };
        let (turn, max_turns) = state.visits.iter().filter_map(most).max().unwrap_or_default();
        let place = place?;
        let mut task = Task {
            id: head.session.to_string(),
            title: text("title"),
            provider: place.provider.clone(),
            chat: place.chat.clone(),
            thread: place.thread.clone(),
            session: head.session.to_string(),
            node: head.node.to_string(),
            turn,
            max_turns,
            steps: reader.steps(),
            created_at: head.began,
            updated_at: head.at,
            ..Task::default()
        };
        match &state.ended {
            Some(ended) => {
                task.status = kind_of(ended).as_str().to_owned();
                let answer = ended.output.as_ref().and_then(|output| output.get("answer")).and_then(Value::as_str);
                task.result = answer.filter(|answer| !answer.is_empty()).map(str::to_owned);
                let why = ended.message.as_deref().or(ended.code.as_deref());
                task.error = why.filter(|_| kind_of(ended) == EventKind::Failed).map(str::to_owned);
            }
            None => {
                let turn = self.sessions.view(&head.session).await.ok();
                (task.status, task.waiting) = turn.as_ref().map_or_else(|| ("running".to_owned(), None), standing);
            }
        }
        Some(task)
    }
}

/// The status of a session that has not ended, and the kind of its wait (orchestrator 2.5).
fn standing(turn: &Turn) -> (String, Option<String>) {
    if !held_calls(turn).is_empty() {
        return ("waiting_approval".to_owned(), None);
    }
    let waiting = match &turn.stop {
        Stop::Ask { .. } => Some("input"),
        Stop::Call { call, .. } if &*call.name == "request_file" => Some("file"),
        Stop::Call { .. } | Stop::Running { .. } => Some("tool"),
        _ => None,
    };
    ("running".to_owned(), waiting.map(str::to_owned))
}

fn of_service(status: &DaemonStatus) -> WorkflowEvent {
    let DaemonStatus { name, state, since, error, .. } = status;
    let summary = match error {
        Some(error) => format!("{name}: {} ({error})", state.as_str()),
        None => format!("{name}: {}", state.as_str()),
    };
    WorkflowEvent::new(&format!("service:{name}:{}", state.as_str()), *since, EventKind::Daemon, *since, super::brief(&summary))
}

fn may_pass(error: &trellis_host::store::StoreError) -> bool {
    matches!(error, trellis_host::store::StoreError::Unavailable { .. })
}

/// Removes the files that can be rebuilt; the next start does so.
///
/// # Errors
/// A file cannot be removed, or a newer program wrote it: then all stay.
pub fn forget_projections(workspace: &Workspace) -> Result<(), RecordingError> {
    check_files(workspace)?;
    let (index, tasks) = (workspace.path("runtime/events/index.json"), workspace.path("runtime/tasks/store.json"));
    for file in [index, tasks, workspace.path("runtime/dlq/outbound.jsonl")] {
        ignore_missing(std::fs::remove_file(&file))?;
    }
    ignore_missing(std::fs::remove_dir_all(workspace.path("runtime/tasks/details")))?;
    Ok(())
}

/// Checks that the files can be used.
///
/// # Errors
/// A file cannot be read, or a newer program wrote it.
pub fn check_files(workspace: &Workspace) -> Result<(), RecordingError> {
    crate::workspace::read_projection::<super::EventIndex>(&workspace.path("runtime/events/index.json"), super::index::EVENTS_VERSION)?;
    TaskFile::open(&workspace.path("runtime/tasks/store.json"))?;
    Ok(())
}

fn ignore_missing(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
