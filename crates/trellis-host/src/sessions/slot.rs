//! Slots: the place of a session in memory, used or unused.
//!
//! **Invariant:** `place` is held between awaits only, `driving` by at most one caller that advances; a signal needs `place` alone.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, oneshot, watch};
use trellis_core::{
    Event, Mapping, SessionId, Start, Value,
    engine::{Answers, ChangedCall, Unanswered},
    id::CallId,
    state::{PendingCall, Status},
};

use super::{Said, SessionEvent, Waiting, overheard::Overheard, tail::StoreTail};
use crate::{
    binding::Bindings,
    hooks::{HookEvent, Moment, Sight},
    journal::RequestKey,
    session::Session,
    store::StoreError,
};

/// A session and its waiting callers.
pub(super) struct Slot {
    pub(super) id: SessionId,
    pub(super) driving: tokio::sync::Mutex<()>,
    pub(super) place: Mutex<SlotState>,
    /// Wakes the caller that advances: a signal moved the session, or it was told to pause.
    disturbed: Notify,
    /// The number of times that it was disturbed.
    disturbances: AtomicU64,
    paused: AtomicBool,
    /// True while it carries calls out, or sleeps, and all its steps are stored.
    works: watch::Sender<bool>,
    /// The time of its last use, counted in uses.
    pub(super) used: AtomicU64,
    /// The events since the last turn.
    pub(super) happened: Mutex<Vec<SessionEvent>>,
}

/// The state of a slot.
pub(super) enum SlotState {
    /// It has not begun: its entry may need predicates first.
    Beginning(Box<NewSession>),
    Running(Box<RunningSession>),
    /// It is in the store only.
    Away,
    /// It was removed.
    Gone,
}

pub(super) struct NewSession {
    pub(super) start: Start,
    pub(super) answers: Answers,
    pub(super) asks: Option<Box<Unanswered>>,
    pub(super) request: Option<RequestKey>,
}

pub(super) struct RunningSession {
    pub(super) session: Session,
    pub(super) bindings: Arc<Bindings>,
    /// The version of the program that it runs, or was found not to fit.
    pub(super) version: u64,
    /// The decision about a pending call that changed.
    pub(super) changed: ChangedCall,
    /// The need that was reported to its client.
    pub(super) stop: Option<Waiting>,
    /// The other waits in its tree.
    pub(super) others: Arc<Vec<Waiting>>,
    /// The session of the tree that asks its client first, with the number of the record from which on it is that one; `None` until a client is asked.
    pub(super) asks_first: Option<(Option<SessionId>, u64)>,
    /// The composite calls of which the start was reported.
    pub(super) reported_wholes: BTreeSet<CallId>,
    /// The content shown since the last turn.
    pub(super) said: Vec<Said>,
    /// The events that are reported as soon as they are stored.
    pub(super) telling: Vec<SessionEvent>,
    /// The events for hooks that are reported as soon as they are stored.
    pub(super) seen: Vec<(Moment, HookEvent)>,
    /// The progress of reports to hooks.
    pub(super) sight: Sight,
    /// The sessions of the tree whose rollback was reported.
    pub(super) unwinds: BTreeSet<Option<SessionId>>,
    /// True if a store has it.
    pub(super) is_stored: bool,
    /// True if the clock was set back since it was stored. The begin of its waits is known here only.
    pub(super) is_ahead: bool,
    /// Calls that started within a budget, by id, as long as their results are not known.
    pub(super) started: BTreeSet<CallId>,
    /// The callers that wait until its steps are stored.
    pub(super) promised: Vec<oneshot::Sender<Result<(), StoreError>>>,
    /// The callers that raised a signal, and want the turn after it, whoever gets it.
    pub(super) overhearing: Vec<Weak<Overheard>>,
    pub(super) tail: StoreTail,
    /// Requests whose records are not stored yet, with the number of the first record of each.
    pub(super) requests: Vec<(u64, RequestKey)>,
}

impl Slot {
    pub(super) fn new(id: SessionId, place: SlotState) -> Self {
        Self {
            id,
            driving: tokio::sync::Mutex::new(()),
            place: Mutex::new(place),
            disturbed: Notify::new(),
            disturbances: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            works: watch::Sender::new(false),
            used: AtomicU64::new(0),
            happened: Mutex::default(),
        }
    }

    pub(super) fn disturb(&self) {
        self.disturbances.fetch_add(1, Ordering::AcqRel);
        self.disturbed.notify_one();
    }

    /// The number of times that it was disturbed.
    pub(super) fn disturbances(&self) -> u64 {
        self.disturbances.load(Ordering::Acquire)
    }

    /// Marks it as working, until the mark is dropped.
    pub(super) fn mark_work(&self) -> WorkMark<'_> {
        self.works.send_replace(true);
        WorkMark(&self.works)
    }

    /// Returns whether it works.
    pub(super) fn works(&self) -> bool {
        *self.works.borrow()
    }

    /// Waits until it works.
    pub(super) async fn until_working(&self) {
        // The sender is as old as the slot.
        drop(self.works.subscribe().wait_for(|works| *works).await);
    }

    pub(super) fn pause(&self) {
        self.paused.store(true, Ordering::Release);
        self.disturb();
    }

    /// Returns whether it was told to pause.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Returns whether it was told to pause, and clears that.
    pub(super) fn take_pause(&self) -> bool {
        self.paused.swap(false, Ordering::AcqRel)
    }

    /// Waits until it was disturbed more often than this number of times.
    pub(super) async fn until_disturbed(&self, disturbances: u64) {
        while self.disturbances() == disturbances {
            self.disturbed.notified().await;
        }
    }

    /// Drops a session that the store has: it is loaded when it is needed. A caller that waits for storage gets the error.
    pub(super) fn forget(&self, error: &StoreError) {
        if let SlotState::Running(running) = std::mem::replace(&mut *self.place.locked(), SlotState::Away) {
            running.promised.into_iter().for_each(|promised| drop(promised.send(Err(error.clone()))));
        }
    }

    /// Forgets a session that a panic may have left in the middle of something.
    pub(super) fn lose(&self) {
        self.forget(&StoreError::Unavailable { store: "the session".into(), message: "it panicked".to_owned() });
    }

    /// Drops a session whose store has record `seen - 1`, if that is not here yet: steps that were not stored did not happen.
    pub(super) fn outdated(&self, seen: u64) {
        let expected = self.place.locked().running().filter(|running| running.is_stored).map(RunningSession::stored_to);
        if let Some(expected) = expected.filter(|expected| *expected < seen) {
            self.forget(&StoreError::Conflict { session: self.id.clone(), expected, found: seen });
        }
    }

    /// Takes the session out, if it has begun.
    pub(super) fn session(&self) -> Option<Session> {
        match std::mem::replace(&mut *self.place.locked(), SlotState::Gone) {
            SlotState::Running(running) => Some(running.session),
            SlotState::Beginning(_) | SlotState::Away | SlotState::Gone => None,
        }
    }
}

/// The mark of a session that works.
pub(super) struct WorkMark<'s>(&'s watch::Sender<bool>);

impl Drop for WorkMark<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

impl SlotState {
    pub(super) fn beginning(start: Start, request: Option<RequestKey>) -> Self {
        Self::Beginning(Box::new(NewSession { start, answers: Answers::new(), asks: None, request }))
    }

    pub(super) fn running(&self) -> Option<&RunningSession> {
        match self {
            Self::Running(running) => Some(running),
            Self::Beginning(_) | Self::Away | Self::Gone => None,
        }
    }

    pub(super) fn running_mut(&mut self) -> Option<&mut RunningSession> {
        match self {
            Self::Running(running) => Some(running),
            Self::Beginning(_) | Self::Away | Self::Gone => None,
        }
    }
}

impl RunningSession {
    pub(super) fn new(session: Session, bindings: Arc<Bindings>, version: u64) -> Self {
        Self {
            sight: Sight::beginning(session.here()),
            session,
            bindings,
            version,
            changed: ChangedCall::Blocks,
            stop: None,
            others: Arc::default(),
            asks_first: None,
            reported_wholes: BTreeSet::new(),
            said: Vec::new(),
            telling: Vec::new(),
            seen: Vec::new(),
            unwinds: BTreeSet::new(),
            is_stored: false,
            is_ahead: false,
            started: BTreeSet::new(),
            promised: Vec::new(),
            overhearing: Vec::new(),
            tail: StoreTail::default(),
            requests: Vec::new(),
        }
    }

    /// Stores which session asks first. Of one that was just loaded it is unknown who did before: nothing in the tree was asked since.
    pub(super) fn asks_first(&mut self, first: &Waiting) {
        if first.stop.needs_nobody() {
            return;
        }
        let here = self.session.here();
        let since = match &self.asks_first {
            Some((child, since)) if *child == first.child => *since,
            Some(_) => self.session.journal().next_seq(),
            None => here.children.values().map(|child| child.here.asked).fold(here.asked, u64::max),
        };
        self.asks_first = Some((first.child.clone(), since));
    }

    /// Reports an event as soon as the steps before it are stored.
    pub(super) fn tell(&mut self, child: Option<&SessionId>, event: SessionEvent) {
        self.telling.push(event.of_child(child));
    }

    /// Reports once that a rollback has begun in a session of the tree.
    pub(super) fn tell_rollback(&mut self, child: Option<&SessionId>) {
        let Some(state) = self.session.here_in(child).map(|here| &here.state) else { return };
        if state.status != Status::RollingBack {
            if !self.unwinds.is_empty() {
                self.unwinds.remove(&child.cloned());
            }
            return;
        }
        let text = |error: &Mapping, key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        let error = state.system_context.error.as_ref().and_then(Value::as_map);
        // An error stays until the next one: that of another node does not count.
        let own = error.filter(|error| text(error, "node").as_deref() == Some(state.current_node_id.as_str()));
        let last = |message: String| message.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        let why = own.and_then(|error| Some(format!("`{}` failed: {}", text(error, "tool")?, text(error, "message").and_then(last)?)));
        let event = SessionEvent::RollingBack { node: state.current_node_id.clone(), why: why.map(Arc::from) };
        if self.unwinds.insert(child.cloned()) {
            self.tell(child, event);
        }
    }

    /// Reports of a success that it counts as a failure, if it does.
    pub(super) fn tell_breach(&mut self, child: Option<&SessionId>, call: &Arc<PendingCall>) {
        // The end of a session is a record behind its last step.
        let mut events = self.session.journal().records().iter().rev().take(2).flat_map(|record| &record.events);
        let breaks = |event: &Event| matches!(event, Event::Returned { id, outcome } if *id == call.id && **outcome == *"schema");
        if events.any(breaks) {
            let state = self.session.here_in(child).map(|here| &here.state);
            let error = state.and_then(|state| state.system_context.error.as_ref()).and_then(Value::as_map);
            let why = error.and_then(|error| error.get("message")).and_then(Value::as_str).unwrap_or("its result does not fit");
            let event = SessionEvent::Refused(Arc::clone(call), why.into());
            self.tell(child, event);
        }
    }

    /// The number of the first record that is not stored.
    pub(super) fn stored_to(&self) -> u64 {
        let journal = self.session.journal();
        journal.next_seq() - journal.records().len() as u64
    }

    /// Sets the decision about the pending call that changed.
    pub(super) fn decide(&mut self, keeps_call: bool) {
        self.changed = if keeps_call { ChangedCall::Kept } else { ChangedCall::MadeAgain };
    }
}

/// A lock that a panic elsewhere does not poison: the guarded value is consistent between any two statements.
pub(super) trait PanicSafeLock<T> {
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T> PanicSafeLock<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
