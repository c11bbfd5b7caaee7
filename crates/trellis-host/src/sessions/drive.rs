//! Advancing: from an answer to the next stop, over the whole tree of a session.
//!
//! ```text
//! advance every session ──▶ store ──▶ begin ready work ────▶ take the outcomes ───────┐
//!        ▲                                └─ nothing runs ──▶ stop, or let time pass  │
//!        └────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! **Invariant:** calls that can run are carried out before a client is asked; a part whose outcome is stored never runs again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    time::Duration,
};

use trellis_core::{NodeId, SessionId, ToolOutcome, ToolResult, engine::Call, id::CallId};

use super::{
    SendError, SessionEvent, Sessions, Stop, Turn, Waiting,
    front::{Front, Need, NeedKind},
    persistence::KeepPoint,
    predicate::PredicateAnswer,
    rest::{RestPoint, SleepPolicy},
    scheduler::WakePermit,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
    works::{Carried, RunningWork, Subject, Works},
};

/// The stops of a client, by the name of their call or question.
type StopsById = BTreeMap<String, Stop>;

impl Sessions {
    /// Continues until a client is needed.
    pub(super) async fn driven(&self, slot: &Slot) -> Result<Turn, SendError> {
        let _driving = slot.driving.lock().await;
        self.admit()?;
        self.awake(slot).await?;
        self.onward(slot).await
    }

    /// Continues until a client is needed, for a caller that holds `driving`.
    pub(super) async fn onward(&self, slot: &Slot) -> Result<Turn, SendError> {
        let patience = if self.policy.is_detached && self.persistence.is_some() { SleepPolicy::Brief } else { SleepPolicy::Whole };
        loop {
            match self.rest(slot, patience, None).await? {
                RestPoint::Stopped(turn) => return Ok(turn),
                RestPoint::Asleep(until) if patience == SleepPolicy::Brief => {
                    self.warn_undriven(slot);
                    let node = self.node(slot)?;
                    let stop = Stop::Sleeping { node: node.clone(), until };
                    let asked = self.running(slot, |running| Ok(running.session.here().asked))?;
                    return Ok(self.stopped(slot, vec![Waiting { child: None, node, asked, stop }]));
                }
                RestPoint::Asleep(_) => {}
            }
        }
    }

    /// Continues until a client is needed, or time must pass that the policy does not wait for. A woken session has a seat.
    pub(super) async fn rest(
        &self,
        slot: &Slot,
        patience: SleepPolicy,
        mut permit: Option<&mut WakePermit>,
    ) -> Result<RestPoint, SendError> {
        slot.take_pause();
        if permit.is_some() && self.is_paused(&slot.id) {
            return Err(SendError::Stopped);
        }
        let (mut works, mut stops, mut ready) = (Works::default(), StopsById::new(), Vec::new());
        let asked = self.asked_calls(slot);
        // Awaited time has passed, even if the clock disagrees.
        let mut passed = 0;
        loop {
            self.take_ready(slot, &mut ready, &mut stops)?;
            self.note_busy(slot, &works, (&stops, &asked), None);
            let front = self.front(slot, self.now().max(passed), works.is_empty())?;
            self.note_busy(slot, &works, (&stops, &asked), Some(&front));
            self.keep(slot, &KeepPoint::Front(&front)).await?;
            // A signal may have moved it while that was stored.
            if front.is_going || slot.disturbances() != front.disturbances {
                continue;
            }
            works.leave(&front);
            if slot.is_paused() {
                works.leave_all();
            }
            if works.has_left() || !works.is_empty() && slot.is_paused() {
                let _works = slot.mark_work();
                ready.extend(works.finished().await);
                continue;
            }
            if slot.take_pause() {
                return Err(SendError::Stopped);
            }
            let now = self.now().max(passed);
            stops.retain(|id, stop| front.needs_stop(id) && stop.due().is_none_or(|due| due > now));
            let can_begin = |need: &&Need| need.begins_by(now) && need.id().is_some_and(|id| !works.holds(id) && !stops.contains_key(id));
            let begin: Vec<&Need> = front.needs.iter().filter(can_begin).collect();
            if let (Some(permit), false) = (&mut permit, begin.is_empty()) {
                permit.take_for_a_call().await;
                if slot.disturbances() != front.disturbances {
                    continue;
                }
            }
            for need in begin {
                if let Some(work) = self.begin(slot, need, patience)? {
                    works.push(work);
                }
            }
            self.note_busy(slot, &works, (&stops, &asked), Some(&front));
            if works.is_empty() {
                if let Some(permit) = &mut permit {
                    permit.take_for_a_move().await;
                }
                let waiting = self.waiting(slot, &front, &stops, now);
                if waiting.iter().any(|waiting| !matches!(waiting.stop, Stop::Sleeping { .. })) {
                    return Ok(RestPoint::Stopped(self.stopped(slot, waiting)));
                }
                let (since, due) = front.sleeps(now);
                if patience != SleepPolicy::Whole && due > now {
                    return Ok(RestPoint::Asleep(due));
                }
                if self.sleep(slot, &front, since, due).await {
                    passed = passed.max(due);
                }
                continue;
            }
            self.tell_of_calls(slot, &front);
            let _works = slot.mark_work();
            let due = front.due().filter(|due| *due > now);
            let time = async {
                match due {
                    Some(due) => tokio::time::sleep(self.until(due)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                finished = works.finished() => ready.extend(finished),
                () = slot.until_disturbed(front.disturbances) => {}
                () = time => passed = passed.max(due.unwrap_or_default()),
            }
        }
    }

    /// The calls that a client was asked for when the session rested before.
    fn asked_calls(&self, slot: &Slot) -> BTreeSet<CallId> {
        let id = |waiting: &Waiting| if let Stop::Call { call, .. } = &waiting.stop { Some(call.id.clone()) } else { None };
        self.running_if(slot, |running| running.waits().filter_map(id).collect()).unwrap_or_default()
    }

    /// Tells the session of which calls no client is asked: those that are worked on or needed, but for those that a client is asked for, or was when the
    /// session rested before.
    fn note_busy(&self, slot: &Slot, works: &Works<'_>, (stops, asked): (&StopsById, &BTreeSet<CallId>), front: Option<&Front>) {
        let stopped = stops.iter().filter(|(_, stop)| !stop.is_call()).map(|(id, _)| CallId::new(&**id));
        let is_asked = |id: &CallId| asked.contains(id) || stops.get(id.as_str()).is_some_and(Stop::is_call);
        let needed = works.calls().chain(front.into_iter().flat_map(Front::calls)).filter(|id| !is_asked(id));
        let busy: BTreeSet<CallId> = needed.cloned().chain(stopped).collect();
        if let Some(running) = slot.place.locked().running_mut() {
            running.session.set_busy(busy);
        }
    }

    /// Takes the outcomes of works, except for those of a session that holds an input: these wait until it took that.
    fn take_ready<'s>(
        &'s self,
        slot: &'s Slot,
        ready: &mut Vec<(RunningWork<'s>, Carried)>,
        stops: &mut StopsById,
    ) -> Result<(), SendError> {
        for (work, carried) in std::mem::take(ready) {
            let child = work.child.as_ref();
            let is_held = self.running_if(slot, |running| running.session.is_held(child)).unwrap_or(false);
            if is_held && matches!(work.subject, Subject::Call(_)) && !work.is_left {
                ready.push((work, carried));
                continue;
            }
            let id = work.subject.id().to_owned();
            let stop = match (&work.subject, carried) {
                (Subject::Call(call), Carried::Done(result)) if work.is_left => {
                    self.take_late(slot, child, call, *result)?;
                    None
                }
                _ if work.is_left => None,
                (Subject::Call(call), Carried::Done(result)) => {
                    self.settle_with(slot, child, call, *result)?;
                    None
                }
                (Subject::Call(call), Carried::Ruled(decided)) => {
                    self.record_ruling(slot, child, call, decided)?;
                    None
                }
                (Subject::Call(call), Carried::Begin) => {
                    self.begin_child(slot, child, call)?;
                    None
                }
                (Subject::Call(call), Carried::Held(terms)) => self.hold(slot, child, call, terms)?,
                (Subject::Call(call), Carried::Elsewhere(why)) => self.elsewhere(slot, child, Arc::clone(call), why)?,
                (Subject::Call(call), Carried::Runs) => {
                    self.warn_undriven(slot);
                    Some(Stop::Running { node: call.node.clone(), since: self.now(), call: Some(Arc::clone(call)) })
                }
                (Subject::Predicate(question), Carried::Answered(PredicateAnswer::Holds(holds))) => {
                    self.answer(slot, question, holds)?;
                    None
                }
                (Subject::Predicate(_), Carried::Answered(PredicateAnswer::AskClient(stop))) => Some(*stop),
                _ => None,
            };
            stops.extend(stop.map(|stop| (id, stop)));
        }
        Ok(())
    }

    /// Takes a late result: the stop of a call is none, but its success before it could be stopped is one.
    fn take_late(&self, slot: &Slot, child: Option<&SessionId>, call: &Call, result: ToolResult) -> Result<(), SendError> {
        if !matches!(result.outcome, ToolOutcome::Success(_)) {
            return Ok(());
        }
        self.tell_in(slot, child, SessionEvent::Returned(Arc::clone(call), result.clone()));
        // It may be none of a call that the session still knows.
        self.running(slot, |running| {
            running.session.send_result(result).ok();
            Ok(())
        })
    }

    /// Begins the child of a call, unless that is refused.
    fn begin_child(&self, slot: &Slot, child: Option<&SessionId>, call: &Call) -> Result<(), SendError> {
        let begun = self.running(slot, |running| Ok(running.session.begin_child(child, call)))?;
        match begun {
            Err(crate::session::NotBegun::Refused(outcome)) => self.settle(slot, child, call, outcome),
            // The predicate is asked with the next front.
            Ok(()) | Err(crate::session::NotBegun::Unanswered(_)) => Ok(()),
        }
    }

    /// Returns the stops, in order, and the sleeps. Work elsewhere comes first: no question is asked before.
    fn waiting(&self, slot: &Slot, front: &Front, stops: &StopsById, now: u64) -> Vec<Waiting> {
        let place = slot.place.locked();
        let asked =
            |child: Option<&SessionId>| place.running().and_then(|running| running.session.here_in(child)).map_or(0, |here| here.asked);
        let of = |need: &Need| {
            let stop = match &need.what {
                NeedKind::Ask { request, due } => Some(Stop::Ask { request: request.clone(), due: *due }),
                NeedKind::Stop(stop) => Some(stop.clone()),
                NeedKind::Sleep { due, .. } => Some(Stop::Sleeping { node: need.node.clone(), until: *due }),
                NeedKind::Call { begins, .. } if *begins > now => Some(Stop::Sleeping { node: need.node.clone(), until: *begins }),
                NeedKind::Call { .. } | NeedKind::Predicate(_) => stops.get(need.id()?).cloned(),
            };
            let child = need.child.clone();
            Some(Waiting { asked: asked(child.as_ref()), child, node: need.node.clone(), stop: stop?.due_by(need.until) })
        };
        let mut waiting: Vec<Waiting> = front.needs.iter().filter_map(of).collect();
        waiting.sort_by_key(|waiting| match waiting.stop {
            Stop::Running { .. } => 0,
            Stop::Sleeping { .. } => 2,
            _ => 1,
        });
        waiting
    }

    /// The turn of a session that stops.
    pub(super) fn stopped(&self, slot: &Slot, waiting: Vec<Waiting>) -> Turn {
        let mut waiting = waiting.into_iter();
        let first = waiting.next().unwrap_or_else(|| unreachable!("a session that stops waits for something"));
        let others = Arc::new(waiting.collect());
        let mut overhearing = Vec::new();
        let mut turn = match &mut *slot.place.locked() {
            SlotState::Running(running) => {
                overhearing.extend(running.overhearing.iter().filter_map(Weak::upgrade));
                (running.stop, running.others) = (Some(first.clone()), Arc::clone(&others));
                running.asks_first(&first);
                running.session.forget_left();
                let said = std::mem::take(&mut running.said);
                Turn { said, others, budget: running.bindings.budget(), ..Turn::of(&running.session, first) }
            }
            SlotState::Beginning(_) | SlotState::Away | SlotState::Gone => {
                Turn::before(slot.id.clone(), Arc::clone(self.current().engine.inspect().fingerprint()), first)
            }
        };
        (turn.happened, turn.has_more) = slot.take_happened();
        overhearing.iter().for_each(|waiting| waiting.hear(&turn));
        turn
    }

    /// Tells those whose signal the session took that it runs a call.
    fn tell_of_calls(&self, slot: &Slot, front: &Front) {
        let place = slot.place.locked();
        // Else a signal has come since, and is taken first.
        if let Some(running) = place.running().filter(|_| slot.disturbances() == front.disturbances) {
            running.overhearing.iter().filter_map(Weak::upgrade).for_each(|waiting| waiting.hear_of_a_call());
        }
    }

    /// Does something with a session that has begun.
    pub(super) fn running<T>(&self, slot: &Slot, act: impl FnOnce(&mut RunningSession) -> Result<T, SendError>) -> Result<T, SendError> {
        let mut place = slot.place.locked();
        act(place.running_mut().ok_or_else(|| SendError::Unknown(slot.id.clone()))?)
    }

    /// Passes a session to `look`, if it has begun.
    fn running_if<T>(&self, slot: &Slot, look: impl FnOnce(&RunningSession) -> T) -> Option<T> {
        slot.place.locked().running().map(look)
    }

    fn node(&self, slot: &Slot) -> Result<NodeId, SendError> {
        self.running(slot, |running| Ok(running.session.state().current_node_id.clone()))
    }

    /// Lets time pass; false where the session was disturbed before.
    async fn sleep(&self, slot: &Slot, front: &Front, since: u64, due: u64) -> bool {
        // A clock that was set back prolongs no wait beyond its whole time.
        let left = self.until(due).min(Duration::from_millis(due.saturating_sub(since)));
        if left.is_zero() {
            return true;
        }
        self.tell(slot, &SessionEvent::Sleeping(left));
        let _works = slot.mark_work();
        tokio::select! {
            () = slot.until_disturbed(front.disturbances) => false,
            () = tokio::time::sleep(left) => true,
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }
}
