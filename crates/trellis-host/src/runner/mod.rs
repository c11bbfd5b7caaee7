//! The runner: [`Sessions`] and a console, until the end.
//!
//! It shows the content of nodes, asks, hands in the answers, turns Ctrl-C into signals and passes edits of the graph on. The steps between two
//! questions are those of [`Sessions`].
//!
//! **Invariant:** a refusal costs nothing: it is reported, and the question asked again. An edit never comes between a question and its answer.

mod branches;
pub mod choose;
mod console;
mod held;
mod json;
mod lines;
mod notes;
mod stream;
mod summary;
mod text;
mod turns;

use std::io;

use tokio::sync::mpsc;
use trellis_core::{Engine, SessionId, SignalName, Start, Value, engine::StartError, state::EndReason};

use self::{
    branches::{Branches, HeldText},
    held::HeldSignals,
};
pub use self::{
    choose::answer,
    console::{Asking, Awaited, Command, Console, Findings, Note, Reloaded, RunSummary},
    json::JsonLines,
    summary::leaves_something,
    text::TextConsole,
};
use crate::{
    binding::Bindings,
    session::Session,
    sessions::{SendError, SessionEvent, Sessions},
};

/// The reason why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The session ended in success.
    Finished,
    /// The session failed, or could not continue.
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

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The reason why it is over.
    pub reason: Reason,
    /// The value that the session ended with.
    pub output: Option<Value>,
    /// The session; `None` if the run was over before it began.
    pub session: Option<Session>,
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The session could not begin.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A session of that name exists, so none can begin.
    #[error("there is a session `{0}` already")]
    Exists(SessionId),
    /// The session could not be loaded, or could not be stored at its start.
    #[error(transparent)]
    Refused(SendError),
    /// The console is gone.
    #[error("the console cannot be reached: {0}")]
    Console(#[from] io::Error),
}

/// The result of saving the files of a graph.
#[derive(Debug)]
pub enum Edit {
    /// It is sound.
    Sound {
        /// The graph as it is now.
        engine: Engine,
        /// The bindings that carry its calls out.
        bindings: Box<Bindings>,
        /// A further remark about it, in one line: that a script changed, which no program shows.
        script_note: Option<String>,
    },
    /// It is broken; an older version stays in use.
    Broken {
        /// The findings.
        findings: Findings,
        /// The time at which the version in use was taken up, in milliseconds since 1970.
        since: u64,
    },
}

/// Walks sessions over a console.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use trellis_core::Start;
/// use trellis_host::{Bindings, Reason, Runner, Sessions, TextConsole};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let mut output = Vec::new();
/// let console = TextConsole::new(&b"Ana\n"[..], &mut output, 1024, 1024);
/// let outcome = Runner::new(console, Sessions::new(engine, Bindings::none())?).run(Start::default()).await?;
/// assert!(matches!(outcome.reason, Reason::Finished));
/// assert!(String::from_utf8(output)?.contains("Hello Ana."));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Runner<C> {
    console: C,
    sessions: Sessions,
    signals: mpsc::Receiver<SignalName>,
    edits: mpsc::Receiver<Edit>,
    events: mpsc::UnboundedReceiver<SessionEvent>,
    edited: Edited,
    held: HeldSignals,
    branches: Branches,
}

/// The message when a session takes an edit up.
#[derive(Debug, Default)]
struct Edited {
    /// True if the last edit broke the graph.
    broken: bool,
    script_note: Option<String>,
}

impl<C: Console> Runner<C> {
    /// A runner of `sessions` over a console.
    pub fn new(console: C, sessions: Sessions) -> Self {
        let sessions = sessions.walked();
        let (sender, events) = mpsc::unbounded_channel();
        sessions.observe(move |_, event| {
            // A runner that is gone wants to know nothing.
            let _ = sender.send(event.clone());
        });
        Self {
            console,
            sessions,
            signals: mpsc::channel(1).1,
            edits: mpsc::channel(1).1,
            events,
            edited: Edited::default(),
            held: HeldSignals::default(),
            branches: Branches::default(),
        }
    }

    /// Takes signals such as `interrupt` for Ctrl-C.
    #[must_use]
    pub fn signals(self, signals: mpsc::Receiver<SignalName>) -> Self {
        Self { signals, ..self }
    }

    /// Takes edits of the graph.
    #[must_use]
    pub fn edits(self, edits: mpsc::Receiver<Edit>) -> Self {
        Self { edits, ..self }
    }

    /// Starts a session, or resumes the stored one of that name, and advances it to the end, the end of input, or an interrupt that nothing handles.
    ///
    /// # Errors
    /// The start is refused, or the console is gone.
    pub async fn run(mut self, start: Start) -> Result<Outcome, RunError> {
        let id = start.session.clone().unwrap_or_else(|| SessionId::from("local"));
        let summary = self.walk(&id, start).await?;
        let rest = self.branches.rest();
        self.say(rest).await?;
        self.console.note(Note::End(&summary)).await?;
        Ok(Outcome { reason: summary.reason, output: summary.output().cloned(), session: self.sessions.close(&id) })
    }

    /// Shows something that happened; `see` looks up the name of a child.
    async fn show(
        console: &mut C,
        event: &SessionEvent,
        branches: &mut Branches,
        see: impl FnOnce(&mut Branches, &SessionId),
        edited: &mut Edited,
    ) -> io::Result<()> {
        let (child, event) = event.split();
        if let Some(child) = child {
            see(branches, child);
        }
        if let SessionEvent::Calling(call) = event {
            branches.learn(call, child);
        }
        if console.groups_questions() {
            if let (Some(child), SessionEvent::Said(text)) = (child, event)
                && branches.hold(child, text)
            {
                return Ok(());
            }
            let before = branches.before(child, event);
            Self::show_held(console, branches, before).await?;
        }
        console.about(child, child.and_then(|child| branches.name(child)));
        let note = match event {
            SessionEvent::Said(content) => Note::Content(content),
            SessionEvent::Invalid(message) => Note::Error { code: "invalid-input", message },
            SessionEvent::Calling(call) => Note::Call(call),
            SessionEvent::Progress(call, line) => Note::Progress(call, line),
            SessionEvent::Delta(call, delta) => Note::Delta(call, delta),
            SessionEvent::Ruled(call, decided) => Note::Policy(call, decided),
            SessionEvent::Returned(call, result) => Note::Result(call, result),
            SessionEvent::Sleeping(left) => Note::Sleep(*left),
            SessionEvent::Trouble(code, message) => Note::Error { code, message },
            SessionEvent::Adopted(moved) => {
                let Edited { broken: healed, script_note } = std::mem::take(edited);
                let said = moved.iter().map(|moved| &**moved).chain(script_note.as_deref()).collect::<Vec<_>>().join("; ");
                let moved = (!said.is_empty()).then_some(&*said);
                return console.note(Note::Reload(&Reloaded::Sound { healed, moved })).await;
            }
            SessionEvent::Refused(call, why) => Note::Refused(call, why),
            SessionEvent::RollingBack { node, why } => Note::RollingBack { node, why: why.as_deref() },
            SessionEvent::Given(..) | SessionEvent::Recorded(_) | SessionEvent::InChild(..) => return Ok(()),
        };
        console.note(note).await
    }

    /// Shows texts that branches said.
    async fn say(&mut self, texts: Vec<HeldText>) -> io::Result<()> {
        Self::show_held(&mut self.console, &self.branches, texts).await
    }

    async fn show_held(console: &mut C, branches: &Branches, texts: Vec<HeldText>) -> io::Result<()> {
        for (child, text) in texts {
            console.about(Some(&child), branches.name(&child));
            console.note(Note::Content(&text)).await?;
        }
        Ok(())
    }

    /// Reports the reason of a refusal.
    async fn refuse(&mut self, refusal: &SendError) -> io::Result<()> {
        self.console.note(Note::Error { code: refusal.line_code(), message: &refusal.to_string() }).await
    }
}
