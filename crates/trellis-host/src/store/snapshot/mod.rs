//! The state of a session, with the times from which its waits are measured: the fold of its records.

mod children;
mod dead;
mod left;
mod typed;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};
use trellis_core::{
    Event, SessionId, State,
    id::{CallId, IdempotencyKey},
    state::VERSION,
};

pub use self::children::ChildSnapshot;
use self::typed::typed_before;
use super::{
    StoreError, Stored,
    rows::{newer, read, unfit},
};
use crate::{
    journal::{DeadLetter, Entry, Needs, Record, TakenRequests, TypedSecrets},
    policy::{Rulings, Spent},
};

/// The state of a session and its times. Sleeps, timeouts and delays are measured from these, so they continue over a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its state.
    pub state: State,
    /// The time at which it began, in milliseconds since 1970.
    pub began: u64,
    /// The time of its last record.
    pub at: u64,
    /// The time at which the current node was entered: its `timeout` counts from here.
    pub entered_at: u64,
    /// The time of the last step: the delay of a pending call counts from here.
    pub stepped_at: u64,
    /// The calls that were approved last, at most 128.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub approved: Vec<Approved>,
    /// The times at which the open parts of the pending call, and that call, were made: their delays and timeouts count from there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<CallId, u64>,
    /// The decisions of policies about the pending call, or its parts.
    #[serde(default, skip_serializing_if = "Rulings::is_empty")]
    pub rulings: Rulings,
    /// The part of its budget that its calls have spent.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// The number of the record from which on its question is asked: an answer to an earlier one is stale.
    #[serde(default = "not_stored")]
    pub asked: u64,
    /// The checksum of its question ([`Record::question`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<u32>,
    /// The demand in place of its node's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Needs>,
    /// The named requests that it took last.
    #[serde(default, skip_serializing_if = "TakenRequests::is_empty")]
    pub requests: TakenRequests,
    /// Calls of it and its children that were given up, and that are not settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<DeadLetter>,
    /// The call by whose failure it ended, or ended a child that it left: its own caller may deal with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<Box<DeadLetter>>,
    /// The typed secrets in it and its children: the fold has those of the snapshot that it began with, and [`Snapshot::asked_by`] adds those typed
    /// since.
    #[serde(default = "TypedSecrets::unknown", skip_serializing_if = "TypedSecrets::is_unknown")]
    pub typed: TypedSecrets,
    /// Calls of it and its children that were left, and that no client is asked for: none had been, or the call was answered.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unasked: BTreeSet<CallId>,
    /// Its children that are alive, and theirs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<SessionId, ChildSnapshot>,
}

/// Returns the number for snapshots of before it was stored: their question counts as new as they are.
fn not_stored() -> u64 {
    u64::MAX
}

/// Approvals that are remembered: more than parts that can be open at once.
const APPROVALS: usize = 128;

/// Approvals as they are stored: there was one once.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Approved>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Many(Vec<Approved>),
        One(Approved),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Many(approved) => approved,
        Form::One(approved) => vec![approved],
    })
}

/// An approval that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// The call, all its attempts.
    pub key: IdempotencyKey,
    /// The time.
    pub at: u64,
}

impl Snapshot {
    /// Returns the snapshot of a session at its start.
    pub fn beginning(state: State, at: u64) -> Self {
        Self {
            state,
            began: at,
            at,
            entered_at: at,
            stepped_at: at,
            approved: Vec::new(),
            waits: BTreeMap::new(),
            rulings: Rulings::default(),
            spent: Spent::default(),
            asked: 1,
            question: None,
            blocked: None,
            requests: TakenRequests::default(),
            dead: Vec::new(),
            given_up: None,
            typed: TypedSecrets::default(),
            unasked: BTreeSet::new(),
            children: BTreeMap::new(),
        }
    }

    /// Takes a step again, as it was recorded.
    pub fn take(&mut self, record: &Record) {
        let is_of_child = match &record.entry {
            Entry::Result { result } | Entry::Settle { result, .. } => {
                self.of_child(record.child.as_ref()).is_some_and(|here| here.state.calls_graph(&result.id))
            }
            _ => false,
        };
        self.count(record, is_of_child);
        self.requests.remember(record.request.as_ref());
        match &record.child {
            None => self.take_own(record),
            Some(id) => match (&record.entry, self.children.get_mut(id)) {
                (Entry::Start { state, caller: Some(caller), .. }, _) => {
                    let here = Self { asked: record.seq + 1, ..Self::beginning((**state).clone(), record.at) };
                    self.children.insert(id.clone(), ChildSnapshot { caller: caller.clone(), here });
                }
                (_, Some(child)) => child.here.take_own(record),
                (_, None) => {}
            },
        }
        self.part_with(record);
        self.note_unasked(&record.unasked);
    }

    fn take_own(&mut self, record: &Record) {
        let before = (self.state.entered, self.state.step);
        self.take_state(record);
        if let Entry::Approve { key } = &record.entry {
            self.approve(Approved { key: key.clone(), at: record.at });
        }
        self.time(record.at, before);
        self.count_waits(record.at, &record.events);
        self.ask_by(record);
    }

    fn take_state(&mut self, record: &Record) {
        let result = match &record.entry {
            Entry::Input { .. } | Entry::Signal { .. } => None,
            entry => match entry.result() {
                None => return record.apply(&mut self.state),
                result => result,
            },
        };
        let mut after = self.state.clone();
        record.apply(&mut after);
        // Letters that are not the session's end have a record of their own.
        self.give_up(record.child.as_ref(), &after, &record.events, result);
        self.state = after;
    }

    /// Remembers an approval.
    pub(crate) fn approve(&mut self, approved: Approved) {
        self.approved.retain(|other| other.key != approved.key);
        if self.approved.len() >= APPROVALS {
            self.approved.remove(0);
        }
        self.approved.push(approved);
    }

    /// Notes when parts were made, and forgets those of a call that is over.
    pub(crate) fn count_waits(&mut self, at: u64, events: &[Event]) {
        if self.state.parts.is_empty() {
            self.waits.clear();
            return;
        }
        for event in events {
            match event {
                Event::Called { id, .. } => drop(self.waits.insert(id.clone(), at)),
                Event::Returned { id, .. } => drop(self.waits.remove(id)),
                _ => {}
            }
        }
    }

    /// Counts a record of any session of the tree towards the budget. The result of a child was spent by its own calls.
    pub(crate) fn count(&mut self, record: &Record, is_of_child: bool) {
        if let Some(result) = record.entry.result()
            && !is_of_child
        {
            self.spent.count(result);
        }
    }

    /// Applies a record to the question, to decisions of policies and to dead letters.
    pub(crate) fn ask_by(&mut self, record: &Record) {
        let decided = match &record.entry {
            Entry::Policy { key, decided } => Some((key, &**decided)),
            _ => None,
        };
        self.bury(record);
        self.rulings.fold(self.state.pending_tool_call.as_ref().map(|call| &call.idempotency_key), decided);
        if record.asks_anew() {
            (self.asked, self.blocked, self.question) = (record.seq + 1, None, None);
        }
        self.question = record.question.or(self.question);
        if let Entry::Blocked { needs } = &record.entry {
            self.blocked = Some(needs.clone());
        }
    }

    /// Corrects times after the clock was set back: if its last record was made later than `now`, its waits continue as if that record had been
    /// made now, so that no wait is prolonged.
    pub(crate) fn counted_from(&mut self, now: u64) {
        self.children.values_mut().for_each(|child| child.here.counted_from(now));
        let (last, ahead) = (self.at, self.at.saturating_sub(now));
        let approved = self.approved.iter_mut().map(|approved| &mut approved.at);
        let waits = self.waits.values_mut();
        let own = [&mut self.at, &mut self.entered_at, &mut self.stepped_at].into_iter();
        for time in own.chain(approved).chain(waits).chain(self.rulings.times()) {
            *time = (*time).min(last).saturating_sub(ahead);
        }
    }

    /// Takes a step that leads to `state`.
    pub fn step(&mut self, at: u64, state: State) {
        let before = (self.state.entered, self.state.step);
        self.state = state;
        self.time(at, before);
    }

    fn time(&mut self, at: u64, (entered, step): (u64, u64)) {
        self.at = at;
        if self.state.entered != entered {
            self.entered_at = at;
        }
        if self.state.step != step {
            self.stepped_at = at;
        }
    }

    /// Returns the stored session: its snapshot, and every step since. A record that opens an epoch has the whole state, so that nothing before it
    /// is missed.
    ///
    /// # Errors
    /// A record since the last whole state is missing or cannot be read, or was written by a newer version.
    pub fn of(stored: &Stored) -> Result<Self, StoreError> {
        let session = &stored.head.session;
        let corrupt = |message: String| StoreError::Corrupt { place: format!("session `{session}`"), message };
        let mut snapshot = match &stored.snapshot {
            Some((_, text)) => {
                let snapshot: Result<Self, _> = serde_json::from_str(text);
                Some(snapshot.map_err(|error| {
                    newer(session.as_str(), text).unwrap_or_else(|| corrupt(format!("its snapshot: {}", unfit(&error))))
                })?)
            }
            None => None,
        };
        let mut next = stored.snapshot.as_ref().map_or(0, |(next, _)| *next);
        if let Some(snapshot) = snapshot.as_mut().filter(|snapshot| snapshot.asked == not_stored()) {
            snapshot.asked = next;
        }
        // The loss by a record that is missing or cannot be read: everything up to the next whole state.
        let mut lost = None;
        for row in &stored.records {
            if row.seq != next {
                lost = Some(corrupt(format!(
                    "record {next} is missing; `trellis session fork {session} --at {}` continues from before it",
                    next.saturating_sub(1)
                )));
            }
            next = row.seq + 1;
            match read(session.as_str(), row) {
                Err(error) => lost = Some(error),
                Ok(record) => match (record.entry.epoch().filter(|_| record.child.is_none()), &mut snapshot) {
                    (Some(state), before) if before.is_none() || lost.is_some() => {
                        let began = if lost.is_some() { stored.head.began } else { record.at };
                        let asked = record.seq + 1;
                        let spent = before.as_ref().map(|before| before.spent).unwrap_or_default();
                        let typed = typed_before(&record, before.as_ref());
                        let (dead, mut requests) = before.take().map(|before| (before.dead, before.requests)).unwrap_or_default();
                        requests.remember(record.request.as_ref());
                        let anew = Self::beginning(state.clone(), record.at);
                        let children = match &record.entry {
                            Entry::Reload { children, .. } => {
                                children.iter().map(|(id, child)| (id.clone(), (child.clone(), record.at).into())).collect()
                            }
                            _ => BTreeMap::new(),
                        };
                        let unasked = record.unasked.iter().cloned().collect();
                        let anew = Self { began, asked, spent, requests, dead, typed, unasked, question: record.question, ..anew };
                        (snapshot, lost) = (Some(Self { children, ..anew }), None);
                    }
                    (_, Some(snapshot)) if lost.is_none() => snapshot.take(&record),
                    _ => {}
                },
            }
        }
        if let Some(lost) = lost {
            return Err(lost);
        }
        let snapshot = snapshot.ok_or_else(|| corrupt("it holds no start".into()))?;
        if snapshot.state.version > VERSION {
            let store = format!("session `{session}`").into();
            return Err(StoreError::Newer { store, found: snapshot.state.version.into(), known: VERSION.into() });
        }
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests;
