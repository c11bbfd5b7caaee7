//! The runner: a session and a console, until the end.
//!
//! It walks a session, shows what nodes say, asks, carries calls out through bindings, sleeps, and turns Ctrl-C and timeouts into signals.
//!
//! **Invariant:** a refusal costs nothing: it is said, and asked again.

mod call;
pub mod choose;
mod console;
mod json;
mod lines;
mod predicate;
mod text;
mod wait;

use std::{io, ops::ControlFlow, sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::Instant};
use trellis_core::{
    Engine, Input, Predicates, Program, SignalName, Start, Value,
    engine::{Answers, EndView, Request, RequestType, StartError},
    id::IdempotencyKey,
    program::PredicateSource,
    state::EndReason,
};

use self::wait::Reply;
pub use self::{
    console::{Awaited, Command, Console, Farewell, Note},
    json::JsonLines,
    text::TextConsole,
};
use crate::{
    binding::Bindings,
    journal::Clock,
    session::{Session, SessionError, Turn},
};

/// What a runner may do by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Calls that need an approval have it (`--yes`).
    pub approve_all: bool,
    /// What becomes of calls that nothing here carries out.
    pub unbound: Unbound,
}

/// What becomes of calls that nothing here carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unbound {
    /// The other end carries them out, within the call's timeout: JSON Lines.
    #[default]
    Elsewhere,
    /// A person types their result in and takes the time they need: a terminal.
    TypedIn,
    /// They fail: a pipe.
    Fail,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The session ended in success.
    Finished,
    /// The session failed, or could not go on.
    Failed,
    /// A call was denied and nothing handled it.
    Denied,
    /// Everything was unwound.
    RolledBack,
    /// There is no more input; the session stays waiting.
    EndOfInput,
    /// Ctrl-C, and nothing handled it; the session stays waiting.
    Interrupted,
}

impl Reason {
    /// As JSON Lines have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::RolledBack => "rolled_back",
            Self::EndOfInput => "end_of_input",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<EndReason> for Reason {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Finished => Self::Finished,
            EndReason::Failed => Self::Failed,
            EndReason::Denied => Self::Denied,
            EndReason::RolledBack => Self::RolledBack,
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// Why it is over.
    pub reason: Reason,
    /// The value that the session ended with.
    pub output: Option<Value>,
    /// The session; nothing where the run was over before it began.
    pub session: Option<Session>,
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The session could not begin.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The console is gone.
    #[error("the console cannot be reached: {0}")]
    Console(#[from] io::Error),
}

/// Walks sessions over a console.
pub struct Runner<C> {
    console: C,
    bindings: Arc<Bindings>,
    policy: Policy,
    clock: Clock,
    signals: mpsc::Receiver<SignalName>,
    /// The call that was approved last: its further attempts are the same call.
    approved: Option<IdempotencyKey>,
}

/// Whether to go on, or why not.
type Flow = ControlFlow<Reason>;

/// Predicates for an engine that a runner walks: bindings and the console answer them step by step (language 6.2).
pub fn deferred_predicates(program: &Program) -> Predicates {
    let asked = program.predicates().iter().filter(|predicate| !matches!(predicate.source, PredicateSource::Schema(_)));
    asked.fold(Predicates::new(), |known, predicate| known.deferred(&predicate.name))
}

impl<C: Console> Runner<C> {
    /// A runner over a console, which carries calls out with `bindings`.
    pub fn new(console: C, bindings: Bindings) -> Self {
        let (_, signals) = mpsc::channel(1);
        Self { console, bindings: Arc::new(bindings), policy: Policy::default(), clock: Clock::system(), signals, approved: None }
    }

    /// The same with another policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The same with another clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The same, taking signals such as `interrupt` for Ctrl-C.
    #[must_use]
    pub fn signals(self, signals: mpsc::Receiver<SignalName>) -> Self {
        Self { signals, ..self }
    }

    /// Starts a session and walks it to the end, the end of input, or an interrupt that nothing handles.
    ///
    /// # Errors
    /// The start is refused, or the console is gone.
    pub async fn run(mut self, engine: Engine, start: Start) -> Result<Outcome, RunError> {
        let mut session = match self.start(engine, start).await? {
            ControlFlow::Continue(session) => session,
            ControlFlow::Break(reason) => return self.end(reason, None, None, None).await,
        };
        loop {
            let turn = match session.advance() {
                Ok(turn) => turn,
                Err(stuck) => return self.stuck(session, &stuck).await,
            };
            let flow = match turn {
                Turn::Said { content, .. } => {
                    self.console.note(Note::Content(&content)).await?;
                    Flow::Continue(())
                }
                Turn::Invalid(message) => {
                    self.console.note(Note::Error { code: "invalid-input", message: &message }).await?;
                    Flow::Continue(())
                }
                Turn::Ask(request) if matches!(request.input_type, RequestType::None(_)) => self.sleep(&mut session, &request).await?,
                Turn::Ask(request) => self.question(&mut session, &request).await?,
                Turn::Call(call) => self.call(&mut session, &call).await?,
                Turn::Predicate(name) => self.predicate(&mut session, &name).await?,
                Turn::Ended(ended) => return self.end(ended.reason.into(), Some(session), Some(ended), None).await,
            };
            if let Flow::Break(reason) = flow {
                let message = match reason {
                    Reason::EndOfInput => Some(format!("the input ended while `{}` was waiting", session.state().current_node_id)),
                    _ => None,
                };
                return self.end(reason, Some(session), None, message).await;
            }
        }
    }

    /// Begins the session; its entry may ask for predicates first.
    async fn start(&mut self, engine: Engine, start: Start) -> Result<ControlFlow<Reason, Session>, RunError> {
        let mut answers = Answers::new();
        loop {
            match Session::start(engine.clone(), start.clone(), answers.clone(), self.clock.clone()) {
                Ok(session) => return Ok(ControlFlow::Continue(session)),
                Err(StartError::Unanswered(name)) => match self.find_out_first(&engine, &start, &name).await? {
                    ControlFlow::Continue(truth) => answers.insert(name, truth),
                    ControlFlow::Break(reason) => return Ok(ControlFlow::Break(reason)),
                },
                Err(refused) => return Err(refused.into()),
            };
        }
    }

    /// Asks, until an answer is taken.
    async fn question(&mut self, session: &mut Session, request: &Request) -> Result<Flow, RunError> {
        let left = |timeout: Duration| timeout.saturating_sub(Duration::from_millis(session.waited()));
        let mut until = request.timeout.map(|timeout| Instant::now() + left(timeout));
        let mut again = false;
        loop {
            let sent = match self.reply(Some(session), Awaited::Input(request), until, again).await? {
                Reply::Given(Command::Input(input)) => session.send(input),
                Reply::Given(_) => Ok(()),
                Reply::TimeUp => {
                    until = None;
                    session.signal(&SignalName::TIMEOUT.into())
                }
                Reply::Moved => return Ok(Flow::Continue(())),
                Reply::Over(reason) => return Ok(Flow::Break(reason)),
            };
            match sent {
                Ok(()) => return Ok(Flow::Continue(())),
                Err(refusal) => self.refuse(&refusal).await?,
            }
            again = true;
        }
    }

    /// Sleeps; only signals wake it early.
    async fn sleep(&mut self, session: &mut Session, request: &Request) -> Result<Flow, RunError> {
        let until = Instant::now() + request.timeout.unwrap_or_default().saturating_sub(Duration::from_millis(session.waited()));
        match self.pause(session, until).await? {
            Reply::Over(reason) => Ok(Flow::Break(reason)),
            Reply::Moved => Ok(Flow::Continue(())),
            Reply::TimeUp | Reply::Given(_) => self.hand_in(session, Input::Pass).await,
        }
    }

    /// Hands in what the session asked for; a refusal of that would repeat for ever, so it ends the run.
    async fn hand_in(&mut self, session: &mut Session, input: Input) -> Result<Flow, RunError> {
        match session.send(input) {
            Ok(()) => Ok(Flow::Continue(())),
            Err(refusal) => {
                self.refuse(&refusal).await?;
                Ok(Flow::Break(Reason::Failed))
            }
        }
    }

    async fn stuck(mut self, session: Session, stuck: &SessionError) -> Result<Outcome, RunError> {
        let code = match stuck {
            SessionError::PassThrough { .. } => "pass-through",
            SessionError::Render(_) => "render",
            SessionError::Refused(_) => "refused",
        };
        self.console.note(Note::Error { code, message: &stuck.to_string() }).await?;
        self.end(Reason::Failed, Some(session), None, Some(stuck.to_string())).await
    }

    async fn end(
        mut self,
        reason: Reason,
        session: Option<Session>,
        ended: Option<EndView>,
        message: Option<String>,
    ) -> Result<Outcome, RunError> {
        let farewell = Farewell { reason, ended, message };
        self.console.note(Note::End(&farewell)).await?;
        Ok(Outcome { reason, output: farewell.output().cloned(), session })
    }
}
