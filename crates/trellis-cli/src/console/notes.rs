//! Shows the messages and questions of a runner to a person.
//!
//! **Invariant:** an answer stays in its line until it is accepted or rejected; output above never destroys a partly typed line.

use std::{collections::VecDeque, io, time::Instant};

use trellis_core::{SessionId, SignalName, ToolOutcome, state::CallKind};
use trellis_host::{
    binding::Delta,
    policy::Decision,
    runner::{Asking, Awaited, Command, Console, Note, Reloaded},
};

use super::{Interactive, busy::label, keys::Key, live::Event, question::Question, rows::Window, scrollback};
use crate::markdown;

/// Columns of text that are pleasant to read.
const READABLE: usize = 100;
/// Lines of a tool that are stored, so that they are not repeated.
const REMEMBERED: usize = 20;
/// Bytes of a model's text that are remembered while it is written.
const STREAMED: usize = 4096;

impl Console for Interactive {
    async fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        let window = self.live.window();
        match note {
            Note::Content(text) => {
                self.leave();
                self.pass_on();
                let text = markdown::drawn(text, window.room.min(READABLE), self.look);
                if !text.is_empty() {
                    let branch = self.branch.as_ref().map_or_else(String::new, |branch| scrollback::branch(branch));
                    self.say(&format!("\n{branch}{text}"));
                }
            }
            Note::Call(call) => {
                if !self.busy.runs_beside(call) {
                    self.leave();
                    self.settle();
                    self.pass_on();
                    self.written.clear();
                    self.streamed.clear();
                }
                // Of a call with parts, these are shown; of a child, what it does.
                if matches!(call.kind, CallKind::Tool) {
                    self.busy.begin(call, self.child.as_ref());
                }
            }
            Note::Progress(call, line) => {
                self.written.push_back((call.id.clone(), line.to_owned()));
                if self.written.len() > REMEMBERED {
                    self.written.pop_front();
                }
                let line = if call.part.is_some() { format!("{}: {line}", label(call)) } else { line.to_owned() };
                let frame = self.frame();
                self.live.say(&scrollback::progress(&line, window), &frame);
            }
            Note::Delta(_, delta) => {
                self.stream(delta);
                let frame = self.frame();
                self.live.draw(&frame);
            }
            // The steps of the child were shown.
            Note::Result(call, result)
                if matches!((&call.kind, &result.outcome), (CallKind::Graph(_), ToolOutcome::Success(_))) && call.part.is_none() => {}
            Note::Result(call, result) => {
                self.streamed.clear();
                let elapsed = self.busy.end(call, self.child.as_ref());
                // An approval may have run out.
                self.pass_on();
                let written: Vec<String> = self.written.iter().filter(|(of, _)| *of == call.id).map(|(_, line)| line.clone()).collect();
                self.written.retain(|(of, _)| *of != call.id);
                self.say(&scrollback::result(call, &result.outcome, elapsed, &written, window));
            }
            Note::Awaiting(others) => {
                for call in others.iter().filter_map(|other| other.stop.held_call()) {
                    if self.held.insert(call.id.clone()) {
                        self.leave();
                        self.say(&scrollback::waiting(call, window));
                    }
                }
            }
            Note::Policy(call, decided) if decided.decision == Decision::Ask => {
                self.leave();
                self.pass_on();
                self.say(&scrollback::held(call, decided, window));
            }
            Note::Sleep(time) => {
                self.leave();
                self.settle();
                self.pass_on();
                Instant::now().checked_add(time).into_iter().for_each(|until| self.busy.sleep(until));
            }
            Note::Reload(reloaded) => {
                self.edited = matches!(reloaded, Reloaded::Sound { moved: None, .. });
                self.say(&scrollback::reload(reloaded, window));
            }
            Note::Error { message, .. } => match &mut self.answered {
                Some(answered) if answered.refusal.is_none() => answered.refusal = Some(message.to_owned()),
                _ => self.say(&scrollback::refusal(message, window)),
            },
            Note::End(summary) => {
                self.leave();
                self.pass_on();
                self.say(&scrollback::summary(summary, window));
            }
            _ => {}
        }
        Ok(())
    }

    fn about(&mut self, child: Option<&SessionId>, branch: Option<&str>) {
        self.child = child.cloned();
        self.branch = branch.map(str::to_owned);
    }

    async fn ask(&mut self, awaited: Awaited<'_>, asking: Asking) -> io::Result<()> {
        self.leave();
        self.until = asking.left.and_then(|left| Instant::now().checked_add(left));
        if let (true, Some(question)) = (asking.again, &mut self.question) {
            if let Some(refusal) = self.answered.take().and_then(|answered| answered.refusal) {
                question.refuse(&refusal);
            }
            self.asking = true;
            return Ok(());
        }
        // Half-typed text stays, also if the edit changed the question.
        let is_edited = std::mem::take(&mut self.edited) && self.answered.is_none();
        self.settle();
        self.history.rewind();
        self.keys.extend(self.live.typed());
        forget_unseen(awaited, &mut self.keys);
        let lead = lead(awaited, self.live.window());
        if !lead.is_empty() {
            self.say(&lead);
        }
        let before = self.question.take().filter(|_| is_edited);
        self.question = Question::new(awaited, self.limits.0, self.limits.1).map(|question| question.in_branch(self.branch.clone()));
        if let (Some(question), Some(before)) = (&mut self.question, before) {
            question.take_over(before);
        }
        self.asking = self.question.is_some();
        Ok(())
    }

    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command> {
        loop {
            if let Some(command) = self.command(awaited) {
                return Ok(command);
            }
            let frame = self.frame();
            self.live.draw(&frame);
            let is_busy = matches!(awaited, Awaited::Nothing);
            if self.live.is_gone() || (self.terminated && !is_busy) {
                return Ok(Command::End);
            }
            match self.live.event(self.next_change()).await {
                Event::Keys(keys) => self.keys.extend(keys),
                Event::Changed => {}
                Event::Terminated => {
                    self.terminated = true;
                    return Ok(Command::Signal(SignalName::new(SignalName::INTERRUPT)));
                }
            }
        }
    }
}

impl Interactive {
    /// Stores the end of a model's text.
    fn stream(&mut self, delta: &Delta) {
        if delta.is_reset {
            self.streamed.clear();
        }
        self.streamed.push_str(&delta.text);
        let excess = self.streamed.len().saturating_sub(STREAMED);
        let cut = (excess..).find(|&at| self.streamed.is_char_boundary(at)).unwrap_or(excess);
        self.streamed.drain(..cut);
    }

    /// Nothing is asked for now. Unless it was an edit that said something, the session has moved on, and with it what was half typed.
    fn pass_on(&mut self) {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            self.unanswered(" (time is up)");
        }
        self.asking = false;
        if !self.edited && self.answered.is_none() {
            self.question = None;
        }
    }
}

/// Drops keys that were typed before the question was shown, if they would answer it.
pub(super) fn forget_unseen(awaited: Awaited<'_>, keys: &mut VecDeque<Key>) {
    match awaited {
        Awaited::Approval { .. } => keys.retain(|key| matches!(key, Key::Interrupt | Key::Suspend | Key::Eof)),
        Awaited::Input(request) if !request.options.is_empty() => {
            while keys.front() == Some(&Key::Enter) {
                keys.pop_front();
            }
        }
        _ => {}
    }
}

/// Returns the text above the line that answers it; empty if the node has asked itself.
fn lead(awaited: Awaited<'_>, window: Window) -> String {
    match awaited {
        Awaited::Approval { call, .. } => {
            let asks = call.approve.as_ref().and_then(|approval| approval.ask.clone());
            let asks = asks.unwrap_or_else(|| format!("May `{}` run?", label(call)).into());
            format!("\n{}{}", scrollback::call(call, window), scrollback::lead(&asks, window))
        }
        Awaited::Result(call) => format!("\n{}", scrollback::call(call, window)),
        Awaited::Predicate { name, .. } => scrollback::lead(&format!("\ndoes `{name}` hold?"), window),
        Awaited::Keys { node, missing } => {
            let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            scrollback::lead(&format!("\n`{node}` needs {names} now, which the session does not have"), window)
        }
        Awaited::Changed { pending, now } => {
            let how = if *now == *pending.name { " with other arguments".to_owned() } else { format!(", not `{}`", pending.name) };
            let text = format!("`{}` calls `{now}` now{how}. Keep this call as it is?", pending.node);
            format!("\n{}{}", scrollback::call(pending, window), scrollback::lead(&text, window))
        }
        Awaited::Input(_) | Awaited::Nothing => String::new(),
    }
}
