//! Waking due sessions: sleeps, timeouts and delays of all sessions in the store, by one query for hundreds of them.
//!
//! Several processes may do so over one store. Which of them advances a session shows when both append; the second leaves the session to the first
//! for a while. A call that was pending when both began may be made by both, under the same key.
//!
//! **Invariant:** a session that was tried and needs a client is left alone until it moves or its time is up; each turn is reported once.

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
    driver::Driver,
    persistence::Persistence,
    rest::{RestPoint, SleepPolicy},
    slot::{PanicSafeLock, RunningSession},
};
use crate::{
    guard::{Guarded, Panicked},
    store::{HEADS_PER_PAGE, Head, Query, SessionStore, StoreError, Which},
};

/// Sessions that move at the same time, and calls of woken sessions that are carried out at the same time.
const ABREAST: usize = 64;
/// The interval between queries of a store: another process may have stored an earlier due time.
const DUE_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The time for which a session is left alone whose store cannot be reached.
const AWAY: u64 = 1000;
/// The shortest and the longest time for which a session is left alone whose store refuses to write: calls are made again then.
const REFUSED: [u64; 2] = [5_000, 300_000];
/// The time for which a session is left to another process that advanced it first, or works on it.
const OTHERS: u64 = 30_000;

/// The duration of [`Sessions::drive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Until it is dropped.
    Forever,
    /// Until no session continues by itself any more, now or later.
    UntilIdle,
    /// Until no session is due any more: later ones are left.
    WhatIsDue,
}

/// The reports of [`Sessions::drive`].
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is handed on at once")]
pub enum Driven<'a> {
    /// A session continued to a stop for a client, or could not.
    Turn(&'a SessionId, Result<Turn, SendError>),
    /// The store cannot be reached. It is queried again and again; due sessions wait.
    Away(&'a StoreError),
}

/// [`Sessions::drive`] did not begin, or could not continue.
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
/// due sessions do not wait for long calls.
#[derive(Clone)]
struct WakePermits {
    moving: Arc<Semaphore>,
    calling: Arc<Semaphore>,
}

/// The seat of one woken session.
pub(super) struct WakePermit {
    permits: WakePermits,
    permit: Option<OwnedSemaphorePermit>,
    is_calling: bool,
}

impl WakePermits {
    fn new() -> Self {
        Self { moving: Arc::new(Semaphore::new(ABREAST)), calling: Arc::new(Semaphore::new(ABREAST)) }
    }

    /// A seat, if one is free.
    fn free(&self) -> Option<WakePermit> {
        let permit = Arc::clone(&self.moving).try_acquire_owned().ok()?;
        Some(WakePermit { permits: self.clone(), permit: Some(permit), is_calling: false })
    }

    /// Waits until one is free.
    async fn wait(&self) {
        // It is never closed.
        drop(self.moving.acquire().await);
    }
}

impl WakePermit {
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
        let permits = if is_calling { &self.permits.calling } else { &self.permits.moving };
        (self.permit, self.is_calling) = (Arc::clone(permits).acquire_owned().await.ok(), is_calling);
    }

    /// Frees the seat.
    fn leave(&mut self) {
        self.permit = None;
    }
}

/// A session that was advanced, and the number of its next record then.
struct Woken {
    session: SessionId,
    next: u64,
    rest: Result<RestPoint, SendError>,
}

/// The due sessions, with their times.
#[derive(Default)]
struct Schedule {
    due: BTreeSet<(u64, SessionId, u64)>,
    /// Sessions that were tried: the record at that time, and the time at which they continue by themselves.
    tried: BTreeMap<SessionId, (u64, Option<u64>)>,
    /// Sessions that are being advanced.
    awake: BTreeSet<SessionId>,
    /// Sessions that another process advanced first.
    others: BTreeSet<SessionId>,
    /// Sessions that the store refused to write, with the time until the next attempt.
    refused: BTreeMap<SessionId, u64>,
    /// True if this process stored an earlier due time.
    is_outdated: bool,
    /// True if the store could not be reached the last time.
    is_away: bool,
    /// True if it does not end by itself.
    is_forever: bool,
    /// The end of the queried period: later due times are unknown.
    horizon: u64,
    asked: Option<Instant>,
}

impl Sessions {
    /// Resumes every stored session that can continue by itself, in time: interrupted ones at once, sleeps and timeouts when they have elapsed.
    /// `report` receives each turn, or the reason why there was none, and a failure of the store. Sessions that it woke do not stay in memory, but for
    /// those with values that no store has (`redact`): they stay as sessions do that were used last ([`Sessions::in_memory`]).
    ///
    /// It ends when it is dropped, which interrupts the sessions that it advances, or after [`Sessions::stop`].
    ///
    /// # Errors
    /// There is no store, it fails, or it cannot be reached at first. One that becomes unavailable later is queried again, unless it is to
    /// end by itself.
    pub async fn drive(self: &Arc<Self>, how: Drive, mut report: impl FnMut(Driven<'_>)) -> Result<(), DriveError> {
        let persistence = self.persistence.clone().ok_or(DriveError::NoStore)?;
        let _driver = Driver::of(self);
        let (mut schedule, mut running, permits) =
            (Schedule { is_forever: how == Drive::Forever, ..Schedule::default() }, JoinSet::new(), WakePermits::new());
        loop {
            if self.is_stopping() && running.is_empty() {
                return Ok(());
            }
            if schedule.is_stale(self.clock.now()) {
                schedule.retry(std::mem::take(&mut *self.resumed.locked()));
                let is_first = schedule.asked.is_none();
                let is_here = |head: &Head| self.worked_on.locked().get(&head.session) == Some(&head.next);
                match schedule.ask(&persistence, is_here, self.clock.now()).await {
                    Err(error @ StoreError::Unavailable { .. }) if how == Drive::Forever && !is_first => schedule.away(&error, &mut report),
                    asked => {
                        asked?;
                        schedule.is_away = false;
                    }
                }
            }
            let now = self.clock.now();
            while schedule.has_due(now)
                && !self.is_stopping()
                && let Some(permit) = permits.free()
                && let Some((session, next)) = schedule.pop(now)
            {
                if self.is_paused(&session) {
                    schedule.awake.remove(&session);
                    continue;
                }
                running.spawn(Arc::clone(self).wake(session, next, permit));
            }
            if running.is_empty() && schedule.is_over(how, self.clock.now()) {
                return Ok(());
            }
            let next = schedule.due.first().map(|(due, ..)| *due);
            self.wakes_at.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
            let is_full = schedule.has_due(self.clock.now());
            let left =
                next.filter(|_| !is_full && !self.is_stopping()).map_or(DUE_POLL_INTERVAL, |next| self.until(next).min(DUE_POLL_INTERVAL));
            tokio::select! {
                Some(Ok(woken)) = running.join_next() => {
                    match schedule.woken(&woken.session, woken.next, woken.rest, self.clock.now()) {
                        Some(Err(SendError::Store(error @ StoreError::Unavailable { .. }))) => schedule.away(&error, &mut report),
                        Some(turn) => report(Driven::Turn(&woken.session, turn)),
                        None => {}
                    }
                    self.leave_driven(&woken.session);
                }
                () = permits.wait(), if is_full && !self.is_stopping() => {}
                () = self.sooner.notified() => schedule.is_outdated = true,
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    /// Notes whether this process works on a session, up to its next record.
    pub(super) fn worked_on_here(&self, id: &SessionId, next: Option<u64>) {
        let mut worked_on = self.worked_on.locked();
        match next {
            Some(next) => worked_on.insert(id.clone(), next),
            None => worked_on.remove(id),
        };
    }

    async fn wake(self: Arc<Self>, session: SessionId, seen: u64, permit: WakePermit) -> Woken {
        let rest = Guarded::new(self.rested(&session, seen, permit)).await;
        let rest = rest.unwrap_or_else(|Panicked(why)| {
            self.found(&session).iter().for_each(|slot| slot.lose());
            Err(SendError::Panicked(why))
        });
        let next = self.look(&session, |session| session.journal().next_seq()).unwrap_or(seen);
        Woken { session, next, rest }
    }

    /// Continues until a client is needed, or time must pass; from record `seen` at least, which the store had when it was listed.
    async fn rested(&self, id: &SessionId, seen: u64, mut permit: WakePermit) -> Result<RestPoint, SendError> {
        let slot = self.slot(id)?;
        let _driving = match slot.driving.try_lock() {
            Ok(driving) => driving,
            // Another caller advances it, for as long as that takes.
            Err(_) => {
                permit.leave();
                let driving = slot.driving.lock().await;
                permit.take_for_a_move().await;
                driving
            }
        };
        slot.outdated(seen);
        let is_loaded = self.awake(&slot).await?;
        let found = slot.place.locked().running().map_or(seen, RunningSession::stored_to);
        if is_loaded && found > seen {
            // Another writer advanced it since it was listed, and may still do so.
            return Err(StoreError::Conflict { session: id.clone(), expected: seen, found }.into());
        }
        self.rest(&slot, SleepPolicy::None, Some(&mut permit)).await
    }
}

impl Schedule {
    /// Forgets how sessions were tried that somebody resumed.
    fn retry(&mut self, resumed: BTreeSet<SessionId>) {
        for session in resumed {
            self.tried.remove(&session);
            self.refused.remove(&session);
        }
    }

    /// Returns whether the store must be queried: for the first time, after a while, or because all listed sessions were handled.
    fn is_stale(&self, now: u64) -> bool {
        self.is_outdated
            || self.asked.is_none_or(|asked| asked.elapsed() >= DUE_POLL_INTERVAL)
            || self.horizon <= now && self.due.is_empty()
    }

    /// Returns whether there is nothing left to wait for.
    fn is_over(&self, how: Drive, now: u64) -> bool {
        match how {
            Drive::Forever => false,
            Drive::UntilIdle => self.due.is_empty() && self.horizon == u64::MAX,
            Drive::WhatIsDue => self.horizon > now && self.due.first().is_none_or(|(due, ..)| *due > now),
        }
    }

    /// Asks for the heads that are due soonest, until enough of them are news. What another process works on is left to it for a while; at first,
    /// nobody is known to work on anything.
    async fn ask(&mut self, persistence: &Persistence, is_here: impl Fn(&Head) -> bool, now: u64) -> Result<(), StoreError> {
        let is_first = self.asked.is_none();
        (self.asked, self.is_outdated) = (Some(Instant::now()), false);
        let (mut after, mut news) = (None, BTreeSet::new());
        loop {
            let query = Query { graph: Some(Arc::clone(&persistence.graph)), which: Which::Due(u64::MAX), after, limit: HEADS_PER_PAGE };
            let page = persistence.store.list(query).await?;
            let last = page.last().and_then(|head| Some((head.due?, head.session.clone())));
            let is_last = page.len() < HEADS_PER_PAGE;
            for head in page.into_iter().filter(|head| !self.awake.contains(&head.session)) {
                let due = match self.tried.get(&head.session) {
                    Some((next, due)) if *next == head.next => *due,
                    // The clock was set back: the due time is computed when it is loaded.
                    _ if head.at > now => Some(now),
                    _ if self.others.contains(&head.session) || !is_first && head.is_worked_on() && !is_here(&head) => {
                        head.due.map(|due| due.max(head.at.saturating_add(OTHERS)))
                    }
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

    /// Returns whether a session is due.
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

    /// Reports that the store is unavailable, once until it is back.
    fn away(&mut self, error: &StoreError, report: &mut impl FnMut(Driven<'_>)) {
        if !std::mem::replace(&mut self.is_away, true) {
            report(Driven::Away(error));
        }
    }

    /// Remembers where a session rests; its turn, if it had one.
    fn woken(&mut self, session: &SessionId, next: u64, rest: Result<RestPoint, SendError>, now: u64) -> Option<Result<Turn, SendError>> {
        self.awake.remove(session);
        if rest.is_ok() {
            self.refused.remove(session);
        }
        let (next, due, turn) = match rest {
            Ok(RestPoint::Asleep(due)) => (next, Some(due), None),
            Ok(RestPoint::Stopped(turn)) => (next, turn.due(), Some(Ok(turn))),
            // An unavailable store comes back, and a full disk is made room on; any other failure lasts until the session is moved or resumed.
            Err(error @ SendError::Store(StoreError::Unwritable { .. })) if self.is_forever => {
                let pause = self.refused.get(session).map_or(REFUSED[0], |pause| (pause * 2).min(REFUSED[1]));
                self.refused.insert(session.clone(), pause);
                (next, Some(now + pause), Some(Err(error)))
            }
            Err(error @ SendError::Store(StoreError::Unavailable { .. })) => (next, Some(now + AWAY), Some(Err(error))),
            Err(SendError::Store(StoreError::Conflict { found, .. })) => {
                self.others.insert(session.clone());
                (found, Some(now + OTHERS), None)
            }
            // It is paused: when it is resumed, it is listed again.
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
