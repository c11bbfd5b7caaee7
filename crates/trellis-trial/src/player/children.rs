//! Calls that the author does not answer: doubles, children, calculations.

use trellis_core::{
    Input, ToolResult,
    engine::{Call, NotBegun},
    id::CallId,
    state::{CallKind, EndReason},
};

use super::Player;
use crate::{doubles, session::Session};

/// Returns the name of a call in a block of doubles.
pub(super) fn double_name(call: &Call) -> String {
    match &call.kind {
        CallKind::Graph(node) => format!("graph:{node}"),
        _ => call.name.to_string(),
    }
}

impl Player<'_> {
    /// Leaves the children of calls that a session waits for no more; of this call, if one is named.
    pub(super) fn leave_children(&mut self, at: usize, of: Option<&CallId>) {
        let open: Vec<CallId> = self.engine.open_calls(&self.sessions[at].state).iter().map(|call| call.id.clone()).collect();
        let is_left = |session: &Session| {
            !session.is_over
                && session.caller.as_ref().is_some_and(|(caller, id)| *caller == at && of.map_or_else(|| !open.contains(id), |of| of == id))
        };
        let left: Vec<usize> = (0..self.sessions.len()).filter(|&child| is_left(&self.sessions[child])).collect();
        for child in left {
            self.leave(at, child);
        }
    }

    /// Leaves a child and all below it; effects that it has not undone pass to its caller.
    fn leave(&mut self, at: usize, child: usize) {
        let below: Vec<usize> = (0..self.sessions.len())
            .filter(|&below| !self.sessions[below].is_over && self.sessions[below].caller.as_ref().is_some_and(|caller| caller.0 == child))
            .collect();
        below.into_iter().for_each(|below| self.leave(child, below));
        self.sessions[child].is_over = true;
        let step = self.engine.leave(&self.sessions[at].state, &[&self.sessions[child].state]);
        self.sessions[at].state = step.state;
    }

    /// Hands the end of a child to its caller; returns whether it was taken.
    pub(super) fn hand_back(&mut self, at: usize) -> bool {
        let Some((caller, call)) = self.sessions[at].caller.clone().filter(|_| !self.sessions[at].is_over) else { return false };
        let Some(outcome) = self.engine.outcome(&self.sessions[at].state) else { return false };
        let finished = self.sessions[at].state.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Finished);
        if finished {
            self.sessions[at].is_over = true;
        } else {
            self.leave(caller, at);
        }
        self.navigate(caller, Input::Result(ToolResult::new(call, outcome)))
    }

    /// Answers a call by a double, a child or a calculation; returns whether the answer was taken.
    pub(super) fn answer(&mut self, at: usize, call: &Call) -> bool {
        if self.by_hand || self.is_walked(call) {
            return false;
        }
        if let Some(double) = doubles::answering(&mut self.doubles, &double_name(call), &call.args) {
            let (outcome, note) = (double.outcome.clone(), format!(" (double {})", double.line));
            self.annotate(&call.id, &note);
            return self.navigate(at, Input::Result(ToolResult::new(call.id.clone(), outcome)));
        }
        let outcome = match &call.kind {
            CallKind::Graph(_) => return self.walk(at, call),
            _ => self.beside.compute(self.engine.inspect(), &call.node, &call.name, &call.args),
        };
        let Some(outcome) = outcome else { return false };
        self.navigate(at, Input::Result(ToolResult::new(call.id.clone(), outcome)))
    }

    /// Begins the child of a call; returns whether it began, or its caller took the refusal.
    fn walk(&mut self, at: usize, call: &Call) -> bool {
        let state = self.sessions[at].state.clone();
        let node = if let CallKind::Graph(node) = &call.kind { node } else { &call.node };
        match self.step(node, |engine| engine.begin_child(&state, call)) {
            Ok(step) => {
                let number = self.calls.iter().rposition(|id| *id == call.id).map(|at| at + 1);
                self.sessions.push(Session::new(step.state.clone(), Some((at, call.id.clone())), number));
                self.accept(self.sessions.len() - 1, step);
                true
            }
            Err(NotBegun::Refused(outcome)) => self.navigate(at, Input::Result(ToolResult::new(call.id.clone(), outcome))),
            Err(NotBegun::Unanswered(asked)) => {
                self.stop(format!("- not answered: {}", asked.name));
                false
            }
        }
    }

    /// Adds a note after the line of a call.
    fn annotate(&mut self, id: &CallId, note: &str) {
        let number = self.calls.iter().rposition(|call| call == id);
        let line = number.and_then(|number| self.call_lines.get(number)).and_then(|&line| self.lines.get_mut(line));
        if let Some(line) = line {
            line.text.push_str(note);
        }
    }
}
