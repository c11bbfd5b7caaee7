//! One session with its children: an engine, their states, and the journal of how they came there.
//!
//! [`Session::advance`] passes through nodes, without awaiting anything, until there is an action for a host, and returns it; the host carries it
//! out and hands the answer to [`Session::send`]. If a call of a graph is to be carried out here, [`Session::begin_child`] begins a child, which is
//! advanced likewise ([`Session::advance_in`]) until [`Session::return_child`] hands its end to its caller.
//!
//! **Invariant:** the states are the fold of the journal; a refused input leaves both unchanged; no child outlives the call that began it.

mod children;
mod fit;
mod held;
mod question;
mod walk;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trellis_core::{
    Engine, Event, Input, NavigateError, NodeId, SessionId, Start, State,
    engine::{Answers, Blocker, Call, EndView, Moved, RenderError, Request, StartError, Step, Unanswered, View},
    id::{CallId, IdempotencyKey},
    state::{Changes, PendingCall},
};

pub use self::children::NotBegun;
pub(crate) use self::children::left_alone;
pub(crate) use self::fit::{Fitted, fit};
pub use self::held::HeldCall;
use crate::{
    journal::{Clock, DeadLetter, Entry, MemoryJournal, Record},
    policy::Decided,
    store::{Approved, Snapshot},
};

/// The reason why a session halts.
#[derive(Clone, Debug)]
pub enum Halt {
    /// Show the content of a node, and advance again. Comes once per entering.
    Said {
        /// The node.
        node: NodeId,
        /// Its words, as Markdown.
        content: Arc<str>,
    },
    /// Show the message about an invalid input that was counted, and advance again (language 6.5).
    Invalid(Arc<str>),
    /// Ask, and send the answer.
    Ask(Request),
    /// Carry the call out, and send its result.
    Call(Call),
    /// Carry the open parts of a call out side by side, and send the result of each as it comes (language 10.1).
    Parts {
        /// The whole.
        whole: Call,
        /// The parts that are open.
        open: Vec<Call>,
    },
    /// Find out whether this predicate holds, and [`Session::answer`].
    Predicate(Box<Unanswered>),
    /// Stop.
    Ended(EndView),
}

/// The result of fitting a session to another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It continues at its node, and nothing changed.
    Same,
    /// It continues at its node.
    Kept,
    /// It continues elsewhere, or by entering its node again.
    Moved {
        /// The earlier node.
        from: NodeId,
        /// The reason why it moved.
        why: Moved,
    },
    /// It stays on the program that it has.
    Blocked {
        /// The child that does not fit; `None` for the session itself.
        child: Option<SessionId>,
        /// The blockers.
        blockers: Vec<Blocker>,
    },
}

/// A session that cannot advance; it stays where it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The bound of consecutive pass-through steps was reached (language A.1). Advancing again allows the same number of further steps.
    #[error("{limit} steps in a row passed through without a stop, last at `{node}`")]
    PassThrough {
        /// The node where the session stays.
        node: NodeId,
        /// The bound, `limits.pass_through`.
        limit: u64,
    },
    /// The node cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The node did not take a pass.
    #[error(transparent)]
    Refused(#[from] NavigateError),
}

/// The least number of records that a session keeps if they are not taken: about a mebibyte. There are at most twice as many, and those since its
/// last stop.
pub const HISTORY: usize = 1024;

/// A session in memory, with its children.
#[derive(Clone)]
pub struct Session {
    engine: Engine,
    clock: Clock,
    here: Snapshot,
    journal: MemoryJournal,
    walk: Walk,
    children: BTreeMap<SessionId, Walk>,
    /// Children that were left, whose calls may still succeed: where they were.
    left: BTreeMap<SessionId, State>,
    /// Children that cannot begin before a predicate is answered, by their calls.
    beginning: BTreeMap<CallId, (Answers, Box<Unanswered>)>,
    /// Open calls that no client was asked for, as far as a host knows: policy or interceptors decide about them, or they are carried out.
    busy: BTreeSet<CallId>,
}

/// The data of one session of a tree while it is in memory.
#[derive(Clone, Default)]
struct Walk {
    /// The view of its state, made once; its content is taken out when it was shown.
    view: Option<View>,
    /// True if the content of the current entering was shown.
    said: bool,
    /// The last shown content of the current entering: another program may have the same text for it.
    words: Option<Arc<str>>,
    /// The message about a counted invalid input.
    invalid: Option<Arc<str>>,
    /// An input whose step needs answers first, and the answers so far.
    held: Option<HeldInput>,
    /// The call that a person settles by hand: the record of its result says so.
    by_hand: Option<Box<SettledByHand>>,
    passes: u64,
}

#[derive(Clone)]
struct SettledByHand {
    call: CallId,
    by: Option<Arc<str>>,
    because: Option<Arc<str>>,
    unapproved: Vec<CallId>,
}

#[derive(Clone)]
struct HeldInput {
    input: Input,
    answers: Answers,
    asks: Box<Unanswered>,
}

impl Session {
    /// Begins a session, with the answers of deferred predicates that its entry asks for (language 7.1).
    ///
    /// # Errors
    /// The context does not fit, or a predicate must be answered first; nothing began.
    pub fn start(engine: Engine, start: Start, answers: Answers, clock: Clock) -> Result<Self, StartError> {
        let Step { state, events, .. } =
            if answers.is_empty() { engine.start(start.clone())? } else { engine.answering(answers).start(start.clone())? };
        let at = clock.now();
        let mut session = Self::at(engine, clock, Snapshot::beginning(state, at), MemoryJournal::new());
        let entry = Entry::Start { start: Box::new(start), state: Box::new(session.here.state.clone()), origin: None, caller: None };
        session.record(None, Happened { events, ..Happened::at(at, entry, None) });
        session.record_end(None);
        Ok(session)
    }

    /// A session that was stored, where it is: `next` is the number of the record that comes next. Its state must fit the engine's program, or be
    /// adopted before anything else. If the clock went back since, its waits count from now.
    pub fn resume(engine: Engine, mut here: Snapshot, next: u64, clock: Clock) -> Self {
        here.counted_from(clock.now());
        Self::at(engine, clock, here, MemoryJournal::since(next))
    }

    fn at(engine: Engine, clock: Clock, here: Snapshot, journal: MemoryJournal) -> Self {
        let children = here.children.keys().map(|child| (child.clone(), Walk::default())).collect();
        let (left, beginning, busy) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { engine, clock, here, journal, walk: Walk::default(), children, left, beginning, busy }
    }

    /// Appends to the journal; the session is its only writer, so there is no conflict.
    fn record(&mut self, child: Option<&SessionId>, happened: Happened) {
        let Happened { at, entry, from, events, changes, still_asked, is_of_child, unasked } = happened;
        let seq = self.journal.next_seq();
        let Some(here) = self.here.of_child(child) else { return };
        let (to, program) = (here.state.current_node_id.clone(), Arc::clone(&here.state.program));
        let (child, changes) = (child.cloned(), Box::new(changes));
        let record =
            Record { seq, at, child, entry, from, to, events, program, changes, still_asked, question: None, request: None, unasked };
        self.here.count(&record, is_of_child);
        self.here.typed.learn(self.engine.inspect(), &record);
        if let Some(here) = self.here.of_child_mut(record.child.as_ref()) {
            here.ask_by(&record);
        }
        let appended = self.journal.append(record);
        debug_assert!(appended.is_ok(), "a session is the only writer of its journal");
    }

    /// Records how a session of the tree ended, if it has.
    fn record_end(&mut self, child: Option<&SessionId>) {
        let Some(state) = self.here.of_child(child).map(|here| &here.state) else { return };
        if let Some(ended) = state.ended.clone() {
            let from = Some(state.current_node_id.clone());
            self.record(child, Happened::at(self.now(), Entry::End { ended }, from));
        }
    }

    /// Records the letters of a step: the one that it gave up, and the one by which the root ended.
    fn bury(&mut self, letter: Option<DeadLetter>) {
        let of_end = self.here.given_up.as_ref().filter(|_| self.here.state.ended.is_some());
        let of_end = of_end.map(|letter| (**letter).clone());
        for letter in letter.into_iter().chain(of_end) {
            self.note(None, Entry::Dead { letter: Box::new(letter) });
        }
    }

    /// Records something that moved nothing.
    fn note(&mut self, child: Option<&SessionId>, entry: Entry) {
        let from = self.here.of_child(child).map(|here| here.state.current_node_id.clone());
        self.record(child, Happened::at(self.now(), entry, from));
    }

    /// Returns the state of the session.
    pub fn state(&self) -> &State {
        &self.here.state
    }

    /// Returns its snapshot, with the times from which its waits are measured.
    pub fn here(&self) -> &Snapshot {
        &self.here
    }

    /// Returns the snapshot of a session of the tree: the root, or a child; `None` for a child that is not alive.
    pub fn here_in(&self, child: Option<&SessionId>) -> Option<&Snapshot> {
        self.here.of_child(child)
    }

    /// Returns the records since they were last taken. Of a session whose records are not taken, the newest [`HISTORY`], at least.
    pub fn journal(&self) -> &MemoryJournal {
        &self.journal
    }

    /// Takes out the records that were made since the last time: a store has them from then on. A caller that stores a session takes them at its
    /// first stop, or later before there are [`HISTORY`] of them: until they were taken once only the newest are kept, and the number of the first
    /// one shows how many are gone.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.journal.take()
    }

    /// Approves a pending call of the tree, all its attempts.
    pub fn approve(&mut self, child: Option<&SessionId>, key: IdempotencyKey) {
        let at = self.now();
        if let Some(here) = self.here.of_child_mut(child) {
            here.approve(Approved { key: key.clone(), at });
            self.note(child, Entry::Approve { key });
        }
    }

    /// Records the decision of a policy about a pending call of the tree, for all its attempts.
    pub fn decide(&mut self, child: Option<&SessionId>, key: IdempotencyKey, decided: Decided) {
        self.note(child, Entry::Policy { key, decided: Box::new(decided) });
    }

    /// Returns the time from which this call is in question, for its result or its approval: when its delay was over, or when it was approved.
    pub fn asked_at(&self, child: Option<&SessionId>, call: &PendingCall) -> u64 {
        self.here.of_child(child).map_or_else(|| self.now(), |here| here.asked_at(call))
    }

    /// Returns whether this call was approved.
    pub fn is_approved(&self, child: Option<&SessionId>, call: &PendingCall) -> bool {
        self.here.of_child(child).is_some_and(|here| here.is_approved(call))
    }

    /// The calls of a session of the tree that are made now: the pending one, or its open parts.
    pub fn open_calls(&self, child: Option<&SessionId>) -> Vec<Call> {
        self.here.of_child(child).map(|here| self.engine.open_calls(&here.state)).unwrap_or_default()
    }

    /// The calls of a session of the tree that are pending: the whole, then its open parts.
    pub(crate) fn made_calls(&self, child: Option<&SessionId>) -> Vec<Call> {
        let whole = self.here.of_child(child).and_then(|here| here.state.pending_tool_call.clone());
        whole.into_iter().chain(self.open_calls(child)).collect()
    }

    /// Returns the time, which never decreases while the session is in memory, even if the clock is set back.
    fn now(&self) -> u64 {
        self.clock.now().max(self.here.at)
    }

    /// Its engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the time at which the current node was entered, in milliseconds since 1970: its `timeout` counts from here.
    pub fn entered_at(&self) -> u64 {
        self.here.entered_at
    }

    /// Returns the time of the last step, likewise: the delay of a pending call counts from here.
    pub fn stepped_at(&self) -> u64 {
        self.here.stepped_at
    }

    /// Returns whether an input of a session of the tree waits for a predicate.
    pub fn is_held(&self, child: Option<&SessionId>) -> bool {
        self.walk_of(child).is_some_and(|walk| walk.held.is_some())
    }

    /// Returns whether an input of any session of the tree waits for a predicate.
    pub fn holds_input(&self) -> bool {
        self.walk.held.is_some() || self.children.values().any(|walk| walk.held.is_some())
    }

    /// Returns whether this call was left, and a late result of it was recorded.
    pub fn has_settled_late(&self, call: &CallId) -> bool {
        let children = self.here.children.values().map(|child| &child.here.state);
        std::iter::once(&self.here.state).chain(children).any(|state| state.has_settled_late(call))
    }

    /// Sets the open calls that no client is asked for now: whoever decides about calls and carries them out knows. Where such a call is left, its record
    /// says so.
    pub(crate) fn set_busy(&mut self, calls: BTreeSet<CallId>) {
        self.busy = calls;
    }

    /// Returns whether no client is asked for this open call, as far as a host knows.
    pub(crate) fn is_busy(&self, call: &CallId) -> bool {
        self.busy.contains(call)
    }

    /// Notes that a client is asked for this call.
    pub(crate) fn ask_client(&mut self, call: &CallId) {
        self.busy.remove(call);
    }

    /// The calls of all sessions of the tree that are made now.
    pub fn all_open_calls(&self) -> Vec<CallId> {
        let children = self.here.children.values().map(|child| &child.here.state);
        let states = std::iter::once(&self.here.state).chain(children);
        states.flat_map(|state| self.engine.open_calls(state)).map(|call| call.id.clone()).collect()
    }

    fn walk_of(&self, child: Option<&SessionId>) -> Option<&Walk> {
        match child {
            None => Some(&self.walk),
            Some(child) => self.children.get(child),
        }
    }
}

/// The content of a record.
struct Happened {
    at: u64,
    entry: Entry,
    from: Option<NodeId>,
    events: Vec<Event>,
    changes: Changes,
    still_asked: bool,
    /// True if it is the result of a child.
    is_of_child: bool,
    /// Calls that it leaves, and that no client had been asked for.
    unasked: Vec<CallId>,
}

impl Happened {
    fn at(at: u64, entry: Entry, from: Option<NodeId>) -> Self {
        let (events, changes, unasked) = (Vec::new(), Changes::default(), Vec::new());
        Self { at, entry, from, events, changes, still_asked: false, is_of_child: false, unasked }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut session = f.debug_struct("Session");
        session.field("state", &self.here.state).field("children", &self.here.children.len()).field("records", &self.journal.next_seq());
        session.finish_non_exhaustive()
    }
}
