//! The loop of turns: the awaited input is requested, and each answer handed in.
//!
//! Commands come before edits, so that an answer is taken by the program that asked for it; signals come before both.

use std::{io, ops::ControlFlow, time::Duration};

use tokio::{
    sync::mpsc::{self, error::TryRecvError},
    time::Instant,
};
use trellis_core::{Input, NodeId, SessionId, SignalName, Start, id::CallId};

use super::{
    Asking, Awaited, Branches, Command, Console, Edit, Edited, Note, Reason, Reloaded, RunError, RunSummary, Runner,
    held::{Raised, Work, has_begun, is_interrupt, poll_once},
};
use crate::{
    sessions::{Reply, SendError, Sent, Sessions, Stop, Turn, Waiting},
    store::StoreError,
};

/// The number of times in a row that a run continues after another writer advanced its session.
const MAX_RUN_CONFLICTS: usize = 8;

/// The first of several events.
enum Heard {
    Command(Command),
    Signal(SignalName),
    Edit(Edit),
    TimeUp,
}

/// The next step of a session.
enum Onward {
    Reply(Sent),
    Resume,
}

/// The needs of a session, and the other waits in its tree.
type Stops = (Waiting, std::sync::Arc<Vec<Waiting>>);

type Flow<T> = ControlFlow<RunSummary, T>;

impl<C: Console> Runner<C> {
    /// Advances a session to its end, or to a stop without an answer.
    pub(super) async fn walk(&mut self, id: &SessionId, start: Start) -> Result<RunSummary, RunError> {
        let mut onward = None;
        let mut start = Some(start);
        // The last question, and its number.
        let mut asked: Option<(u64, Stops)> = None;
        let mut conflicts = 0;
        loop {
            let reply = onward.take();
            let is_answer = matches!(reply, Some(Onward::Reply(_)));
            let turn = match self.busy(id, start.take(), reply).await? {
                ControlFlow::Continue(turn) => turn,
                ControlFlow::Break(summary) => return Ok(summary),
            };
            let turn = match turn {
                // The answer was refused, and this question replaces the earlier one.
                Err(refusal @ (SendError::Stale(_) | SendError::TooLate(_))) => {
                    self.refuse(&refusal).await?;
                    match refusal {
                        SendError::Stale(turn) | SendError::TooLate(turn) => Ok(*turn),
                        refusal => Err(refusal),
                    }
                }
                turn => turn,
            };
            let (seq, (stop, others), again) = match turn {
                Ok(Turn { stop: Stop::Ended(ended), .. }) => {
                    let program = self.sessions.look(id, |session| session.engine().clone());
                    let summary = program.map(|engine| RunSummary::ended(std::sync::Arc::clone(&ended), engine.inspect()));
                    return Ok(summary.unwrap_or_else(|| RunSummary::stopped(ended.reason.into(), None)));
                }
                Ok(turn) => {
                    let (seq, stop, others) = (turn.asked, turn.first(), std::sync::Arc::clone(&turn.others));
                    let again = asked.as_ref().is_some_and(|(at, (asked, _))| *at == seq && is_same(&asked.stop, &stop.stop));
                    conflicts = 0;
                    (seq, (stop, others), again)
                }
                Err(SendError::Start(refused)) => return Err(refused.into()),
                Err(SendError::Exists(id)) => return Err(RunError::Exists(id)),
                Err(refusal @ (SendError::BadName(_) | SendError::OtherGraph { .. } | SendError::Unfit { .. })) => {
                    return Err(RunError::Refused(refusal));
                }
                // Another writer advanced it: the run continues from there.
                Err(refusal @ SendError::Store(StoreError::Conflict { .. })) if conflicts < MAX_RUN_CONFLICTS => {
                    conflicts += 1;
                    if is_answer {
                        self.refuse(&refusal).await?;
                    }
                    onward = Some(Onward::Resume);
                    continue;
                }
                Err(SendError::Store(error)) if !is_answer || !self.console.can_repeat() => return Err(RunError::Refused(error.into())),
                Err(SendError::Stopped) => return Ok(RunSummary::stopped(Reason::Interrupted, None)),
                Err(refusal) => {
                    self.refuse(&refusal).await?;
                    match (&asked, is_answer && !matches!(refusal, SendError::Stuck(_))) {
                        (Some((seq, stop)), true) if !matches!(refusal, SendError::Store(_)) => (*seq, stop.clone(), true),
                        (_, true) => {
                            onward = Some(Onward::Resume);
                            continue;
                        }
                        (_, false) => return Ok(RunSummary::stopped(Reason::Failed, Some(refusal.to_string()))),
                    }
                }
            };
            onward = match self.answer(id, seq, (&stop, &others), again).await? {
                ControlFlow::Continue(onward) => Some(onward),
                ControlFlow::Break(summary) => return Ok(summary),
            };
            asked = Some((seq, (stop, others)));
        }
    }

    /// Lets the session continue, and shows its events meanwhile. A signal that it handles moves it; an interrupt that it does not handle stops
    /// it, and a second one does not wait for its work. A signal that comes before the session waits is held.
    async fn busy(
        &mut self,
        id: &SessionId,
        start: Option<Start>,
        onward: Option<Onward>,
    ) -> Result<Flow<Result<Turn, SendError>>, RunError> {
        let Self { console, sessions, signals, edits, events, edited, held, branches } = self;
        let mut work: Work<'_> = match (start, onward) {
            (Some(start), _) => Box::pin(sessions.start_or_resume(start)),
            (None, Some(Onward::Reply(reply))) => Box::pin(sessions.send(id, reply)),
            (None, _) => Box::pin(sessions.resume(id)),
        };
        // A child of a session that was stored began before.
        let seen = |branches: &mut Branches, child: &SessionId| {
            sessions.look(id, |session| branches.look(child, session));
        };
        let (mut stopping, mut hung_up, mut moved) = (false, false, false);
        // Most stretches are over at once: nothing can be heard meanwhile.
        let mut done = poll_once(&mut work).await;
        while done.is_none() {
            tokio::select! {
                biased;
                Some(event) = events.recv() => Self::show(console, &event, branches, seen, edited).await?,
                turn = &mut work => done = Some(turn),
                Some(signal) = signals.recv() => held.push(signal),
                Some(edit) = edits.recv() => {
                    take_edit(console, sessions, edited, edit).await?;
                }
                command = console.read(Awaited::Nothing), if !hung_up => match command? {
                    Command::Signal(signal) => held.push(signal),
                    Command::End => hung_up = true,
                    _ => {}
                },
            }
            while done.is_none()
                && let Some(raised) = held.raise(sessions, id, &mut work, &mut done).await
            {
                match raised {
                    Raised::Taken => moved = true,
                    Raised::TooEarly if held.is_urgent() => return Ok(interrupted()),
                    Raised::TooEarly => break,
                    Raised::Refused(signal, refusal) if !is_interrupt(&signal) => {
                        console.note(Note::Error { code: refusal.line_code(), message: &refusal.to_string() }).await?;
                    }
                    Raised::Refused(_, SendError::NotBegun(_)) => return Ok(interrupted()),
                    Raised::Refused(..) if stopping => return Ok(interrupted()),
                    Raised::Refused(..) => stopping = true,
                }
            }
            // Again and again: it may have begun to do something else before it heard of it.
            if done.is_none() && (stopping || hung_up) && has_begun(sessions, id) {
                sessions.pause(id).ok();
            }
            // It may have been moved past the stop that it reached.
            if moved && done.as_ref().is_some_and(is_waiting) {
                moved = false;
                work = Box::pin(sessions.resume(id));
                done = poll_once(&mut work).await;
            }
        }
        drop(work);
        while let Ok(event) = events.try_recv() {
            Self::show(console, &event, branches, seen, edited).await?;
        }
        Ok(match done {
            Some(turn) if stopping && is_waiting(&turn) => interrupted(),
            Some(done) => Flow::Continue(done),
            None => interrupted(),
        })
    }

    /// Asks for the needs of the session, until there is an input that can be handed in, or a new question. Waits of other parts of a call
    /// are shown with it.
    async fn answer(
        &mut self,
        id: &SessionId,
        seq: u64,
        (waiting, others): (&Waiting, &[Waiting]),
        mut again: bool,
    ) -> Result<Flow<Onward>, RunError> {
        let stop = &waiting.stop;
        let by = if let Stop::Approve { call, .. } = stop { self.sessions.carrier(call) } else { None };
        let awaited = Awaited::of(stop, by.as_deref());
        let due = std::iter::once(waiting).chain(others).filter_map(|waiting| waiting.stop.acts_at()).min();
        let until = due.and_then(|due| Instant::now().checked_add(self.sessions.until(due)));
        let holds = std::iter::once(waiting).chain(others).any(|waiting| matches!(waiting.stop, Stop::Approve { .. }));
        let mut others = Some(others);
        loop {
            let left = stop.due().map(|due| self.sessions.until(due));
            let beside = others.take();
            let is_grouped = self.console.groups_questions();
            if let Some(others) = beside.filter(|_| is_grouped) {
                let before = self.branches.before_question(others);
                self.say(before).await?;
                self.console.note(Note::Awaiting(others)).await?;
            }
            let child = waiting.child.as_ref();
            if let Some(child) = child {
                self.sessions.look(id, |session| self.branches.look(child, session));
            }
            self.console.about(child, child.and_then(|child| self.branches.name(child)));
            self.console.ask(awaited, Asking { left, again, seq }).await?;
            if let Some(others) = beside.filter(|_| !is_grouped) {
                self.console.note(Note::Awaiting(others)).await?;
                self.console.about(child, child.and_then(|child| self.branches.name(child)));
            }
            again = true;
            let heard = match self.held.pop() {
                Some(signal) => Heard::Signal(signal),
                None => {
                    let heard = hear(&mut self.console, &mut self.signals, &mut self.edits, awaited, until);
                    // A held call may be decided elsewhere (language 11.5).
                    let news = decided_elsewhere(&self.sessions, id, holds);
                    tokio::select! {
                        biased;
                        heard = heard => heard?,
                        () = news => Heard::TimeUp,
                    }
                }
            };
            let signal = match heard {
                Heard::TimeUp => return Ok(Flow::Continue(Onward::Resume)),
                Heard::Signal(signal) => signal,
                Heard::Edit(edit) => {
                    if take_edit(&mut self.console, &self.sessions, &mut self.edited, edit).await? {
                        return Ok(Flow::Continue(Onward::Resume));
                    }
                    continue;
                }
                Heard::Command(Command::Signal(signal)) => signal,
                Heard::Command(Command::End) => return Ok(Flow::Break(self.end_of_input(id))),
                Heard::Command(Command::Bad { code, message }) => {
                    self.console.note(Note::Error { code, message: &message }).await?;
                    continue;
                }
                Heard::Command(command) => match sent(command, waiting, seq) {
                    Some(sent) => return Ok(Flow::Continue(Onward::Reply(sent))),
                    None => continue,
                },
            };
            match self.sessions.signal(id, &signal).await {
                Ok(()) => return Ok(Flow::Continue(Onward::Resume)),
                Err(_) if is_interrupt(&signal) => return Ok(interrupted()),
                Err(refusal) => self.refuse(&refusal).await?,
            }
        }
    }

    fn end_of_input(&self, id: &SessionId) -> RunSummary {
        let node: Option<NodeId> = self.sessions.look(id, |session| session.state().current_node_id.clone());
        let message = node.map(|node| format!("the input ended while `{node}` was waiting"));
        RunSummary::stopped(Reason::EndOfInput, message)
    }
}

/// Returns whether the session came to a stop that is not its end.
fn is_waiting(turn: &Result<Turn, SendError>) -> bool {
    match turn {
        Ok(turn) => !matches!(turn.stop, Stop::Ended(_)),
        Err(SendError::Stale(turn) | SendError::TooLate(turn)) => !matches!(turn.stop, Stop::Ended(_)),
        Err(_) => false,
    }
}

fn interrupted<T>() -> Flow<T> {
    Flow::Break(RunSummary::stopped(Reason::Interrupted, None))
}

/// Takes up an edit; returns whether there is another program now.
async fn take_edit<C: Console>(console: &mut C, sessions: &Sessions, edited: &mut Edited, edit: Edit) -> io::Result<bool> {
    match edit {
        Edit::Sound { engine, bindings, script_note } => {
            if let Err(vetoed) = sessions.swap(engine, *bindings).await {
                console.note(Note::Error { code: "vetoed", message: &vetoed.to_string() }).await?;
                return Ok(false);
            }
            edited.script_note = script_note;
            Ok(true)
        }
        Edit::Broken { findings, since } => {
            edited.broken = true;
            console.note(Note::Reload(&Reloaded::Broken { findings: &findings, since })).await?;
            Ok(false)
        }
    }
}

/// The interval at which a store is read for another decision about a held call.
const DECISION_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the store has more records of a session whose call is held; for ever if none is.
async fn decided_elsewhere(sessions: &Sessions, id: &SessionId, holds: bool) {
    if !holds {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(DECISION_POLL_INTERVAL).await;
        if sessions.has_news(id).await {
            return;
        }
    }
}

/// Returns the first event. Signals come before lines, so that fast input cannot delay them; edits come after, since a line may be the
/// answer to the last question.
async fn hear<C: Console>(
    console: &mut C,
    signals: &mut mpsc::Receiver<SignalName>,
    edits: &mut mpsc::Receiver<Edit>,
    awaited: Awaited<'_>,
    until: Option<Instant>,
) -> io::Result<Heard> {
    let time = async {
        match until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        Some(signal) = signals.recv() => Ok(Heard::Signal(signal)),
        command = console.read(awaited) => Ok(Heard::Command(command?)),
        Some(edit) = edits.recv() => Ok(Heard::Edit(newest(edit, edits))),
        () = time => Ok(Heard::TimeUp),
    }
}

/// Returns the last of the pending edits: the result of a save in between is obsolete.
fn newest(mut edit: Edit, edits: &mut mpsc::Receiver<Edit>) -> Edit {
    loop {
        match edits.try_recv() {
            Ok(newer) => edit = newer,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return edit,
        }
    }
}

/// Returns the input of a command, as the answer to the question of that number, if it names no other; `None` for commands without one.
fn sent(command: Command, asks: &Waiting, asked: u64) -> Option<Sent> {
    let (seq, to, command) = match command {
        // Another session of the tree has a number of its own.
        Command::Addressed { seq, to, answer } => (seq.or_else(|| to.is_none().then_some(asked)), to, *answer),
        command => (Some(asked), None, command),
    };
    reply(command).map(|reply| Sent { expected: seq, to: to.or_else(|| asks.child.clone()), reply })
}

/// Returns the input of a command; `None` for commands without one.
fn reply(command: Command) -> Option<Reply> {
    Some(match command {
        Command::Input(input) => Reply::Input(input),
        Command::Result(result) => Reply::Input(Input::Result(result)),
        Command::Approve { id, yes } => Reply::Approve { call: id.map(CallId::new), yes },
        Command::Predicate { id, value } => Reply::Predicate { id: id.into(), holds: value },
        Command::Context(keys) => Reply::Context(keys),
        Command::Keep(keeps_call) => Reply::Keep(keeps_call),
        Command::Signal(signal) => Reply::Input(Input::Signal(signal)),
        Command::Addressed { .. } | Command::Bad { .. } | Command::End => return None,
    })
}

/// Returns whether two stops ask for the same, whenever that is due.
fn is_same(one: &Stop, other: &Stop) -> bool {
    match (one, other) {
        (Stop::Ask { request: one, .. }, Stop::Ask { request: other, .. }) => one == other,
        (Stop::Call { call: one, .. }, Stop::Call { call: other, .. })
        | (Stop::Approve { call: one, .. }, Stop::Approve { call: other, .. }) => one == other,
        (one, other) => one == other,
    }
}
