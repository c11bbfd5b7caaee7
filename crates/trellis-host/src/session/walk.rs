//! Advancing one session of a tree: through nodes that do not stop, and by inputs.
//!
//! **Invariant:** a step is recorded together with the children that it leaves: their effects are those of their caller before it moves.

use std::sync::Arc;

use trellis_core::{
    Event, Input, NavigateError, Next, SessionId, SignalName, State, ToolOutcome, ToolResult,
    engine::{Answers, Step, ToolErrorKind},
    state::{Changes, EndReason},
};

use super::{HISTORY, Halt, Happened, HeldInput, Session, SessionError, SettledByHand, Walk};
use crate::{journal::Entry, store::Snapshot};

/// A step and the children that it leaves.
struct TakenStep {
    /// The children that it leaves, each behind its caller, and the state that took over their effects.
    left: Vec<SessionId>,
    left_by: Option<Step>,
    step: Step,
}

impl Session {
    /// Continues until the host has something to do; a second call without an answer in between returns the same.
    ///
    /// # Errors
    /// The ceiling on pass-through steps was reached, or the node cannot be rendered; the session stays where it is.
    pub fn advance(&mut self) -> Result<Halt, SessionError> {
        self.advance_in(None)
    }

    /// Advances a session of the tree: the root, or a child.
    ///
    /// # Errors
    /// As [`Session::advance`]; the child is not alive.
    pub fn advance_in(&mut self, child: Option<&SessionId>) -> Result<Halt, SessionError> {
        if self.walk.passes == 0 {
            // The session stopped before this, so the records could be taken.
            self.journal.forget(HISTORY);
        }
        loop {
            let Some((here, walk)) = walked(&self.here, &mut self.walk, &mut self.children, child) else { return Err(gone().into()) };
            if let Some(text) = walk.invalid.take() {
                return Ok(Halt::Invalid(text));
            }
            if let Some(held) = &walk.held {
                return Ok(Halt::Predicate(held.asks.clone()));
            }
            let view = match &mut walk.view {
                Some(view) => view,
                None => walk.view.insert(self.engine.render(&here.state)?),
            };
            if let Some(content) = view.content.take()
                && !walk.said
            {
                walk.said = true;
                if walk.words.as_ref() == Some(&content) {
                    continue;
                }
                walk.words = Some(Arc::clone(&content));
                return Ok(Halt::Said { node: here.state.current_node_id.clone(), content });
            }
            match &view.next {
                Next::Pass => self.pass(child)?,
                Next::Ask(request) => return Ok(Halt::Ask(request.clone())),
                Next::Call(call) => return Ok(Halt::Call(Arc::clone(call))),
                Next::Parts { whole, open } => return Ok(Halt::Parts { whole: Arc::clone(whole), open: open.clone() }),
                Next::End(ended) => return Ok(Halt::Ended(Arc::clone(ended))),
            }
        }
    }

    /// One step through a node that does not stop.
    fn pass(&mut self, child: Option<&SessionId>) -> Result<(), SessionError> {
        let limit = self.engine.inspect().limits().pass_through;
        let Some((here, walk)) = walked(&self.here, &mut self.walk, &mut self.children, child) else { return Err(gone().into()) };
        if walk.passes >= limit {
            walk.passes = 0;
            return Err(SessionError::PassThrough { node: here.state.current_node_id.clone(), limit });
        }
        walk.passes += 1;
        Ok(self.take(child, Input::Pass, Answers::new())?)
    }

    /// Hands in an answer, a result or a signal. If its step needs a predicate first, the input is held and [`Session::advance`] asks for it.
    ///
    /// # Errors
    /// A refusal: nothing happened; with the accepted input.
    pub fn send(&mut self, input: Input) -> Result<(), NavigateError> {
        self.send_in(None, input)
    }

    /// Hands something to a session of the tree.
    ///
    /// # Errors
    /// As [`Session::send`]; the child is not alive.
    pub fn send_in(&mut self, child: Option<&SessionId>, input: Input) -> Result<(), NavigateError> {
        self.take(child, input, Answers::new())?;
        self.walk.passes = 0;
        self.children.values_mut().for_each(|walk| walk.passes = 0);
        Ok(())
    }

    /// Raises a signal; short for [`Session::send`].
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn signal(&mut self, signal: &SignalName) -> Result<(), NavigateError> {
        self.send(Input::Signal(signal.clone()))
    }

    /// Answers the predicate that [`Session::advance`] asked for; other names are not asked and change nothing.
    ///
    /// # Errors
    /// As for [`Session::send`], about the input that was held.
    pub fn answer(&mut self, predicate: &str, truth: bool) -> Result<(), NavigateError> {
        self.answer_in(None, predicate, truth)
    }

    /// Answers the predicate that a session of the tree asked for.
    ///
    /// # Errors
    /// As [`Session::answer`].
    pub fn answer_in(&mut self, child: Option<&SessionId>, predicate: &str, truth: bool) -> Result<(), NavigateError> {
        let Some((_, walk)) = walked(&self.here, &mut self.walk, &mut self.children, child) else { return Ok(()) };
        match walk.held.take() {
            Some(mut held) if &*held.asks.name == predicate => {
                held.answers.insert(held.asks.name, truth);
                self.take(child, held.input, held.answers)
            }
            other => {
                walk.held = other;
                Ok(())
            }
        }
    }

    /// Navigates, records, and holds the input where a predicate is missing.
    fn take(&mut self, child: Option<&SessionId>, input: Input, answers: Answers) -> Result<(), NavigateError> {
        match self.taken(child, &input, &answers) {
            Ok(taken) => {
                self.accept(child, input, taken);
                Ok(())
            }
            Err(NavigateError::Unanswered(asks)) => {
                if let Some((_, walk)) = walked(&self.here, &mut self.walk, &mut self.children, child) {
                    walk.held = Some(HeldInput { input, answers, asks });
                }
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Returns the step of an input. If it leaves children, they are left first: effects that they did and did not undo are known when it moves.
    fn taken(&self, child: Option<&SessionId>, input: &Input, answers: &Answers) -> Result<TakenStep, NavigateError> {
        let state = &self.here.of_child(child).ok_or_else(gone)?.state;
        if let Some(step) = self.late_of_left(state, input) {
            return Ok(TakenStep { left: Vec::new(), left_by: None, step });
        }
        let navigate = |state: &State| match answers.is_empty() {
            true => self.engine.navigate(state, input.clone()),
            false => self.engine.answering(answers.clone()).navigate(state, input.clone()),
        };
        if self.here.children.is_empty() {
            return Ok(TakenStep { left: Vec::new(), left_by: None, step: navigate(state)? });
        }
        let mut left = self.left_by_result(child, input);
        loop {
            let left_by = (!left.is_empty()).then(|| self.engine.leave(state, &self.states(&left)));
            let step = navigate(left_by.as_ref().map_or(state, |step| &step.state))?;
            let more = self.left_in(child, &step.state, input, &left);
            if more.is_empty() {
                return Ok(TakenStep { left, left_by, step });
            }
            left = self.in_order(child, left.into_iter().chain(more).collect());
        }
    }

    fn accept(&mut self, child: Option<&SessionId>, input: Input, TakenStep { left, left_by, step }: TakenStep) {
        if let Some(left_by) = left_by {
            self.part_with(child, left, left_by);
        }
        let Step { state, events, wrote, .. } = step;
        let at = self.now();
        let is_of_child = matches!(&input, Input::Result(result) if self.calls_graph(child, result));
        let Some(here) = self.here.of_child_mut(child) else { return };
        let changes = Changes::between(&here.state, &state, &wrote);
        let before = (here.state.current_node_id.clone(), here.state.ended.is_some());
        let result = if let Input::Result(result) = &input { Some(result) } else { None };
        let letter = here.give_up(child, &state, &events, result);
        // What a retry leaves has its answer, unless its time was up.
        let answered = result.filter(|result| !is_timeout(result)).map(|result| &result.id);
        let unasked = self.left_unasked(child, &state, at, answered);
        let Some(here) = self.here.of_child_mut(child) else { return };
        here.step(at, state);
        here.count_waits(at, &events);
        self.here.at = self.here.at.max(at);
        let Some((_, walk)) = walked(&self.here, &mut self.walk, &mut self.children, child) else { return };
        walk.view = None;
        let mut late = false;
        for event in &events {
            match event {
                Event::Entered(_) => (walk.said, walk.words) = (false, None),
                Event::Invalid(text) => walk.invalid = Some(Arc::clone(text)),
                Event::Late { .. } | Event::DeadLetter(_) => late = true,
                _ => {}
            }
        }
        let by_hand = match &input {
            Input::Result(result) => walk.by_hand.take_if(|by_hand| by_hand.call == result.id),
            _ => None,
        };
        if !late {
            (walk.held, walk.by_hand) = (None, None);
        }
        let entry = match (input, by_hand) {
            (Input::Result(result), Some(by_hand)) => {
                let SettledByHand { by, because, unapproved, .. } = *by_hand;
                Entry::Settle { result: Box::new(result), by, because, unapproved }
            }
            (Input::Result(result), None) if late => Entry::Late { result: Box::new(result) },
            (Input::Result(result), None) => Entry::Result { result: Box::new(result) },
            (Input::Signal(signal), _) => Entry::Signal { signal },
            (input, _) => Entry::Input { input },
        };
        let settled = match &entry {
            Entry::Result { result } | Entry::Settle { result, .. } => Some(SessionId::new(result.id.shared())),
            _ => None,
        };
        let happened = Happened { events, changes, is_of_child, unasked: unasked.clone(), ..Happened::at(at, entry, Some(before.0)) };
        self.record(child, happened);
        settled.into_iter().for_each(|settled| self.forget_child(&settled));
        self.here.note_unasked(&unasked);
        self.bury(letter);

        if !before.1 {
            self.record_end(child);
        }
    }
}

/// Returns a session of a tree, and its walk.
fn walked<'s>(
    here: &'s Snapshot,
    walk: &'s mut Walk,
    children: &'s mut std::collections::BTreeMap<SessionId, Walk>,
    child: Option<&SessionId>,
) -> Option<(&'s Snapshot, &'s mut Walk)> {
    match child {
        None => Some((here, walk)),
        Some(child) => Some((&here.children.get(child)?.here, children.get_mut(child)?)),
    }
}

fn is_timeout(result: &ToolResult) -> bool {
    matches!(&result.outcome, ToolOutcome::Error(error) if error.kind == ToolErrorKind::Timeout)
}

/// Returns the refusal by a child that is no longer alive.
fn gone() -> NavigateError {
    NavigateError::Ended { reason: EndReason::Failed }
}
