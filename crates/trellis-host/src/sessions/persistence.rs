//! Storing sessions: a step is appended before anything acts on it or reports it (language C.1).
//!
//! **Invariant:** everything that a client or a tool learns is stored; a step that could not be stored did not happen: the session is loaded again.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use trellis_core::{Program, SessionId, State, engine::Call, state::CallKind};

use super::{
    SendError, SessionEvent, Sessions, Unbound,
    front::{Front, MAX_WAITING_RECORDS, Need, NeedKind},
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
    tail::{StoreTail, json},
};
use crate::{
    hooks::Sight,
    session::Session,
    store::{Append, Head, Redacted, SessionStatus, SessionStore, Snapshot, StoreError, Stored, absent},
};

/// The pauses before a store is tried again that cannot be reached.
const AGAIN: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(250), Duration::from_secs(1)];

/// The progress of a session when its steps are stored.
pub(super) enum KeepPoint<'f> {
    /// Every session of its tree waits for something.
    Front(&'f Front),
    /// It is not being advanced here.
    Left,
}

impl KeepPoint<'_> {
    /// Returns whether more steps will follow at once.
    fn can_wait(&self) -> bool {
        matches!(self, Self::Front(front) if front.is_going)
    }

    /// Returns whether it waits for nothing but an answer to the session itself.
    fn asks(&self) -> bool {
        matches!(self, Self::Front(front) if matches!(front.needs.as_slice(), [Need { child: None, what: NeedKind::Ask { .. }, .. }]))
    }
}

/// The store of some sessions, and the graph that they walk.
#[derive(Clone)]
pub(super) struct Persistence {
    pub(super) store: Arc<Redacted<Arc<dyn SessionStore>>>,
    pub(super) graph: Arc<str>,
}

/// An append with an unknown outcome. If its caller is gone, the store is read when the session is needed.
struct Unsure<'a>(Option<&'a Slot>);

impl Unsure<'_> {
    fn resolve(mut self) {
        self.0 = None;
    }
}

impl Drop for Unsure<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.forget(&StoreError::Unavailable { store: "the store".into(), message: "nobody waited for it".to_owned() });
        }
    }
}

impl Sessions {
    /// Returns whether the store has a session of this name.
    pub(super) async fn is_stored(&self, id: &SessionId) -> Result<bool, StoreError> {
        match &self.persistence {
            Some(persistence) => Ok(load(persistence, id).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Loads a session that is not in memory, unless it is being advanced.
    pub(super) async fn arrived(&self, slot: &Slot) -> Result<(), SendError> {
        if !matches!(*slot.place.locked(), SlotState::Away) {
            return Ok(());
        }
        let _driving = slot.driving.lock().await;
        self.awake(slot).await.map(drop)
    }

    /// Loads a session that is not in memory, for the caller to advance; returns false if it was in memory.
    ///
    /// # Errors
    /// There is none, or it cannot be read: it is looked for again the next time.
    pub(super) async fn awake(&self, slot: &Slot) -> Result<bool, SendError> {
        let Some(persistence) = self.persistence.as_ref().filter(|_| matches!(*slot.place.locked(), SlotState::Away)) else {
            return Ok(false);
        };
        match self.loaded(slot, persistence).await {
            Ok(running) => {
                *slot.place.locked() = SlotState::Running(Box::new(running));
                Ok(true)
            }
            Err(error) => {
                self.slots.locked().remove(&slot.id);
                Err(error)
            }
        }
    }

    /// Returns the stored session of this graph.
    pub(super) async fn loaded_once(&self, persistence: &Persistence, id: &SessionId) -> Result<Stored, SendError> {
        let Some(stored) = load(persistence, id).await? else { return Err(SendError::Unknown(id.clone())) };
        if stored.head.graph == persistence.graph {
            return Ok(stored);
        }
        Err(SendError::OtherGraph { session: id.clone(), graph: stored.head.graph, here: Arc::clone(&persistence.graph) })
    }

    async fn loaded(&self, slot: &Slot, persistence: &Persistence) -> Result<RunningSession, SendError> {
        let stored = self.loaded_once(persistence, &slot.id).await?;
        let current = self.current();
        let here = Snapshot::asked_by(current.engine.inspect(), &stored)?;
        // The version 0 matches none: one that does not fit is adopted before anything else.
        let version = if is_fit_as_stored(current.engine.inspect(), &here.state) { current.version } else { 0 };
        let is_ahead = here.at > self.now();
        let session = Session::resume(current.engine, here, stored.head.next, self.clock.clone());
        let (sight, taken_up) = Sight::taken_up(&session, stored.head.next);
        let seen = if self.hooks.is_empty() { Vec::new() } else { taken_up };
        Ok(RunningSession {
            is_stored: true,
            is_ahead,
            tail: StoreTail::of(&stored),
            seen,
            sight,
            ..RunningSession::new(session, current.bindings, version)
        })
    }

    /// Appends the new steps, if `act` makes them known to others, or if there are enough of them; then reports them.
    pub(super) async fn keep(&self, slot: &Slot, pace: &KeepPoint<'_>) -> Result<(), SendError> {
        if let Some(persistence) = &self.persistence {
            let append = slot.place.locked().running_mut().and_then(|running| {
                // Everything promised until now is among the records.
                self.append(running, persistence, pace).map(|append| (append, std::mem::take(&mut running.promised)))
            });
            let due = append.as_ref().and_then(|(append, _)| append.head.due);
            match append {
                Some((append, promised)) => {
                    let (works, next) = (append.head.is_worked_on(), append.head.next);
                    let unsure = Unsure(Some(slot));
                    let stored = append_surely(&*persistence.store, append).await;
                    unsure.resolve();
                    promised.into_iter().for_each(|promised| drop(promised.send(stored.clone())));
                    if let Err(error) = stored {
                        slot.forget(&error);
                        return Err(error.into());
                    }
                    if let Some(running) = slot.place.locked().running_mut() {
                        (running.is_stored, running.is_ahead) = (true, false);
                    }
                    self.worked_on_here(&slot.id, works.then_some(next));
                    if due.is_some_and(|due| due < self.wakes_at.load(Ordering::Relaxed)) {
                        self.sooner.notify_one();
                    }
                }
                // Steps that were not appended yet are not reported yet.
                None if pace.can_wait() => return Ok(()),
                None => {}
            }
        }
        let (seen, telling) = match slot.place.locked().running_mut() {
            Some(running) => {
                if self.persistence.is_none() {
                    self.see(running);
                }
                (std::mem::take(&mut running.seen), std::mem::take(&mut running.telling))
            }
            None => return Ok(()),
        };
        if !seen.is_empty() {
            let seen = Arc::from(seen);
            self.hooks.iter().for_each(|hook| hook.tell(&seen));
        }
        for event in telling {
            self.tell(slot, &event);
        }
        Ok(())
    }

    /// Returns the records to append now; `None` if there are none, or if they can wait.
    fn append(&self, running: &mut RunningSession, persistence: &Persistence, pace: &KeepPoint<'_>) -> Option<Append> {
        let waiting = running.session.journal().records().len() as u64;
        if waiting == 0 || pace.can_wait() && waiting < MAX_WAITING_RECORDS {
            return None;
        }
        if pace.asks() {
            running.session.note_question();
        }
        // What is due already is worked on here from now on.
        let due = self.due_of(running, pace).map(|due| due.max(running.session.here().at));
        self.see(running);
        running.attribute();
        let taken = running.session.take_records();
        let records: Vec<Arc<str>> = taken.iter().map(json).collect();
        if self.is_observed() {
            running.telling.insert(0, SessionEvent::Recorded(taken.into()));
        }
        let here = running.session.here();
        let next = running.session.journal().next_seq();
        let (tail, snapshot) = running.tail.grown(&records, here);
        let head = head(persistence, here, next, due);
        running.tail = tail;
        Some(Append { session: here.state.session_id.clone(), expected: next - waiting, records, head, snapshot })
    }

    /// Collects the events for hooks from the present records.
    fn see(&self, running: &mut RunningSession) {
        if self.hooks.is_empty() {
            return;
        }
        let session = &running.session;
        running.sight.see(&session.state().session_id, session.journal().records(), &mut running.seen);
    }

    /// Returns the time at which the session continues by itself.
    fn due_of(&self, running: &RunningSession, pace: &KeepPoint<'_>) -> Option<u64> {
        let now = Some(running.session.here().at);
        let KeepPoint::Front(front) = pace else { return now };
        if front.is_going {
            return now;
        }
        let dues = front.needs.iter().filter_map(|need| match &need.what {
            NeedKind::Predicate(_) => now,
            NeedKind::Sleep { due, .. } => Some(*due),
            NeedKind::Ask { due, .. } => *due,
            NeedKind::Stop(stop) => stop.due(),
            NeedKind::Call { call, .. } => self.due_of_call(running, need.child.as_ref(), call),
        });
        dues.chain(front.times_out).min()
    }

    /// Returns the time at which a call advances by itself.
    fn due_of_call(&self, running: &RunningSession, child: Option<&SessionId>, call: &Call) -> Option<u64> {
        let session = &running.session;
        let asked = session.asked_at(child, call);
        let after = |millis: Option<u64>| millis.map(|millis| asked.saturating_add(millis));
        if let Some(held) = session.held_call(child, call).filter(|_| !self.policy.approve_all) {
            return held.due;
        }
        let is_child = matches!(call.kind, CallKind::Graph(_)) && !self.policy.answers_graphs;
        if is_child || running.bindings.carries_out(session.engine().inspect(), call) || self.policy.unbound == Unbound::Fail {
            return Some(asked);
        }
        // Its next attempt is asked for when the pause is over.
        if call.delay > 0 && asked > self.now() {
            return Some(asked);
        }
        after(call.timeout)
    }
}

/// Returns whether a stored state continues on a program as it is: the program stored it, and it lacks no value that was not stored.
pub(super) fn is_fit_as_stored(program: &Program, state: &State) -> bool {
    let is_whole = absent(program, state).next().is_none();
    is_whole && state.program == *program.fingerprint() && !state.lacks_parts()
}

fn head(persistence: &Persistence, here: &Snapshot, next: u64, due: Option<u64>) -> Head {
    let state: &State = &here.state;
    Head {
        session: state.session_id.clone(),
        graph: Arc::clone(&persistence.graph),
        program: Arc::clone(&state.program),
        next,
        began: here.began,
        at: here.at,
        node: state.current_node_id.clone(),
        standing: SessionStatus::of(state),
        due: due.filter(|_| state.ended.is_none()),
    }
}

async fn load(persistence: &Persistence, id: &SessionId) -> Result<Option<Stored>, StoreError> {
    let mut pauses = AGAIN.iter();
    loop {
        match persistence.store.load(std::slice::from_ref(id)).await {
            Ok(mut stored) => return Ok(stored.pop().flatten()),
            Err(error) => pause(error, &mut pauses).await?,
        }
    }
}

/// Appends, also if the store cannot be reached for a moment. An append without an answer may have succeeded: then its records exist.
async fn append_surely(store: &dyn SessionStore, append: Append) -> Result<(), StoreError> {
    let mut pauses = AGAIN.iter();
    let mut is_doubtful = false;
    loop {
        match store.append(append.clone()).await {
            Err(StoreError::Conflict { .. }) if is_doubtful && is_there(store, &append).await? => return Ok(()),
            Err(error @ StoreError::Unavailable { .. }) => {
                is_doubtful = true;
                pause(error, &mut pauses).await?;
            }
            done => return done,
        }
    }
}

/// Returns whether the records of an append are in their places.
async fn is_there(store: &dyn SessionStore, append: &Append) -> Result<bool, StoreError> {
    let rows = store.records(&append.session, append.expected, append.records.len()).await?;
    Ok(rows.len() == append.records.len() && rows.iter().zip(&append.records).all(|(row, text)| row.text.as_ref() == Ok(text)))
}

/// Waits before the next attempt; the error, if there is none.
async fn pause(error: StoreError, pauses: &mut std::slice::Iter<'_, Duration>) -> Result<(), StoreError> {
    match (&error, pauses.next()) {
        (StoreError::Unavailable { .. }, Some(pause)) => {
            tokio::time::sleep(*pause).await;
            Ok(())
        }
        _ => Err(error),
    }
}
