//! Events for hooks, from the records of a session: each is reported once.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{Event, SessionId, engine::Call};

use super::{HookEvent, Moment, TakenUp};
use crate::{
    journal::{Entry, Record},
    session::Session,
    store::Snapshot,
};

/// The progress of reports to the hooks of a session.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    /// The record from which on they were not.
    next: u64,
    /// The time at which the session began.
    pub(super) began: u64,
    root: Seen,
    children: BTreeMap<SessionId, Seen>,
}

/// The progress of reports about one session of a tree.
#[derive(Clone, Copy, Debug)]
struct Seen {
    entered: u64,
    /// True if its end was reported.
    is_over: bool,
}

impl Seen {
    fn of(here: &Snapshot) -> Self {
        Self { entered: here.state.entered, is_over: here.state.ended.is_some() }
    }
}

impl Sight {
    /// Of a session that begins.
    pub(crate) fn beginning(here: &Snapshot) -> Self {
        Self { next: 0, began: here.began, root: Seen { entered: 0, is_over: false }, children: BTreeMap::new() }
    }

    /// Creates the progress for a session that was stored and whose next record is `next`; with the events for hooks about it and its children.
    pub(crate) fn taken_up(session: &Session, next: u64) -> (Self, Vec<(Moment, HookEvent)>) {
        let here = session.here();
        let children = here.children.iter().map(|(id, child)| (id.clone(), Seen::of(&child.here))).collect();
        let sight = Self { next, began: here.began, root: Seen::of(here), children };
        let mut called_by = BTreeMap::<&SessionId, Vec<&SessionId>>::new();
        for (id, child) in &here.children {
            called_by.entry(&child.caller.session).or_default().push(id);
        }
        let (mut seen, mut waiting) = (Vec::new(), vec![None]);
        while let Some(child) = waiting.pop() {
            let id = child.unwrap_or(&here.state.session_id);
            waiting.extend(called_by.remove(id).unwrap_or_default().into_iter().map(Some));
            seen.extend(sight.goes_on(session, child));
        }
        (sight, seen)
    }

    /// The event that a session of the tree was taken up.
    fn goes_on(&self, session: &Session, child: Option<&SessionId>) -> Option<(Moment, HookEvent)> {
        let here = session.here_in(child)?;
        let state = &here.state;
        let moment = Moment {
            session: session.state().session_id.clone(),
            child: child.cloned(),
            seq: self.next.saturating_sub(1),
            at: here.at,
            node: state.current_node_id.clone(),
            entered: state.entered,
            began: self.began,
            program: Arc::clone(&state.program),
        };
        let parts = session.open_calls(child).into_iter().filter(|call| call.part.is_some());
        let calls = state.pending_tool_call.iter().cloned().chain(parts);
        let since = |call: &Call| here.waits.get(&call.id).copied().unwrap_or(here.stepped_at);
        let calls = calls.map(|call| (call.id.clone(), Arc::clone(&call.name), since(&call))).collect();
        Some((moment, HookEvent::TakenUp(TakenUp { entered_at: here.entered_at, calls })))
    }

    /// Adds the events for hooks of the records that were not reported yet, in the order of the records.
    pub(crate) fn see(&mut self, session: &SessionId, records: &[Record], seen: &mut Vec<(Moment, HookEvent)>) {
        let reported = records.partition_point(|record| record.seq < self.next);
        for record in &records[reported..] {
            let begins = match &record.entry {
                Entry::Start { state, .. } => Some(&**state),
                entry => entry.epoch(),
            };
            let known = match &record.child {
                None => &mut self.root,
                Some(child) => self.children.entry(child.clone()).or_insert(Seen { entered: 0, is_over: false }),
            };
            known.entered = begins.map(|state| state.entered).or(record.changes.entered).unwrap_or(known.entered);
            let moment = Moment {
                session: session.clone(),
                child: record.child.clone(),
                seq: record.seq,
                at: record.at,
                node: record.to.clone(),
                entered: known.entered,
                began: self.began,
                program: Arc::clone(&record.program),
            };
            let mut tell = |happened: HookEvent| seen.push((moment.clone(), happened));
            match &record.entry {
                Entry::Start { .. } => tell(HookEvent::Began),
                Entry::Input { .. } | Entry::Result { .. } | Entry::Signal { .. } => tell(HookEvent::Step),
                Entry::Settle { .. } if !record.is_late() => tell(HookEvent::Step),
                // The program or a person moved it, which is no event of a step.
                Entry::Reload { .. } | Entry::Move { .. } => {
                    if let Some(from) = record.from.as_ref().filter(|from| **from != record.to) {
                        tell(HookEvent::Event(Event::Left(from.clone())));
                        tell(HookEvent::Event(Event::Entered(record.to.clone())));
                    }
                    known.is_over = false;
                }
                // Told already, if a step brought it about.
                Entry::End { ended } if !known.is_over => tell(HookEvent::Event(Event::Ended(ended.reason))),
                Entry::End { .. } | Entry::Context { .. } | Entry::Blocked { .. } => {}
                Entry::Approve { .. } | Entry::Policy { .. } | Entry::Late { .. } | Entry::Settle { .. } | Entry::Leave { .. } => {}
                Entry::Dead { .. } | Entry::Settled { .. } => {}
            }
            let result = record.entry.result();
            for event in &record.events {
                known.is_over |= matches!(event, Event::Ended(_));
                tell(match (event, result) {
                    (Event::Returned { id, .. }, Some(result)) if *id == result.id => {
                        HookEvent::Returned(event.clone(), Arc::new(result.clone()))
                    }
                    _ => HookEvent::Event(event.clone()),
                });
            }
            if let (Entry::End { .. }, Some(child)) = (&record.entry, &record.child) {
                self.children.remove(child);
            }
            self.next = record.seq + 1;
        }
    }
}
