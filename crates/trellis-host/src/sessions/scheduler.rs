//! Waking what is due: sleeps, timeouts and delays of all sessions in the store, by one question for hundreds of them.
//!
//! Several processes may do so over one store. Which of them goes on with a session is seen when both append; the second leaves the session to the
//! first for a while. A call that was pending when both began may be made by both, under the same key.
//!
//! **Invariant:** a session that was tried and needs somebody else is left alone until it moves or its time is up; each turn is told once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::Instant,
};
use trellis_core::SessionId;

use super::{
    SendError, Sessions, Turn,
    persistence::Persistence,
    rest::{RestPoint, SleepPolicy},
    slot::{PanicSafeLock, RunningSession},
};
use crate::{
    guard::{Guarded, Panicked},
    store::{HEADS_PER_PAGE, Query, SessionStore, StoreError, Which},
};

/// Sessions that move at the same time, and calls of woken sessions that are carried out at the same time.
const ABREAST: usize = 64;
/// How long a store is left alone: another process may have put something into it that is due sooner.
const LOOK: Duration = Duration::from_secs(5);
/// How long a session is left alone whose store cannot be reached.
const AWAY: u64 = 1000;
/// How long a session is left to another process that went on with it first.
const OTHERS: u64 = 30_000;

/// How long [`Sessions::drive`] goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Until it is dropped.
    Forever,
    /// Until nothing goes on by itself any more, now or later.
    UntilIdle,
    /// Until nothing is due any more: what goes on later is left for then.
    WhatIsDue,
}

/// What [`Sessions::drive`] tells.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is handed on at once")]
pub enum Driven<'a> {
    /// A session went on to where somebody else is needed, or could not.
    Turn(&'a SessionId, Result<Turn, SendError>),
    /// The store cannot be reached. It is asked again and again; what is due waits.
    Away(&'a StoreError),
}

/// [`Sessions::drive`] did not begin, or could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// Without a store no session outlives its turn, and there is nothing to wake.
    #[error("there is nothing to wake without a store: give the sessions one with `Sessions::store`")]
    NoStore,
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The seats of woken sessions. One that moves holds a seat for a moment; one whose call is carried out has another, for as long as that takes. So
/// time that is up is not waited for by what takes long.
#[derive(Clone)]
struct Seats {
    moving: Arc<Semaphore>,
    calling: Arc<Semaphore>,
}

/// The seat of one woken session.
pub(super) struct Seat {
    seats: Seats,
    permit: Option<OwnedSemaphorePermit>,
    is_calling: bool,
}

impl Seats {
    fn new() -> Self {
        Self { moving: Arc::new(Semaphore::new(ABREAST)), calling: Arc::new(Semaphore::new(ABREAST)) }
    }

    /// A seat, if one is free.
    fn free(&self) -> Option<Seat> {
        let permit = Arc::clone(&self.moving).try_acquire_owned().ok()?;
        Some(Seat { seats: self.clone(), permit: Some(permit), is_calling: false })
    }

    /// Waits until one is free.
    async fn wait(&self) {
        // It is never closed.
        drop(self.moving.acquire().await);
    }
}

impl Seat {
    /// Waits for a seat in which a call may take its time.
    pub(super) async fn take_for_a_call(&mut self) {
        self.take(true).await;
    }

    /// Waits for a seat to move.
    pub(super) async fn take_for_a_move(&mut self) {
        self.take(false).await;
    }

    async fn take(&mut self, is_calling: bool) {
        if self.is_calling == is_calling && self.permit.is_some() {
            return;
        }
        self.permit = None;
        let seats = if is_calling { &self.seats.calling } else { &self.seats.moving };
        (self.permit, self.is_calling) = (Arc::clone(seats).acquire_owned().await.ok(), is_calling);
    }

    /// Gives the seat to somebody else.
    fn leave(&mut self) {
        self.permit = None;
    }
}

/// A session that went on, and the number of its next record then.
struct Woken {
    session: SessionId,
    next: u64,
    rest: Result<RestPoint, SendError>,
}

/// What is due, and when.
#[derive(Default)]
struct Schedule {
    due: BTreeSet<(u64, SessionId, u64)>,
    /// Sessions that were tried: at which record, and when they go on by themselves.
    tried: BTreeMap<SessionId, (u64, Option<u64>)>,
    /// Sessions that go on now.
    awake: BTreeSet<SessionId>,
    /// Sessions that another process went on with first.
    others: BTreeSet<SessionId>,
    /// Whether this process put something into the store that is due sooner.
    is_outdated: bool,
    /// Whether the store could not be reached the last time.
    is_away: bool,
    /// What is due later than this was not asked for.
    horizon: u64,
    asked: Option<Instant>,
}

impl Sessions {
    /// Goes on with every stored session that can go on by itself, when it can: what was interrupted at once, sleeps and timeouts when they are over.
    /// `told` gets each turn, or why there was none, and hears when the store goes away. Sessions that it woke are not kept in memory.
    ///
    /// It ends when it is dropped, which breaks off what it goes on with, or after [`Sessions::stop`].
    ///
    /// # Errors
    /// There is no store, it fails, or it cannot be reached at first. One that goes away later is asked again, unless it is to end by itself.
    pub async fn drive(self: &Arc<Self>, how: Drive, mut told: impl FnMut(Driven<'_>)) -> Result<(), DriveError> {
        let keeping = self.keeping.clone().ok_or(DriveError::NoStore)?;
        let (mut schedule, mut running, seats) = (Schedule::default(), JoinSet::new(), Seats::new());
        loop {
            if self.is_stopping() && running.is_empty() {
                return Ok(());
            }
            if schedule.is_stale(self.clock.now()) {
                let is_first = schedule.asked.is_none();
                match schedule.ask(&keeping, self.clock.now()).await {
                    Err(error @ StoreError::Unavailable { .. }) if how == Drive::Forever && !is_first => schedule.away(&error, &mut told),
                    asked => {
                        asked?;
                        schedule.is_away = false;
                    }
                }
            }
            let now = self.clock.now();
            while schedule.has_due(now)
                && !self.is_stopping()
                && let Some(seat) = seats.free()
                && let Some((session, next)) = schedule.pop(now)
            {
                if self.is_paused(&session) {
                    schedule.awake.remove(&session);
                    continue;
                }
                running.spawn(Arc::clone(self).wake(session, next, seat));
            }
            if running.is_empty() && schedule.is_over(how, self.clock.now()) {
                return Ok(());
            }
            let next = schedule.due.first().map(|(due, ..)| *due);
            self.wakes_at.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
            let is_full = schedule.has_due(self.clock.now());
            let left = next.filter(|_| !is_full && !self.is_stopping()).map_or(LOOK, |next| self.until(next).min(LOOK));
            tokio::select! {
                Some(Ok(woken)) = running.join_next() => {
                    match schedule.woken(&woken.session, woken.next, woken.rest, self.clock.now()) {
                        Some(Err(SendError::Store(error @ StoreError::Unavailable { .. }))) => schedule.away(&error, &mut told),
                        Some(turn) => told(Driven::Turn(&woken.session, turn)),
                        None => {}
                    }
                    self.release(&woken.session);
                }
                () = seats.wait(), if is_full && !self.is_stopping() => {}
                () = self.sooner.notified() => schedule.is_outdated = true,
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    async fn wake(self: Arc<Self>, session: SessionId, seen: u64, seat: Seat) -> Woken {
        let rest = Guarded::new(self.rested(&session, seen, seat)).await;
        let rest = rest.unwrap_or_else(|Panicked(why)| {
            self.found(&session).iter().for_each(|slot| slot.lose());
            Err(SendError::Panicked(why))
        });
        let next = self.look(&session, |session| session.journal().next_seq()).unwrap_or(seen);
        Woken { session, next, rest }
    }

    /// Goes on until somebody else is needed, or time must pass; from record `seen` at least, which the store was seen to have.
    async fn rested(&self, id: &SessionId, seen: u64, mut seat: Seat) -> Result<RestPoint, SendError> {
        let slot = self.slot(id)?;
        let _driving = match slot.driving.try_lock() {
            Ok(driving) => driving,
            // Somebody goes on with it, for as long as that takes.
            Err(_) => {
                seat.leave();
                let driving = slot.driving.lock().await;
                seat.take_for_a_move().await;
                driving
            }
        };
        slot.outdated(seen);
        let is_loaded = self.awake(&slot).await?;
        let found = slot.place.locked().running().map_or(seen, RunningSession::stored_to);
        if is_loaded && found > seen {
            // Somebody else went on with it since it was listed, and may be at it.
            return Err(StoreError::Conflict { session: id.clone(), expected: seen, found }.into());
        }
        self.rest(&slot, SleepPolicy::None, Some(&mut seat)).await
    }
}

impl Schedule {
    /// Whether the store must be asked: for the first time, after a while, or because everything that it said was done.
    fn is_stale(&self, now: u64) -> bool {
        self.is_outdated || self.asked.is_none_or(|asked| asked.elapsed() >= LOOK) || self.horizon <= now && self.due.is_empty()
    }

    /// Whether there is nothing left to wait for.
    fn is_over(&self, how: Drive, now: u64) -> bool {
        match how {
            Drive::Forever => false,
            Drive::UntilIdle => self.due.is_empty() && self.horizon == u64::MAX,
            Drive::WhatIsDue => self.horizon > now && self.due.first().is_none_or(|(due, ..)| *due > now),
        }
    }

    /// Asks for the heads that are due soonest, until enough of them are news.
    async fn ask(&mut self, keeping: &Persistence, now: u64) -> Result<(), StoreError> {
        (self.asked, self.is_outdated) = (Some(Instant::now()), false);
        let (mut after, mut news) = (None, BTreeSet::new());
        loop {
            let query = Query { graph: Some(Arc::clone(&keeping.graph)), which: Which::Due(u64::MAX), after, limit: HEADS_PER_PAGE };
            let page = keeping.store.list(query).await?;
            let last = page.last().and_then(|head| Some((head.due?, head.session.clone())));
            let is_last = page.len() < HEADS_PER_PAGE;
            for head in page.into_iter().filter(|head| !self.awake.contains(&head.session)) {
                let due = match self.tried.get(&head.session) {
                    Some((next, due)) if *next == head.next => *due,
                    // The clock went back: when it goes on is found when it is loaded.
                    _ if head.at > now => Some(now),
                    _ if self.others.contains(&head.session) => head.due.map(|due| due.max(head.at.saturating_add(OTHERS))),
                    _ => head.due,
                };
                news.extend(due.map(|due| (due, head.session, head.next)));
            }
            if is_last || news.len() >= HEADS_PER_PAGE {
                self.horizon = if is_last { u64::MAX } else { last.map_or(u64::MAX, |(due, _)| due) };
                self.due = news;
                return Ok(());
            }
            after = last;
        }
    }

    /// Whether a session is due.
    fn has_due(&self, now: u64) -> bool {
        self.due.first().is_some_and(|(due, ..)| *due <= now)
    }

    /// The next session that is due.
    fn pop(&mut self, now: u64) -> Option<(SessionId, u64)> {
        let (due, ..) = self.due.first()?;
        if *due > now {
            return None;
        }
        let (_, session, next) = self.due.pop_first()?;
        self.awake.insert(session.clone());
        Some((session, next))
    }

    /// Tells that the store went away, once until it is back.
    fn away(&mut self, error: &StoreError, told: &mut impl FnMut(Driven<'_>)) {
        if !std::mem::replace(&mut self.is_away, true) {
            told(Driven::Away(error));
        }
    }

    /// Remembers where a session rests; its turn, if it had one.
    fn woken(&mut self, session: &SessionId, next: u64, rest: Result<RestPoint, SendError>, now: u64) -> Option<Result<Turn, SendError>> {
        self.awake.remove(session);
        let (next, due, turn) = match rest {
            Ok(RestPoint::Asleep(due)) => (next, Some(due), None),
            Ok(RestPoint::Stopped(turn)) => (next, turn.due(), Some(Ok(turn))),
            // A store that is away comes back; what else is wrong stays wrong until somebody moves the session.
            Err(error @ SendError::Store(StoreError::Unavailable { .. })) => (next, Some(now + AWAY), Some(Err(error))),
            Err(SendError::Store(StoreError::Conflict { found, .. })) => {
                self.others.insert(session.clone());
                (found, Some(now + OTHERS), None)
            }
            // It is paused: who resumes it has it listed anew.
            Err(SendError::Stopped) => return Some(Err(SendError::Stopped)),
            Err(error) => (next, None, Some(Err(error))),
        };
        if let Some(due) = due.filter(|due| *due <= self.horizon) {
            self.due.insert((due, session.clone(), next));
        }
        self.tried.insert(session.clone(), (next, due));
        turn
    }
}
