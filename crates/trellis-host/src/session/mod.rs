//! One session: an engine, a state, and the journal of how it came there.
//!
//! [`Session::advance`] passes through nodes, without awaiting anything, until there is something for a host to do, and says what; the host does it
//! and hands the answer to [`Session::send`].
//!
//! **Invariant:** the state is the fold of the journal; what was refused left neither changed.

mod question;

use std::sync::Arc;

use trellis_core::{
    Engine, Event, Input, NavigateError, Next, NodeId, SignalName, Start, State,
    engine::{Answers, Blocker, Call, EndView, Moved, RenderError, Request, StartError, Step, Unanswered, View},
    id::IdempotencyKey,
    state::{Changes, PendingCall},
};

use crate::{
    journal::{Clock, Entry, MemoryJournal, Record},
    policy::{Decided, Decision},
    store::{Approved, Snapshot},
};

/// What a session halts for.
#[derive(Clone, Debug)]
pub enum Halt {
    /// Show what a node says, and advance again. Comes once per entering.
    Said {
        /// The node.
        node: NodeId,
        /// Its words, as Markdown.
        content: Arc<str>,
    },
    /// Say what was wrong with an input that was counted, and advance again (language 6.5).
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

/// How a session came to stand on another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It goes on where it is, and nothing is another than it was.
    Same,
    /// It goes on where it is.
    Kept,
    /// It goes on elsewhere, or anew.
    Moved {
        /// Where it was.
        from: NodeId,
        /// Why it moved.
        why: Moved,
    },
    /// It stays on the program that it has.
    Blocked(Vec<Blocker>),
}

/// A session that cannot advance; it stays where it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The ceiling on consecutive pass-through steps was reached (language A.1). Advancing again allows as many again.
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

/// How many records a session keeps that nobody takes, at least: about a mebibyte. There are at most twice as many, and those since its last stop.
pub const HISTORY: usize = 1024;

/// A session in memory.
#[derive(Clone)]
pub struct Session {
    engine: Engine,
    clock: Clock,
    here: Snapshot,
    journal: MemoryJournal,
    /// The view of `state`, made once; its content is taken out when it was said.
    view: Option<View>,
    /// Whether the content of the current entering was said.
    said: bool,
    /// What was said last of the current entering: another program may have the same words for it.
    words: Option<Arc<str>>,
    /// What to say about a counted invalid input.
    invalid: Option<Arc<str>>,
    /// An input whose step needs answers first, and what is known so far.
    held: Option<HeldCall>,
    passes: u64,
}

#[derive(Clone)]
struct HeldCall {
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
        let entry = Entry::Start { start: Box::new(start), state: Box::new(session.here.state.clone()), origin: None };
        session.record(at, entry, None, events, Changes::default(), false);
        session.record_end();
        Ok(session)
    }

    /// A session that was stored, where it is: `next` is the number of the record that comes next. Its state must fit the engine's program, or be
    /// adopted before anything else. If the clock went back since, its waits count from now.
    pub fn resume(engine: Engine, mut here: Snapshot, next: u64, clock: Clock) -> Self {
        here.counted_from(clock.now());
        Self::at(engine, clock, here, MemoryJournal::since(next))
    }

    fn at(engine: Engine, clock: Clock, here: Snapshot, journal: MemoryJournal) -> Self {
        Self { engine, clock, here, journal, view: None, said: false, words: None, invalid: None, held: None, passes: 0 }
    }

    /// Goes on until there is something to do; asking twice without an answer in between says the same.
    ///
    /// # Errors
    /// The ceiling on pass-through steps was reached, or the node cannot be rendered; the session stays where it is.
    pub fn advance(&mut self) -> Result<Halt, SessionError> {
        if self.passes == 0 {
            // The session stopped before this, so whoever takes records had a chance to.
            self.journal.forget(HISTORY);
        }
        loop {
            if let Some(text) = self.invalid.take() {
                return Ok(Halt::Invalid(text));
            }
            if let Some(held) = &self.held {
                return Ok(Halt::Predicate(held.asks.clone()));
            }
            let view = match &mut self.view {
                Some(view) => view,
                None => self.view.insert(self.engine.render(&self.here.state)?),
            };
            if let Some(content) = view.content.take()
                && !self.said
            {
                self.said = true;
                if self.words.as_ref() == Some(&content) {
                    continue;
                }
                self.words = Some(Arc::clone(&content));
                return Ok(Halt::Said { node: self.here.state.current_node_id.clone(), content });
            }
            match &view.next {
                Next::Pass => self.pass()?,
                Next::Ask(request) => return Ok(Halt::Ask(request.clone())),
                Next::Call(call) => return Ok(Halt::Call(Arc::clone(call))),
                Next::Parts { whole, open } => return Ok(Halt::Parts { whole: Arc::clone(whole), open: open.clone() }),
                Next::End(ended) => return Ok(Halt::Ended(Arc::clone(ended))),
            }
        }
    }

    /// One step through a node that does not stop.
    fn pass(&mut self) -> Result<(), SessionError> {
        let limit = self.engine.inspect().limits().pass_through;
        if self.passes >= limit {
            self.passes = 0;
            return Err(SessionError::PassThrough { node: self.here.state.current_node_id.clone(), limit });
        }
        self.passes += 1;
        Ok(self.take(Input::Pass, Answers::new())?)
    }

    /// Hands in an answer, a result or a signal. Where its step needs a predicate first, the input is held and [`Session::advance`] asks for it.
    ///
    /// # Errors
    /// A refusal: nothing happened, and what would be accepted.
    pub fn send(&mut self, input: Input) -> Result<(), NavigateError> {
        self.take(input, Answers::new())?;
        self.passes = 0;
        Ok(())
    }

    /// Answers the predicate that [`Session::advance`] asked for; other names are not asked and change nothing.
    ///
    /// # Errors
    /// As [`Session::send`], of the input that was held.
    pub fn answer(&mut self, predicate: &str, truth: bool) -> Result<(), NavigateError> {
        match self.held.take() {
            Some(mut held) if &*held.asks.name == predicate => {
                held.answers.insert(held.asks.name, truth);
                self.take(held.input, held.answers)
            }
            other => {
                self.held = other;
                Ok(())
            }
        }
    }

    /// Navigates, records, and holds the input where a predicate is missing.
    fn take(&mut self, input: Input, answers: Answers) -> Result<(), NavigateError> {
        let step = if answers.is_empty() {
            self.engine.navigate(&self.here.state, input.clone())
        } else {
            self.engine.answering(answers.clone()).navigate(&self.here.state, input.clone())
        };
        match step {
            Ok(step) => {
                self.accept(input, step);
                Ok(())
            }
            Err(NavigateError::Unanswered(asks)) => {
                self.held = Some(HeldCall { input, answers, asks });
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    fn accept(&mut self, input: Input, Step { state, events, wrote, .. }: Step) {
        let at = self.now();
        let changes = Changes::between(&self.here.state, &state, &wrote);
        let before = (self.here.state.current_node_id.clone(), self.here.state.ended.is_some());
        self.here.step(at, state);
        self.here.count_waits(at, &events);
        self.view = None;
        let mut late = false;
        for event in &events {
            match event {
                Event::Entered(_) => (self.said, self.words) = (false, None),
                Event::Invalid(text) => self.invalid = Some(Arc::clone(text)),
                Event::Late { .. } | Event::DeadLetter(_) => late = true,
                _ => {}
            }
        }
        if !late {
            self.held = None;
        }
        let entry = match input {
            Input::Result(result) if late => Entry::Late { result: Box::new(result) },
            Input::Result(result) => Entry::Result { result: Box::new(result) },
            Input::Signal(signal) => Entry::Signal { signal },
            input => Entry::Input { input },
        };
        self.record(at, entry, Some(before.0), events, changes, false);
        if !before.1 {
            self.record_end();
        }
    }

    /// Appends to the journal; the session is its only writer, so there is no conflict.
    fn record(&mut self, at: u64, entry: Entry, from: Option<NodeId>, events: Vec<Event>, changes: Changes, still_asked: bool) {
        let to = self.here.state.current_node_id.clone();
        let (seq, program) = (self.journal.next_seq(), Arc::clone(&self.here.state.program));
        let record =
            Record { seq, at, entry, from, to, events, program, changes: Box::new(changes), still_asked, question: None, request: None };
        self.here.ask_by(&record);
        let appended = self.journal.append(record);
        debug_assert!(appended.is_ok(), "a session is the only writer of its journal");
    }

    /// Records how the session ended, if it has.
    fn record_end(&mut self) {
        if let Some(ended) = self.here.state.ended.clone() {
            let from = Some(self.here.state.current_node_id.clone());
            self.record(self.now(), Entry::End { ended }, from, Vec::new(), Changes::default(), false);
        }
    }

    /// Where the session is.
    pub fn state(&self) -> &State {
        &self.here.state
    }

    /// Where it is, with the times that its waits are measured from.
    pub fn here(&self) -> &Snapshot {
        &self.here
    }

    /// How it came there: all that happened since records were taken last. Of a session whose records nobody takes, the newest [`HISTORY`], at least.
    pub fn journal(&self) -> &MemoryJournal {
        &self.journal
    }

    /// Takes out the records that were made since the last time: a store has them from then on. Whoever stores a session takes them where it stops for the
    /// first time, or later before there are [`HISTORY`] of them: until they were taken once only the newest are kept, and the number of the first one
    /// says how many are gone.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.journal.take()
    }

    /// Approves the pending call, all its attempts.
    pub fn approve(&mut self, key: IdempotencyKey) {
        let (at, from) = (self.now(), Some(self.here.state.current_node_id.clone()));
        self.here.approve(Approved { key: key.clone(), at });
        self.record(at, Entry::Approve { key }, from, Vec::new(), Changes::default(), false);
    }

    /// Records what a policy decided about the pending call, all its attempts.
    pub fn decide(&mut self, key: IdempotencyKey, decided: Decided) {
        let (at, from) = (self.now(), Some(self.here.state.current_node_id.clone()));
        let entry = Entry::Policy { key, decided: Box::new(decided) };
        self.record(at, entry, from, Vec::new(), Changes::default(), false);
    }

    /// Whether this call waits for an approval that nobody gave: its graph asks for one, or a policy decided so.
    pub fn is_held_for_approval(&self, call: &PendingCall) -> bool {
        let asks = || self.here.rulings.get(&call.idempotency_key).is_some_and(|ruling| ruling.decision == Decision::Ask);
        (call.approve.is_some() || asks()) && !self.is_approved(call)
    }

    /// Since when somebody is asked about this call, for its result or its approval: since its delay was over, or since it was approved.
    pub fn asked_at(&self, call: &PendingCall) -> u64 {
        let made = self.here.waits.get(&call.id).copied().unwrap_or(self.here.stepped_at);
        let asked = made.saturating_add(call.delay);
        let approved = self.here.approved.iter().find(|approved| approved.key == call.idempotency_key);
        approved.map_or(asked, |approved| approved.at.max(asked))
    }

    /// The open parts of the pending call, if it has any.
    pub fn open_parts(&self) -> Option<(Call, Vec<Call>)> {
        self.here.state.pending_tool_call.as_ref()?.kind.parts()?;
        match self.engine.render(&self.here.state).ok()?.next {
            Next::Parts { whole, open } => Some((whole, open)),
            _ => None,
        }
    }

    /// Whether this call was approved.
    pub fn is_approved(&self, call: &PendingCall) -> bool {
        self.here.approved.iter().any(|approved| approved.key == call.idempotency_key)
    }

    /// The time, which never goes back while the session is in memory, whatever the clock does.
    fn now(&self) -> u64 {
        self.clock.now().max(self.here.at)
    }

    /// Its engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// When the current node was entered, in milliseconds since 1970: its `timeout` counts from here.
    pub fn entered_at(&self) -> u64 {
        self.here.entered_at
    }

    /// When the last step was taken, likewise: the delay of a pending call counts from here.
    pub fn stepped_at(&self) -> u64 {
        self.here.stepped_at
    }

    /// Whether an input waits for a predicate.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Raises a signal; short for [`Session::send`].
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn signal(&mut self, signal: &SignalName) -> Result<(), NavigateError> {
        self.send(Input::Signal(signal.clone()))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("state", &self.here.state).field("records", &self.journal.next_seq()).finish_non_exhaustive()
    }
}
