//! Waiting: for the other end, for signals, for time, for a tool; whatever comes first.

use std::{io, sync::Arc};

use tokio::{sync::mpsc, time::Instant};
use trellis_core::{Engine, Input, NavigateError, SignalName, ToolOutcome, state::PendingCall};

use super::{Awaited, Command, Console, Note, Reason, RunError, Runner};
use crate::{binding::Stop, session::Session};

/// What came first.
pub(super) enum Heard {
    Command(Command),
    Signal(SignalName),
    TimeUp,
}

/// What became of waiting for an answer.
pub(super) enum Reply {
    /// What was awaited.
    Given(Command),
    TimeUp,
    /// A signal moved the session: what was awaited is no longer.
    Moved,
    Over(Reason),
}

/// What became of a tool that was carried out here.
pub(super) enum Carried {
    Out(ToolOutcome),
    /// A signal moved the session. The tool was stopped, and may have said what it did.
    Moved(Option<ToolOutcome>),
    /// The run is over, likewise.
    Over(Reason, Option<ToolOutcome>),
}

/// What became of raising a signal.
enum Raised {
    Moved,
    Ignored,
    Over(Reason),
}

/// Signals come before lines, so that fast input cannot hold them up.
pub(super) async fn hear<C: Console>(
    console: &mut C,
    signals: &mut mpsc::Receiver<SignalName>,
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
        command = console.read(awaited) => Ok(match command? {
            Command::Signal(signal) => Heard::Signal(signal),
            command => Heard::Command(command),
        }),
        () = time => Ok(Heard::TimeUp),
    }
}

impl<C: Console> Runner<C> {
    /// Asks, and waits until what is awaited comes; what else comes is dealt with here.
    pub(super) async fn reply(
        &mut self,
        mut session: Option<&mut Session>,
        awaited: Awaited<'_>,
        until: Option<Instant>,
        mut again: bool,
    ) -> Result<Reply, RunError> {
        loop {
            self.console.ask(awaited, again).await?;
            again = true;
            match hear(&mut self.console, &mut self.signals, awaited, until).await? {
                Heard::TimeUp => return Ok(Reply::TimeUp),
                Heard::Signal(signal) => match self.raise(session.as_deref_mut(), &signal).await? {
                    Raised::Moved => return Ok(Reply::Moved),
                    Raised::Over(reason) => return Ok(Reply::Over(reason)),
                    Raised::Ignored => {}
                },
                Heard::Command(Command::End) => return Ok(Reply::Over(Reason::EndOfInput)),
                Heard::Command(command) if answers(awaited, &command) => return Ok(Reply::Given(command)),
                Heard::Command(command) => self.aside(session.as_deref_mut(), awaited, command).await?,
            }
        }
    }

    /// Deals with something that was not awaited. It never moves the session.
    async fn aside(&mut self, session: Option<&mut Session>, awaited: Awaited<'_>, command: Command) -> Result<(), RunError> {
        let expected = expected(awaited);
        let got = match command {
            Command::Bad { code, message } => return Ok(self.console.note(Note::Error { code, message: &message }).await?),
            Command::Result(result) => {
                let pending = session.as_ref().and_then(|session| session.state().pending_tool_call.as_deref());
                // The pending call waits for its approval first.
                let pending = pending.is_some_and(|pending| pending.id == result.id);
                match session.filter(|_| !pending) {
                    Some(session) => match session.send(Input::Result(result)) {
                        Ok(()) => return Ok(()),
                        Err(refusal) => return self.refuse(&refusal).await,
                    },
                    None => "a result",
                }
            }
            Command::Input(_) => "an input",
            Command::Approve { .. } => "an approval",
            Command::Predicate { .. } => "the answer to a predicate",
            Command::Signal(_) | Command::End => "this",
        };
        let message = format!("{expected} is awaited, not {got}");
        Ok(self.console.note(Note::Error { code: "wrong-kind", message: &message }).await?)
    }

    /// Raises a signal; an interrupt that nothing handles ends the run.
    async fn raise(&mut self, session: Option<&mut Session>, signal: &SignalName) -> Result<Raised, RunError> {
        let refusal = match session {
            None => None,
            Some(session) => match session.signal(signal) {
                Ok(()) => return Ok(Raised::Moved),
                Err(refusal) => Some(refusal),
            },
        };
        if signal.as_str() == SignalName::INTERRUPT {
            return Ok(Raised::Over(Reason::Interrupted));
        }
        match refusal {
            Some(refusal) => self.refuse(&refusal).await?,
            None => {
                let message = format!("the session has not begun; nothing handles the signal `{signal}`");
                self.console.note(Note::Error { code: "unhandled-signal", message: &message }).await?;
            }
        }
        Ok(Raised::Ignored)
    }

    /// Lets time pass; only signals cut it short.
    pub(super) async fn pause(&mut self, session: &mut Session, until: Instant) -> Result<Reply, RunError> {
        loop {
            match hear(&mut self.console, &mut self.signals, Awaited::Nothing, Some(until)).await? {
                Heard::TimeUp => return Ok(Reply::TimeUp),
                Heard::Command(command) => self.aside(Some(session), Awaited::Nothing, command).await?,
                Heard::Signal(signal) => match self.raise(Some(session), &signal).await? {
                    Raised::Moved => return Ok(Reply::Moved),
                    Raised::Over(reason) => return Ok(Reply::Over(reason)),
                    Raised::Ignored => {}
                },
            }
        }
    }

    /// Carries a call out. A signal that the session takes, and an interrupt that it does not, stop the tool; a second interrupt does not wait for it.
    pub(super) async fn carry_out(
        &mut self,
        engine: &Engine,
        mut session: Option<&mut Session>,
        call: &PendingCall,
    ) -> Result<Carried, RunError> {
        let stop = Stop::new();
        let bindings = Arc::clone(&self.bindings);
        let mut work = std::pin::pin!(bindings.call(engine.inspect(), call, &stop));
        loop {
            let heard = tokio::select! {
                outcome = &mut work => return Ok(Carried::Out(outcome)),
                heard = hear(&mut self.console, &mut self.signals, Awaited::Nothing, None) => heard?,
            };
            let raised = match heard {
                Heard::Signal(signal) => self.raise(session.as_deref_mut(), &signal).await?,
                Heard::Command(command) => {
                    self.aside(session.as_deref_mut(), Awaited::Nothing, command).await?;
                    Raised::Ignored
                }
                Heard::TimeUp => Raised::Ignored,
            };
            if matches!(raised, Raised::Ignored) {
                continue;
            }
            stop.now();
            let outcome = tokio::select! {
                outcome = &mut work => Some(outcome),
                Some(_) = self.signals.recv() => None,
            };
            return Ok(match raised {
                Raised::Over(reason) => Carried::Over(reason, outcome),
                _ => Carried::Moved(outcome),
            });
        }
    }

    /// Says why something was refused.
    pub(super) async fn refuse(&mut self, refusal: &NavigateError) -> Result<(), RunError> {
        let code = match refusal {
            NavigateError::Invalid { .. } => "invalid-input",
            NavigateError::TooLarge { .. } => "input-too-large",
            NavigateError::WrongKind { .. } => "wrong-kind",
            NavigateError::ForeignCall { .. } => "foreign-call",
            NavigateError::UnhandledSignal { .. } => "unhandled-signal",
            NavigateError::Ended { .. } => "ended",
            NavigateError::Unanswered(_) => "unanswered-predicate",
            NavigateError::Unadopted(_) => "unadopted",
        };
        Ok(self.console.note(Note::Error { code, message: &refusal.to_string() }).await?)
    }
}

/// Whether a command is what is awaited.
fn answers(awaited: Awaited<'_>, command: &Command) -> bool {
    match (awaited, command) {
        (Awaited::Input(_), Command::Input(_)) => true,
        (Awaited::Approval(call), Command::Approve { id, .. }) => id.as_ref().is_none_or(|id| id == call.id.as_str()),
        (Awaited::Result(call), Command::Result(result)) => result.id == call.id,
        (Awaited::Predicate { id, .. }, Command::Predicate { id: answered, .. }) => id == answered,
        _ => false,
    }
}

fn expected(awaited: Awaited<'_>) -> String {
    match awaited {
        Awaited::Input(_) => "an input".to_owned(),
        Awaited::Approval(call) => format!("the approval of call `{}`", call.id),
        Awaited::Result(call) => format!("the result of call `{}`", call.id),
        Awaited::Predicate { name, .. } => format!("the answer to the predicate `{name}`"),
        Awaited::Nothing => "nothing".to_owned(),
    }
}
