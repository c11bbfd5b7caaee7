//! The present state, read from the stores and the running services.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use trellis_core::{SessionId, Value};
use trellis_host::sessions::{Stop, Turn};
use trellis_server::{Code, Trouble, extra::CallsInNeed};

use super::View;
use crate::{
    approvals::held_calls,
    events::{Task, TaskStep, tasks_of},
    inbound::Kind,
    message::{Work, now},
    queue::{InboundRow, OutboxRow, QueueError, RowState},
    state::{ChannelState, DeadLetter, LetterError, MemoryState, OutboxState, RunStanding, RunState, State, StepState, TaskState},
};

/// Sessions that are read, at most: those that began last.
const MAX_SHOWN_SESSIONS: usize = 200;

impl View {
    /// Returns the present state, with the calls that need somebody, and without a value of the vault.
    ///
    /// # Errors
    /// The queue or the store of the sessions fails.
    pub(super) async fn look(&self, calls: CallsInNeed) -> Result<Json, Trouble> {
        let state = self.state(calls).await?;
        let json = serde_json::to_value(state).map_err(|error| internal(&error))?;
        self.masked(json).await
    }

    async fn state(&self, calls: CallsInNeed) -> Result<State, Trouble> {
        let queue = &self.hands.queue;
        let mut state = State { services: self.services.get().map(|services| services.states()).unwrap_or_default(), ..State::default() };
        state.channels = self.channels().await.map_err(queue_trouble)?;
        (state.runs, state.tasks) = self.sessions().await.map_err(queue_trouble)?;
        let (queued, oldest) = queue.unsent_count().await.map_err(queue_trouble)?;
        state.outbox = OutboxState { queued, oldest };
        state.dead = queue.in_state(RowState::Dead).await.map_err(queue_trouble)?.into_iter().map(letter).collect();
        state.approvals = self.with_ends(calls.held).await.map_err(queue_trouble)?;
        state.dead.extend(calls.dead.into_iter().map(|letter| DeadLetter::Call { letter }));
        state.cron = self.hands.jobs.list();
        let memory = self.hands.memory.clone();
        let size = tokio::task::spawn_blocking(move || memory.size()).await.map_err(|error| internal(&error))?;
        let (bytes, days) = size.unwrap_or_default();
        state.memory = MemoryState { bytes, days };
        state.decisions = self.hands.decisions.count();
        Ok(state)
    }

    /// Returns calls that wait with the times at which they run no more, as `due`.
    async fn with_ends(&self, mut held: Vec<Json>) -> Result<Vec<Json>, QueueError> {
        let (patience, now) = (self.hands.settings.patience(), now());
        let waiting = self.hands.queue.waiting_calls().await?;
        let ends: BTreeMap<&str, u64> = waiting.iter().filter_map(|call| Some((&*call.asked.call, call.end(patience, now)?))).collect();
        for item in &mut held {
            let end = item["call"]["id"].as_str().and_then(|id| ends.get(id).copied());
            // The policy of the graph may have a time of its own.
            item["due"] = json!(item["due"].as_u64().into_iter().chain(end).min());
        }
        Ok(held)
    }

    async fn channels(&self) -> Result<Vec<ChannelState>, QueueError> {
        let (oldest, cursors) = self.hands.queue.channel_positions().await?;
        let mut names: BTreeSet<String> = cursors.keys().cloned().collect();
        names.extend(self.channels.get().into_iter().flatten().cloned());
        let channel = |name: String| ChannelState {
            lag: oldest.get(&name).map_or(0, |oldest| now().saturating_sub(*oldest)),
            cursor: cursors.get(&name).cloned(),
            error: self.hands.troubles.of(&name),
            name,
        };
        Ok(names.into_iter().map(channel).collect())
    }

    /// The sessions that have not ended: tasks apart from the others.
    async fn sessions(&self) -> Result<(Vec<RunState>, Vec<TaskState>), QueueError> {
        let (mut runs, mut tasks, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        let Some(sessions) = self.hands.sessions.get().and_then(std::sync::Weak::upgrade) else { return Ok((runs, tasks)) };
        let rows = self.hands.queue.taken_rows().await?;
        let newest = rows.len().saturating_sub(MAX_SHOWN_SESSIONS);
        let workspace = self.hands.workspace.clone();
        let mut known = tokio::task::spawn_blocking(move || tasks_of(&workspace)).await.unwrap_or_default();
        for row in rows.into_iter().skip(newest) {
            let Some(id) = row.run.clone().filter(|id| seen.insert(id.clone())) else { continue };
            let Ok(turn) = sessions.view(&SessionId::new(&*id)).await else { continue };
            match row.message.work() {
                Some(Work::Task) => tasks.insert(0, task(&row, known.remove(&id), id, &turn)),
                _ => runs.push(run(&row, id, &turn)),
            }
        }
        Ok((runs, tasks))
    }

    /// Returns JSON without a value of the vault.
    pub(super) async fn masked(&self, mut json: Json) -> Result<Json, Trouble> {
        let mask = self.hands.mask.clone();
        let masking = tokio::task::spawn_blocking(move || {
            texts(&mut json, &|text| mask.masked(text));
            json
        });
        masking.await.map_err(|error| internal(&error))
    }
}

fn run(row: &InboundRow, id: String, turn: &Turn) -> RunState {
    let entry = match row.kind() {
        Kind::Command(_) => "command",
        Kind::Work(work) => work.as_str(),
        Kind::Answer(_) | Kind::Talk => "agent",
    };
    let (place, sender) = (row.message.place.clone(), row.message.sender_name.clone());
    RunState {
        id,
        entry: entry.to_owned(),
        provider: place.provider,
        chat: place.chat,
        thread: place.thread,
        sender,
        standing: standing(turn),
        created_at: row.stored,
    }
}

/// The state of a task: what the session is at now, and what was written down of it, if it was.
fn task(row: &InboundRow, known: Option<Task>, id: String, turn: &Turn) -> TaskState {
    let (context, place) = (row.message.context(), row.message.place.clone());
    let known = known.unwrap_or_default();
    let mut standing = standing(turn);
    if known.waiting.as_deref() == Some("file") && known.node == standing.node && standing.waiting.is_some() {
        standing.waiting = known.waiting;
    }
    TaskState {
        session: id.clone(),
        id,
        title: context.get("title").and_then(Value::as_str).unwrap_or_default().to_owned(),
        provider: place.provider,
        chat: place.chat,
        thread: place.thread,
        standing,
        turn: Some(known.turn),
        max_turns: Some(known.max_turns).filter(|most| *most > 0),
        steps: known.steps.into_iter().map(|TaskStep { title, status }| StepState { title, status }).collect(),
        created_at: row.stored,
        updated_at: known.updated_at.max(row.stored),
        result: known.result,
        error: known.error,
    }
}

/// Returns the progress of a session (orchestrator 2.5).
fn standing(turn: &Turn) -> RunStanding {
    let (status, waiting) = match &turn.stop {
        _ if !held_calls(turn).is_empty() => ("waiting_approval", None),
        Stop::Ended(end) => (if end.reason == trellis_core::state::EndReason::Finished { "completed" } else { "failed" }, None),
        Stop::Ask { .. } => ("running", Some("input")),
        stop if stop.is_call() => ("running", Some("tool")),
        _ => ("running", None),
    };
    RunStanding { status: status.to_owned(), node: turn.node.to_string(), waiting: waiting.map(str::to_owned) }
}

fn letter(row: OutboxRow) -> DeadLetter {
    let (code, message) = row.error.unwrap_or_default();
    let place = row.message.place;
    DeadLetter::Message {
        id: row.n,
        at: row.queued,
        provider: place.provider,
        chat: place.chat,
        thread: place.thread,
        text: row.message.text,
        attempts: row.attempts,
        error: LetterError { code, message },
        key: row.message.key,
    }
}

/// Changes every text in a value.
fn texts(json: &mut Json, change: &impl Fn(&str) -> String) {
    match json {
        Json::String(text) => *text = change(text),
        Json::Array(items) => items.iter_mut().for_each(|item| texts(item, change)),
        Json::Object(entries) => entries.iter_mut().for_each(|(_, value)| texts(value, change)),
        _ => {}
    }
}

/// The response to a failed queue.
#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
pub(super) fn queue_trouble(error: QueueError) -> Trouble {
    Trouble::new(Code::StoreUnavailable, "the queue cannot be used now").logged(error.to_string())
}

/// The response to an error that only the log explains.
pub(super) fn internal(error: &dyn std::fmt::Display) -> Trouble {
    Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string())
}
