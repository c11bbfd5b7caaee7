//! `run --watch`: sessions one after the other on one console, each with the newest program.
//!
//! The end of a session does not end the command. An edit of the node where it ended resumes it there, and so does any edit after a failure,
//! unless that would repeat an effect. The user can also start again.
//!
//! **Invariant:** a save never repeats an effect.

use std::{io, sync::Arc};

use tokio::sync::mpsc;
use trellis_core::{
    Document, Input, NodeId, Program, SessionId, SignalName, Start,
    engine::{OptionView, Request},
    program::Role,
};
use trellis_host::{
    Outcome, Reason, Runner, Session,
    assembly::{OpenStore, Runnable},
    runner::{Asking, Awaited, Command, Console, Note, Reloaded, RunError},
};

use super::reload::Reload;
use crate::{assemble::RunMode, recording::Taped};

/// The choice after an end.
const AGAIN: &str = "begin again";
const LEAVE: &str = "leave";

/// Sessions of a graph that is edited.
pub(crate) struct Player<C> {
    pub(crate) console: C,
    pub(crate) terms: RunMode,
    pub(crate) taped: Taped,
    pub(crate) ready: Runnable,
    pub(crate) store: Option<OpenStore>,
    /// The start of the first session.
    pub(crate) start: Start,
    pub(crate) news: mpsc::Receiver<Reload>,
    /// True if the graph was broken when it was saved last.
    pub(crate) broken: bool,
    /// The number of sessions that there were.
    pub(crate) played: u32,
}

/// The continuation after the end of a session.
enum Next {
    Play(Start),
    Leave,
}

/// The end of a session: its node, and the start of the next one.
struct Ended {
    at: Option<NodeId>,
    /// The file of that node as it was, if all was well: until it is edited there is nothing new to show.
    shown: Option<Arc<Document>>,
    start: Start,
}

impl<C: Console> Player<C> {
    /// Runs sessions until the user leaves or the input ends; returns the outcome of the last one.
    ///
    /// # Errors
    /// The first start is refused, or the console is gone.
    pub(crate) async fn play(mut self, interrupts: impl Fn() -> mpsc::Receiver<SignalName>) -> Result<Outcome, RunError> {
        let mut start = self.start.clone();
        loop {
            let outcome = match self.one(start, interrupts()).await {
                Err(RunError::Start(refused)) if self.played > 1 => {
                    self.console.note(Note::Error { code: "not-started", message: &refused.to_string() }).await?;
                    Outcome { reason: Reason::Failed, output: None, session: None }
                }
                outcome => outcome?,
            };
            let reason = outcome.reason;
            if reason == Reason::Interrupted || (reason == Reason::EndOfInput && !self.terms.no_input) {
                return Ok(outcome);
            }
            let ended = self.ended(&outcome);
            start = match self.pause(&ended, interrupts()).await? {
                Next::Play(start) => start,
                Next::Leave => return Ok(outcome),
            };
        }
    }

    /// Plays one session, on the newest program at each moment.
    async fn one(&mut self, start: Start, signals: mpsc::Receiver<SignalName>) -> Result<Outcome, RunError> {
        self.played += 1;
        let (sender, edits) = mpsc::channel(1);
        let Self { console, terms, taped, ready, store, news, broken, .. } = self;
        let sessions = taped.over(terms.sessions(ready.clone(), store.as_ref()));
        let run = Runner::new(console, sessions).signals(signals).edits(edits).run(start);
        let relay = async {
            while let Some(edit) = news.recv().await {
                *broken = matches!(edit, Reload::Broken { .. });
                if let Reload::Sound(newer, _) = &edit {
                    *ready = (**newer).clone();
                }
                if sender.send(edit.into()).await.is_err() {
                    break;
                }
            }
            // Nothing is edited any more, but the session goes on.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            outcome = run => outcome,
            () = relay => unreachable!("it waits for ever"),
        }
    }

    /// Waits for an edit, or until the user restarts or leaves.
    async fn pause(&mut self, ended: &Ended, mut signals: mpsc::Receiver<SignalName>) -> io::Result<Next> {
        let request = what_now();
        let awaited = Awaited::Input(&request);
        let is_asked = !self.terms.json && !self.terms.no_input;
        // An edit may have come so late that the session had ended before it could be taken up.
        if ended.shown.is_some()
            && ended.goes_on_at(self.ready.engine.inspect()).is_some()
            && let Some(next) = self.go_on(ended, None).await?
        {
            return Ok(next);
        }
        if is_asked {
            self.console.note(Note::Content(&ended.hint(self.ready.engine.inspect()))).await?;
        }
        let mut again = false;
        loop {
            if is_asked {
                self.console.ask(awaited, Asking { left: None, again, seq: 0 }).await?;
            }
            again = true;
            tokio::select! {
                biased;
                Some(_) = signals.recv() => return Ok(Next::Leave),
                Some(news) = self.news.recv() => {
                    if let Some(next) = self.take(news, ended).await? {
                        return Ok(next);
                    }
                }
                command = self.console.read(awaited), if !self.terms.no_input => {
                    if let Some(next) = self.obey(command?).await? {
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// Applies an edit after an end; returns how the session continues, if it does.
    async fn take(&mut self, news: Reload, ended: &Ended) -> io::Result<Option<Next>> {
        let (ready, note) = match news {
            Reload::Sound(ready, note) => (*ready, note),
            Reload::Broken { findings, since } => {
                self.broken = true;
                self.console.note(Note::Reload(&Reloaded::Broken { findings: &findings, since })).await?;
                return Ok(None);
            }
        };
        self.ready = ready;
        match self.go_on(ended, note).await? {
            None if self.terms.no_input => Ok(Some(Next::Play(self.named(self.start.clone())))),
            next => Ok(next),
        }
    }

    /// Resumes a session where it ended, if the newest program changed there, and reports it.
    async fn go_on(&mut self, ended: &Ended, note: Option<String>) -> io::Result<Option<Next>> {
        let node = ended.goes_on_at(self.ready.engine.inspect()).filter(|_| !self.terms.no_input);
        let moved = node.as_ref().map(|node| format!("continuing at `{node}`"));
        let said = moved.into_iter().chain(note).collect::<Vec<_>>().join("; ");
        let healed = std::mem::take(&mut self.broken);
        self.console.note(Note::Reload(&Reloaded::Sound { healed, moved: (!said.is_empty()).then_some(&said) })).await?;
        Ok(node.map(|node| Next::Play(self.named(Start { at: Some(node), ..ended.start.clone() }))))
    }

    async fn obey(&mut self, command: Command) -> io::Result<Option<Next>> {
        let message = match command {
            Command::End | Command::Signal(_) => return Ok(Some(Next::Leave)),
            Command::Bad { code, message } => {
                self.console.note(Note::Error { code, message: &message }).await?;
                return Ok(None);
            }
            Command::Input(input) if !self.terms.json => match chosen(&input) {
                Some(AGAIN) => return Ok(Some(Next::Play(self.named(self.start.clone())))),
                Some(_) => return Ok(Some(Next::Leave)),
                None => format!("choose one of: {AGAIN}, {LEAVE}"),
            },
            _ => "the session has ended; an edit of its graph begins another".to_owned(),
        };
        self.console.note(Note::Error { code: "ended", message: &message }).await?;
        Ok(None)
    }

    /// The start of a session beside those that were: their calls must not have the same keys.
    fn named(&self, start: Start) -> Start {
        let session = self.start.session.as_ref().map(|session| SessionId::from(&*format!("{session}-{}", self.played + 1)));
        Start { session, ..start }
    }

    fn ended(&self, outcome: &Outcome) -> Ended {
        let session = outcome.session.as_ref();
        let node = session.and_then(|session| session.state().ended.as_ref()).map(|ended| ended.node.clone());
        let goes_on = matches!(outcome.reason, Reason::Finished | Reason::Failed);
        let document = |session: &Session| Some(Arc::clone(document_of(session.engine().inspect(), node.as_ref()?)?));
        Ended {
            shown: session.filter(|_| outcome.reason == Reason::Finished).and_then(document),
            at: node.filter(|_| goes_on),
            start: Start { context: session.map(|session| session.state().context.to_mapping()).unwrap_or_default(), ..self.start.clone() },
        }
    }
}

impl Ended {
    /// Returns the node at which a session can be resumed: the last one, unless it had an effect and succeeded.
    fn node(&self, program: &Program) -> Option<NodeId> {
        let at = self.at.as_ref()?;
        let node = program.node(program.find(at).or_else(|| program.find_renamed(at))?);
        (self.shown.is_none() || !matches!(node.role, Role::Act(_))).then(|| node.id.clone())
    }

    /// Returns that node, if this program has anything new to show there.
    fn goes_on_at(&self, program: &Program) -> Option<NodeId> {
        let node = self.node(program)?;
        let is_shown = self.shown.as_ref().is_some_and(|shown| document_of(program, &node).is_some_and(|now| shown.text == now.text));
        (!is_shown).then_some(node)
    }

    fn hint(&self, program: &Program) -> String {
        match self.node(program) {
            Some(node) if self.shown.is_some() => format!("Edit `{node}` to continue there.\n"),
            Some(node) => format!("Save a file to try `{node}` again.\n"),
            None => "Watching for edits.\n".to_owned(),
        }
    }
}

/// Returns the file of a node.
fn document_of<'p>(program: &'p Program, node: &NodeId) -> Option<&'p Arc<Document>> {
    program.documents().get(program.node(program.find(node)?).document as usize)
}

fn what_now() -> Request {
    Request::choice([AGAIN, LEAVE].map(|text| OptionView::new(text, text)).into()).with_default(AGAIN)
}

/// Returns the choice; an empty line is the first.
fn chosen(input: &Input) -> Option<&'static str> {
    let text = match input {
        Input::Text(text) => text.trim(),
        Input::Value(value) => value.as_str()?,
        _ => return None,
    };
    match text {
        "" => Some(AGAIN),
        text => [AGAIN, LEAVE].into_iter().find(|option| *option == text),
    }
}
