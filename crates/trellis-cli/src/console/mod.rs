//! The interactive console: output goes into the scrollback, questions and running work are shown in live rows below it.
//!
//! ```text
//! keys ──▶ Question ──▶ Command          Note ──▶ lines above
//!             └──▶ Frame ──▶ terminal ◀── Frame of what runs
//! ```
//!
//! **Invariant:** the parts are pure: a state takes a key and gives rows. Only `tty.rs` and `live.rs` know the terminal.

mod busy;
mod editor;
mod frame;
mod hint;
mod history;
mod keys;
mod layout;
mod live;
mod menu;
mod question;
mod rows;
mod tty;

mod notes;
mod schema_text;
mod scrollback;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    time::{Duration, Instant},
};

use trellis_core::{SessionId, SignalName, engine::Request, id::CallId};
use trellis_host::runner::{Asking, Awaited, Command, Console, Note};

pub(crate) use self::tty::Tty;
use self::{
    busy::{Busy, to_second},
    frame::Frame,
    history::History,
    keys::Key,
    layout::in_one_row,
    live::Live,
    question::{Pressed, Question},
};
use crate::terminal::Look;

/// The console of a terminal.
pub(crate) struct Interactive {
    live: Live,
    look: Look,
    /// Bytes of an answer, and of a typed result.
    limits: (u64, u64),
    /// Unhandled keys.
    keys: VecDeque<Key>,
    question: Option<Question>,
    /// True if the question is shown and can be answered.
    asking: bool,
    /// Until when it can be.
    until: Option<Instant>,
    /// The answer that was given last, until it is known whether it was taken.
    answered: Option<Answered>,
    busy: Busy,
    /// The child that the current event belongs to; `None` for the session itself.
    child: Option<SessionId>,
    /// The branch that it is.
    branch: Option<String>,
    /// Held calls that were shown beside another question.
    held: BTreeSet<CallId>,
    /// The lines that running tools wrote last.
    written: VecDeque<(CallId, String)>,
    /// The end of the text that a model has written so far.
    streamed: String,
    history: History,
    /// True if the graph was edited since the question was asked, and the session did not move.
    edited: bool,
    /// True if the program was asked to end: the graph may clean up, but no question is shown any more.
    terminated: bool,
}

/// An answer that is not in the scrollback yet: a rejected one stays in its line.
struct Answered {
    lead: String,
    shown: String,
    refusal: Option<String>,
}

/// The outcome of asking for one of several things.
pub(crate) enum Chosen {
    /// The option, by its place.
    Option(usize),
    Ended,
    Interrupted,
}

impl Interactive {
    /// The console of this terminal; an answer is at most `input` bytes, a typed result `result`.
    ///
    /// # Errors
    /// The terminal cannot be had.
    pub(crate) fn new(tty: Tty, look: Look, input: u64, result: u64) -> io::Result<Self> {
        Ok(Self {
            live: Live::new(tty, look)?,
            look,
            limits: (input, result),
            keys: VecDeque::new(),
            question: None,
            asking: false,
            until: None,
            answered: None,
            busy: Busy::default(),
            child: None,
            branch: None,
            held: BTreeSet::new(),
            written: VecDeque::new(),
            streamed: String::new(),
            history: History::default(),
            edited: false,
            terminated: false,
        })
    }

    /// Asks the user to choose an option. Returns the terminal, with input that was typed ahead.
    ///
    /// # Errors
    /// The terminal fails.
    pub(crate) async fn choose(mut self, question: &str, request: &Request) -> io::Result<(Chosen, Option<Tty>)> {
        self.say(&format!("{question}\n"));
        let mut again = false;
        loop {
            self.ask(Awaited::Input(request), Asking { left: None, again, seq: 0 }).await?;
            let chosen = match self.read(Awaited::Input(request)).await? {
                Command::Input(input) => {
                    let place = request.options.iter().position(|option| trellis_host::runner::choose::input(option) == input);
                    place.map(Chosen::Option)
                }
                Command::Signal(_) => Some(Chosen::Interrupted),
                Command::End => Some(Chosen::Ended),
                _ => None,
            };
            match chosen {
                Some(chosen) => {
                    self.asking = false;
                    self.settle();
                    return Ok((chosen, self.live.close()));
                }
                None => self.note(Note::Error { code: "invalid-input", message: "this is not one of them" }).await?,
            }
            again = true;
        }
    }

    /// Writes a text to the scrollback, after the last answer.
    fn say(&mut self, text: &str) {
        self.settle();
        self.live.say(text, &Frame::default());
    }

    /// Removes the work in progress of the current child.
    fn leave(&mut self) {
        for call in self.busy.leave(self.child.as_ref()) {
            let text = scrollback::stopped(&call.name, call.since.elapsed(), self.live.window());
            self.live.say(&text, &Frame::default());
        }
    }

    /// Clears the last answer, after it was accepted or replaced.
    fn settle(&mut self) {
        let Some(answered) = self.answered.take() else { return };
        if !self.asking {
            self.question = None;
        }
        let window = self.live.window();
        let shown = in_one_row(&answered.shown, window.room.saturating_sub(crate::columns::width(&answered.lead)).max(1), self.look);
        let refusal = answered.refusal.map_or_else(String::new, |message| scrollback::refusal(&message, window));
        self.live.say(&(scrollback::answer(&answered.lead, &shown) + &refusal), &Frame::default());
    }

    /// Ends the question without an answer: shows its rows and the reason.
    fn unanswered(&mut self, why: &str) {
        if let Some(question) = self.question.as_ref().filter(|_| std::mem::take(&mut self.asking)) {
            self.answered = Some(Answered { lead: question.lead(self.look), shown: question.left(why), refusal: None });
        }
    }

    /// Returns the rows to show.
    fn frame(&mut self) -> Frame {
        let window = self.live.window();
        let now = Instant::now();
        match &mut self.question {
            Some(question) if self.asking => question.frame(window, self.until.map(|until| until.saturating_duration_since(now))),
            _ if !self.streamed.is_empty() => rows::streamed(&self.streamed, self.busy.frame(window), window),
            _ => self.busy.frame(window),
        }
    }

    /// Returns the time until the rows change by themselves.
    fn next_change(&self) -> Option<Duration> {
        if self.asking { self.until.and_then(to_second) } else { self.busy.next_change() }
    }

    /// Takes a key of a question.
    fn press(&mut self, key: &Key) -> Option<Command> {
        let question = self.question.as_mut()?;
        match key {
            Key::Eof if question.is_empty() => return Some(Command::End),
            Key::Redraw => {
                self.live.clear();
                return None;
            }
            _ => {}
        }
        let lead = question.lead(self.look);
        match question.press(key, &mut self.history) {
            Pressed::Open => None,
            Pressed::Part(shown) => {
                self.answered = Some(Answered { lead, shown, refusal: None });
                self.settle();
                None
            }
            Pressed::Given(command, shown) => {
                self.answered = Some(Answered { lead, shown, refusal: None });
                self.asking = false;
                Some(command)
            }
        }
    }

    /// Returns the command of keys that came, while `awaited` is awaited.
    fn command(&mut self, awaited: Awaited<'_>) -> Option<Command> {
        // Keys that were typed before an interrupt were meant for something else.
        if let Some(at) = self.keys.iter().position(|key| *key == Key::Interrupt) {
            self.keys.drain(..=at);
            self.unanswered("^C");
            return Some(Command::Signal(SignalName::new(SignalName::INTERRUPT)));
        }
        if let Some(at) = self.keys.iter().position(|key| *key == Key::Suspend) {
            self.keys.remove(at);
            self.live.suspend();
        }
        if matches!(awaited, Awaited::Nothing) {
            return None;
        }
        while let Some(key) = self.keys.pop_front() {
            if let Some(command) = self.press(&key) {
                return Some(command);
            }
        }
        None
    }
}
