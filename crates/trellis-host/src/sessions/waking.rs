//! Waking what is due: sleeps, timeouts and delays of all sessions in the store, by one question for hundreds of them.
//!
//! **Invariant:** a session that was tried and needs somebody else is left alone until it moves or its time is up.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};
use trellis_core::SessionId;

use super::{
    SendError, Sessions, Turn,
    drive::{Patience, Rest},
    keep::Keeping,
};
use crate::store::{Query, StoreError, Which};

/// Sessions that go on at the same time.
const ABREAST: usize = 64;
/// Heads that are asked for at once.
const PAGE: usize = 512;
/// How long a store is left alone: another process may have put something into it that is due sooner.
const LOOK: Duration = Duration::from_secs(5);
/// How long a session is left alone whose store cannot be reached.
const AWAY: u64 = 1000;

/// How long [`Sessions::drive`] goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Until it is dropped.
    Forever,
    /// Until nothing goes on by itself any more, now or later.
    UntilIdle,
}

/// A session that went on, and the number of its next record then.
struct Woken {
    session: SessionId,
    next: u64,
    rest: Result<Rest, SendError>,
}

/// What is due, and when.
#[derive(Default)]
struct Schedule {
    due: BTreeSet<(u64, SessionId, u64)>,
    /// Sessions that were tried: at which record, and when they go on by themselves.
    tried: BTreeMap<SessionId, (u64, Option<u64>)>,
    /// What is due later than this was not asked for.
    horizon: u64,
    asked: Option<Instant>,
}

impl Sessions {
    /// Goes on with every stored session that can go on by itself, when it can: what was interrupted at once, sleeps and timeouts when they are over.
    /// `told` gets each turn, or why there was none. Sessions that it woke are not kept in memory.
    ///
    /// # Errors
    /// The store fails. One that cannot be reached is asked again, unless it is to end by itself.
    pub async fn drive(self: &Arc<Self>, how: Drive, mut told: impl FnMut(&SessionId, Result<Turn, SendError>)) -> Result<(), StoreError> {
        let Some(keeping) = self.keeping.clone() else { return Ok(()) };
        let (mut schedule, mut running) = (Schedule::default(), JoinSet::new());
        loop {
            if schedule.is_stale(self.clock.now()) {
                match schedule.ask(&keeping).await {
                    Err(StoreError::Unavailable { .. }) if how == Drive::Forever => {}
                    asked => asked?,
                }
            }
            while running.len() < ABREAST
                && let Some((session, next)) = schedule.pop(self.clock.now())
            {
                running.spawn(Arc::clone(self).wake(session, next));
            }
            if how == Drive::UntilIdle && running.is_empty() && schedule.due.is_empty() && schedule.horizon == u64::MAX {
                return Ok(());
            }
            let next = if running.len() < ABREAST { schedule.due.first().map(|(due, ..)| *due) } else { None };
            self.wakes_at.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
            let left = next.map_or(LOOK, |next| self.until(next).min(LOOK));
            tokio::select! {
                Some(Ok(woken)) = running.join_next() => {
                    if let Some(turn) = schedule.woken(&woken.session, woken.next, woken.rest, self.clock.now()) {
                        told(&woken.session, turn);
                    }
                    self.release(&woken.session);
                }
                () = self.sooner.notified() => schedule.asked = None,
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    async fn wake(self: Arc<Self>, session: SessionId, seen: u64) -> Woken {
        let rest = self.rested(&session, seen).await;
        let next = self.look(&session, |session| session.journal().next_seq()).unwrap_or(seen);
        Woken { session, next, rest }
    }

    /// Goes on until somebody else is needed, or time must pass; from record `seen` at least, which the store was seen to have.
    async fn rested(&self, id: &SessionId, seen: u64) -> Result<Rest, SendError> {
        let slot = self.slot(id)?;
        let _driving = slot.driving.lock().await;
        slot.outdated(seen);
        self.awake(&slot).await?;
        self.rest(&slot, Patience::None).await
    }
}

impl Schedule {
    /// Whether the store must be asked: for the first time, after a while, or because everything that it said was done.
    fn is_stale(&self, now: u64) -> bool {
        self.asked.is_none_or(|asked| asked.elapsed() >= LOOK) || self.horizon <= now && self.due.is_empty()
    }

    /// Asks for the heads that are due soonest, until enough of them are news.
    async fn ask(&mut self, keeping: &Keeping) -> Result<(), StoreError> {
        self.asked = Some(Instant::now());
        let (mut after, mut news) = (None, BTreeSet::new());
        loop {
            let query = Query { graph: Some(Arc::clone(&keeping.graph)), which: Which::Due(u64::MAX), after, limit: PAGE };
            let page = keeping.store.list(query).await?;
            let last = page.last().and_then(|head| Some((head.due?, head.session.clone())));
            let is_last = page.len() < PAGE;
            for head in page {
                let due = match self.tried.get(&head.session) {
                    Some((next, due)) if *next == head.next => *due,
                    _ => head.due,
                };
                news.extend(due.map(|due| (due, head.session, head.next)));
            }
            if is_last || news.len() >= PAGE {
                self.horizon = if is_last { u64::MAX } else { last.map_or(u64::MAX, |(due, _)| due) };
                self.due = news;
                return Ok(());
            }
            after = last;
        }
    }

    /// The next session that is due.
    fn pop(&mut self, now: u64) -> Option<(SessionId, u64)> {
        let (due, ..) = self.due.first()?;
        if *due > now {
            return None;
        }
        self.due.pop_first().map(|(_, session, next)| (session, next))
    }

    /// Remembers where a session rests; its turn, if it had one.
    fn woken(&mut self, session: &SessionId, next: u64, rest: Result<Rest, SendError>, now: u64) -> Option<Result<Turn, SendError>> {
        let (due, turn) = match rest {
            Ok(Rest::Asleep(due)) => (Some(due), None),
            Ok(Rest::Stopped(turn)) => (turn.stop.due(), Some(Ok(turn))),
            // A store that is away comes back; what else is wrong stays wrong until somebody moves the session.
            Err(error @ SendError::Store(StoreError::Unavailable { .. })) => (Some(now + AWAY), Some(Err(error))),
            Err(error) => (None, Some(Err(error))),
        };
        match due {
            Some(due) if due <= self.horizon => drop(self.due.insert((due, session.clone(), next))),
            _ => {}
        }
        self.tried.insert(session.clone(), (next, due));
        turn
    }
}
