//! Calls that the author does not answer: doubles, children, calculations.

use std::sync::Arc;

use trellis_core::{
    Input, Next, SessionId, State, ToolOutcome, ToolResult, Value,
    engine::{Call, NotBegun},
    id::CallId,
    state::CallKind,
    tree::{Caller, Tree},
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
    /// The living sessions in an order of their tree.
    pub(super) fn in_order(&self, order: impl for<'t> FnOnce(&Tree<'t>) -> Vec<&'t SessionId>) -> Vec<usize> {
        let Some(root) = self.sessions.first() else { return Vec::new() };
        let alive = || (0..self.sessions.len()).filter(|&at| !self.sessions[at].is_over);
        let caller = |at: usize| {
            let (caller, call) = self.sessions[at].caller.clone()?;
            Some((Caller { session: self.sessions[caller].state.session_id.clone(), call }, at))
        };
        let callers: Vec<(Caller, usize)> = alive().filter_map(caller).collect();
        let tree = Tree::new(&root.state, callers.iter().map(|(caller, at)| (caller, &self.sessions[*at].state)));
        order(&tree).into_iter().filter_map(|id| alive().find(|&at| self.sessions[at].state.session_id == *id)).collect()
    }

    /// The living children of a session whose calls are as wanted.
    fn children(&self, at: usize, wanted: impl Fn(&CallId) -> bool) -> Vec<usize> {
        let is_wanted = |session: &Session| session.caller.as_ref().is_some_and(|(caller, call)| *caller == at && wanted(call));
        (0..self.sessions.len()).filter(|&child| !self.sessions[child].is_over && is_wanted(&self.sessions[child])).collect()
    }

    /// The child that a result ends other than by its success: one that failed, and one that lives while the author settles its call.
    pub(super) fn settled_by(&self, at: usize, input: &Input) -> Vec<usize> {
        let Input::Result(result) = input else { return Vec::new() };
        let mut children = self.children(at, |call| *call == result.id);
        children.retain(|&child| !matches!(self.engine.outcome(&self.sessions[child].state), Some(ToolOutcome::Success(_))));
        children
    }

    /// The children that a session waits for no more after a step, but for those that are known.
    pub(super) fn unawaited(&self, at: usize, after: &State, known: &[usize]) -> Vec<usize> {
        let open = self.engine.open_calls(after);
        let mut children = self.children(at, |call| open.iter().all(|open| open.id != *call));
        children.retain(|child| !known.contains(child));
        children
    }

    /// Children of a session and all below them, in the order of the tree.
    fn with_below(&self, at: usize, children: &[usize]) -> Vec<usize> {
        let own = self.sessions[at].state.session_id.clone();
        let callers = |child: usize| std::iter::successors(Some(child), |&at| self.sessions[at].caller.as_ref().map(|caller| caller.0));
        let mut all = self.in_order(|tree| tree.below(&own));
        all.retain(|&child| callers(child).any(|above| children.contains(&above)));
        all
    }

    /// The state of a session without these children: effects that they have not undone are its own. `None` if there are none.
    pub(super) fn without(&self, at: usize, children: &[usize]) -> Option<State> {
        let left = self.with_below(at, children);
        let states: Vec<&State> = left.iter().map(|&child| &self.sessions[child].state).collect();
        (!states.is_empty()).then(|| self.engine.leave(&self.sessions[at].state, &states).state)
    }

    /// Lets go of children and of all below them.
    pub(super) fn forget(&mut self, at: usize, children: &[usize]) {
        for child in self.with_below(at, children) {
            self.sessions[child].is_over = true;
        }
    }

    /// Hands the end of a child to its caller; returns whether it was taken.
    pub(super) fn hand_back(&mut self, at: usize) -> bool {
        let Some((caller, call)) = self.sessions[at].caller.clone().filter(|_| !self.sessions[at].is_over) else { return false };
        let Some(outcome) = self.engine.outcome(&self.sessions[at].state) else { return false };
        // What finished is nobody's to leave.
        self.sessions[at].is_over = matches!(outcome, ToolOutcome::Success(_));
        self.navigate(caller, Input::Result(ToolResult::new(call, outcome)))
    }

    /// Ends the case where a call waits for a result and an input, or nothing, comes instead.
    pub(super) fn misses_a_result(&mut self, number: Option<usize>) -> bool {
        let asks = |session: &Session| matches!(session.view.as_ref().map(|view| &view.next), Some(Next::Ask(_)));
        let is_alive = |session: &&Session| !session.is_over;
        if self.by_hand || number.is_some() || self.sessions.iter().filter(is_alive).any(asks) {
            return false;
        }
        let missing = self.sessions.iter().filter(is_alive).find_map(|session| match session.view.as_ref().map(|view| &view.next) {
            Some(Next::Call(call)) if !self.is_walked(call) => Some(Arc::clone(call)),
            Some(Next::Parts { open, .. }) => open.iter().find(|call| !self.is_walked(call)).cloned(),
            _ => None,
        });
        let Some(call) = missing else { return false };
        self.unanswered = Some(double_name(&call));
        self.stop(format!("- not answered: {} {}", call.name, Value::Map(call.args.clone()).to_json()));
        true
    }

    /// Answers a call by a double, a child or a calculation; returns whether the answer was taken.
    pub(super) fn answer(&mut self, at: usize, call: &Call) -> bool {
        if self.by_hand || self.is_walked(call) {
            return false;
        }
        if let Some(double) = doubles::answering(&mut self.doubles, &double_name(call), &call.args) {
            let (outcome, note) = (double.outcome.clone(), format!(" ({})", double.place()));
            self.annotate(&call.id, &note);
            return self.navigate(at, Input::Result(ToolResult::new(call.id.clone(), outcome)));
        }
        let outcome = match &call.kind {
            CallKind::Graph(_) => return self.walk(at, call),
            _ => self.beside.compute(self.engine.inspect(), &call.node, &call.name, &call.args),
        };
        let Some(outcome) = outcome else { return false };
        if let ToolOutcome::Error(error) = &outcome {
            self.miscalculated.get_or_insert_with(|| format!("`{}` failed: {}", call.name, error.message));
        }
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
