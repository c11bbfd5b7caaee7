//! The children of a session: how they begin, end, and are left (language 10.7 to 10.11).

use std::sync::Arc;

use trellis_core::{
    Engine, Input, NavigateError, SessionId, SignalName, Start, State, ToolError, ToolOutcome, ToolResult,
    engine::{NotBegun as NotBegunByEngine, Step, Unanswered},
    id::CallId,
    state::{CallKind, Changes, PendingCall},
    tree::Caller,
};

use super::{Happened, Session, SettledByHand, Walk};
use crate::{
    journal::Entry,
    store::{ChildSnapshot, Snapshot},
};

/// The reason why a child did not begin.
#[derive(Clone, Debug)]
pub enum NotBegun {
    /// This predicate must be answered first: [`Session::answer_child`].
    Unanswered(Box<Unanswered>),
    /// It cannot begin: this is the outcome of its call.
    Refused(ToolOutcome),
}

impl Session {
    /// Begins the child of a `graph` call that a session of the tree makes. It has the name of the call.
    ///
    /// # Errors
    /// A predicate must be answered first, the start is refused, or there are too many children (`limits.children`, `limits.nested_children`).
    pub fn begin_child(&mut self, caller: Option<&SessionId>, call: &PendingCall) -> Result<(), NotBegun> {
        let Some(here) = self.here.of_child(caller) else { return Ok(()) };
        let name = SessionId::new(call.id.shared());
        if self.here.children.contains_key(&name) {
            return Ok(());
        }
        self.count_children(&here.state.session_id).map_err(|error| NotBegun::Refused(ToolOutcome::Error(error)))?;
        let answers = self.beginning.remove(&call.id).map(|(answers, _)| answers).unwrap_or_default();
        let engine = if answers.is_empty() { self.engine.clone() } else { self.engine.answering(answers.clone()) };
        let Step { state, events, .. } = engine.begin_child(&here.state, call).map_err(|error| match error {
            NotBegunByEngine::Unanswered(asked) => {
                self.beginning.insert(call.id.clone(), (answers, asked.clone()));
                NotBegun::Unanswered(asked)
            }
            NotBegunByEngine::Refused(outcome) => NotBegun::Refused(outcome),
        })?;
        let at = self.now();
        let caller = Caller { session: here.state.session_id.clone(), call: call.id.clone() };
        let CallKind::Graph(node) = &call.kind else { return Ok(()) };
        let start = Start {
            session: Some(name.clone()),
            context: call.args.clone(),
            locale: state.locale.clone(),
            at: Some(node.clone()),
            seed: state.seed.clone(),
        };
        let entry = Entry::Start { start: Box::new(start), state: Box::new(state.clone()), origin: None, caller: Some(caller.clone()) };
        let here = Snapshot { asked: self.journal.next_seq() + 1, ..Snapshot::beginning(state, at) };
        self.here.children.insert(name.clone(), ChildSnapshot { caller, here });
        self.here.at = self.here.at.max(at);
        self.children.insert(name.clone(), Walk::default());
        self.record(Some(&name), Happened { events, ..Happened::at(at, entry, None) });
        self.record_end(Some(&name));
        Ok(())
    }

    /// Checks that there is room for one more child below a session.
    fn count_children(&self, caller: &SessionId) -> Result<(), ToolError> {
        let limits = self.engine.inspect().limits();
        let over = |what: &str, limit: u64| Err(ToolError::coded("limit", format!("there would be more than {limit} {what}")).finally());
        if self.here.children.len() as u64 >= limits.children {
            return over("children in one session (`limits.children`)", limits.children);
        }
        if self.here.tree().depth(caller) as u64 >= limits.nested_children {
            return over("children in children (`limits.nested_children`)", limits.nested_children);
        }
        Ok(())
    }

    /// The predicate without which the child of a call cannot begin.
    pub fn child_asks(&self, call: &CallId) -> Option<&Unanswered> {
        self.beginning.get(call).filter(|(answers, asked)| !answers.contains_key(&asked.name)).map(|(_, asked)| &**asked)
    }

    /// Answers the predicate without which the child of a call cannot begin; it begins with the next [`Session::begin_child`].
    pub fn answer_child(&mut self, call: &CallId, predicate: &str, truth: bool) {
        if let Some((answers, asked)) = self.beginning.get_mut(call)
            && &*asked.name == predicate
        {
            answers.insert(predicate.into(), truth);
        }
    }

    /// Hands the end of a child to its caller, as the result of the call; returns that, or `None` if the child continues or is not alive.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn return_child(&mut self, child: &SessionId) -> Result<Option<ToolResult>, NavigateError> {
        let Some(ended) = self.here.children.get(child) else { return Ok(None) };
        let Some(outcome) = self.engine.outcome(&ended.here.state) else { return Ok(None) };
        let result = ToolResult::new(ended.caller.call.clone(), outcome);
        let caller = self.caller_of(child);
        self.send_in(caller.as_ref(), Input::Result(result.clone()))?;
        Ok(Some(result))
    }

    /// Returns the caller of a child, if that is a child too; `None` for the root.
    pub fn caller_of(&self, child: &SessionId) -> Option<SessionId> {
        let caller = &self.here.children.get(child)?.caller.session;
        self.here.children.contains_key(caller).then(|| caller.clone())
    }

    /// Returns the names of the parts that a child is of, from the outermost on, as `a/b`; `None` if no call around it has parts.
    pub fn branch_of(&self, child: &SessionId) -> Option<String> {
        let part = |child: &SessionId| {
            let caller = &self.here.children.get(child)?.caller;
            let outer = self.here.children.get(&caller.session).map_or(&self.here.state, |outer| &outer.here.state);
            let call = self.engine.open_calls(outer).into_iter().find(|call| call.id == caller.call)?;
            call.part.as_ref().map(|of| of.part.to_string())
        };
        let above = std::iter::successors(Some(child.clone()), |child| self.caller_of(child));
        let mut names: Vec<String> = above.filter_map(|child| part(&child)).collect();
        names.reverse();
        (!names.is_empty()).then(|| names.join("/"))
    }

    /// Hands a result to the session of the tree that made the call.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn send_result(&mut self, result: ToolResult) -> Result<(), NavigateError> {
        let owner = self.owner_of(&result.id);
        self.send_in(owner.as_ref(), Input::Result(result))
    }

    /// Settles a call by hand: the result is accepted in place of whoever would have carried the call out, also while it waits for an approval. A record
    /// of its own kind says so, with whoever did it and why.
    ///
    /// # Errors
    /// As [`Session::send`].
    pub fn settle(&mut self, result: ToolResult, by: Option<Arc<str>>, because: Option<Arc<str>>) -> Result<(), NavigateError> {
        let owner = self.owner_of(&result.id);
        let unapproved = self.here.unapproved(owner.as_ref(), &result.id);
        let by_hand = SettledByHand { call: result.id.clone(), by, because, unapproved };
        let set = |session: &mut Self, by_hand| {
            let walk = match &owner {
                None => Some(&mut session.walk),
                Some(child) => session.children.get_mut(child),
            };
            walk.into_iter().for_each(|walk| walk.by_hand.clone_from(&by_hand));
        };
        set(self, Some(Box::new(by_hand)));
        self.send_in(owner.as_ref(), Input::Result(result)).inspect_err(|_| set(self, None))
    }

    /// The session of the tree that a result is for: the one that waits for it, else one that left the call, else the root.
    pub fn owner_of(&self, call: &CallId) -> Option<SessionId> {
        if self.here.children.is_empty() {
            return None;
        }
        let waits =
            |state: &State| state.pending_tool_call.as_ref().is_some_and(|pending| pending.id == *call) || self.is_part(state, call);
        let left = |state: &State| state.abandoned.iter().any(|left| left.id == *call);
        let root = &self.here.state;
        if waits(root) {
            return None;
        }
        let of = |holds: &dyn Fn(&State) -> bool| {
            self.here.children.iter().find(|(_, child)| holds(&child.here.state)).map(|(child, _)| child.clone())
        };
        of(&waits).or_else(|| if left(root) { None } else { of(&left) })
    }

    fn is_part(&self, state: &State, call: &CallId) -> bool {
        !state.parts.is_empty() && self.engine.open_calls(state).iter().any(|part| part.id == *call)
    }

    /// Raises a signal in the first session of the tree that takes it, from the innermost outwards (language 10.11). `timeout` is raised where it waits.
    ///
    /// # Errors
    /// None takes it; the refusal of the root, or of the named child.
    pub fn raise(&mut self, to: Option<&SessionId>, signal: &SignalName) -> Result<(), NavigateError> {
        if self.here.children.is_empty() {
            return self.signal(signal);
        }
        let order: Vec<SessionId> = self.here.tree().signal_order(to).into_iter().cloned().collect();
        let mut refusal = None;
        for session in order {
            let child = self.here.children.contains_key(&session).then_some(&session);
            match self.send_in(child, Input::Signal(signal.clone())) {
                Ok(()) => return Ok(()),
                Err(refused @ NavigateError::UnhandledSignal { .. }) => refusal = Some(refused),
                Err(refused) => refusal = refusal.or(Some(refused)),
            }
        }
        Err(refusal.unwrap_or(NavigateError::Ended { reason: trellis_core::state::EndReason::Failed }))
    }

    /// Returns whether this is the result of a child.
    pub(super) fn calls_graph(&self, child: Option<&SessionId>, result: &ToolResult) -> bool {
        self.here.of_child(child).is_some_and(|here| here.state.calls_graph(&result.id))
    }

    /// The children that a result ends other than by their success: a child that failed, and one that lives while a client settles its call.
    pub(super) fn left_by_result(&self, caller: Option<&SessionId>, input: &Input) -> Vec<SessionId> {
        let Input::Result(result) = input else { return Vec::new() };
        let Some(child) = self.here.children.get(result.id.as_str()) else { return Vec::new() };
        let is_finished = matches!(self.engine.outcome(&child.here.state), Some(ToolOutcome::Success(_)));
        if is_finished {
            return Vec::new();
        }
        let name = SessionId::new(result.id.shared());
        let below = self.here.tree().below(&name).into_iter().cloned().collect::<Vec<_>>();
        self.in_order(caller, std::iter::once(name).chain(below).collect())
    }

    /// The children below a session whose calls a step does not wait for any more, but for those that are known.
    pub(super) fn left_in(&self, caller: Option<&SessionId>, after: &State, input: &Input, known: &[SessionId]) -> Vec<SessionId> {
        let settled = if let Input::Result(result) = input { Some(result.id.as_str()) } else { None };
        let open = self.engine.open_calls(after);
        let Some(here) = self.here.of_child(caller) else { return Vec::new() };
        let tree = self.here.tree();
        let is_open = |child: &SessionId| open.iter().any(|call| call.id.as_str() == child.as_str());
        let gone = tree.children(&here.state.session_id).iter().copied().filter(|child| !is_open(child));
        let gone = gone.filter(|child| Some(child.as_str()) != settled && !known.contains(child));
        gone.flat_map(|child| std::iter::once(child).chain(tree.below(child))).cloned().collect()
    }

    /// Children in the order of the tree.
    pub(super) fn in_order(&self, caller: Option<&SessionId>, children: Vec<SessionId>) -> Vec<SessionId> {
        let Some(here) = self.here.of_child(caller) else { return children };
        let order = self.here.tree().below(&here.state.session_id);
        order.into_iter().filter(|child| children.contains(child)).cloned().collect()
    }

    pub(super) fn states(&self, children: &[SessionId]) -> Vec<&State> {
        children.iter().filter_map(|child| self.here.children.get(child)).map(|child| &child.here.state).collect()
    }

    /// The step of a late result of a call that a left child made, if that child is known.
    pub(super) fn late_of_left(&self, state: &State, input: &Input) -> Option<Step> {
        let Input::Result(result) = input else { return None };
        let left = state.abandoned.iter().find(|left| left.id == result.id && !left.is_settled)?;
        self.engine.late_in(state, self.left.get(left.child.as_ref()?)?, result.clone())
    }

    /// Records that a session takes over the effects of these children, and drops them.
    pub(super) fn part_with(&mut self, child: Option<&SessionId>, children: Vec<SessionId>, by: Step) {
        let at = self.now();
        let Some(here) = self.here.of_child_mut(child) else { return };
        let changes = Changes::between(&here.state, &by.state, &by.wrote);
        let from = here.state.current_node_id.clone();
        let unasked = self.left_unasked(child, &by.state, at, None);
        if let Some(here) = self.here.of_child_mut(child) {
            here.state = by.state;
        }
        self.here.inherit(child, &children);
        for left in &children {
            if let Some(gone) = self.here.children.remove(left) {
                self.left.insert(left.clone(), gone.here.state);
            }
            self.children.remove(left);
        }
        let entry = Entry::Leave { children };
        self.record(child, Happened { events: by.events, changes, unasked: unasked.clone(), ..Happened::at(at, entry, Some(from)) });
        self.here.note_unasked(&unasked);
    }

    /// Returns the calls that a step leaves, and that no client is asked for: none had been, or the result of the step was `answered` for it.
    pub(super) fn left_unasked(&self, child: Option<&SessionId>, after: &State, at: u64, answered: Option<&CallId>) -> Vec<CallId> {
        let is_busy = |id: &CallId| answered == Some(id) || self.is_busy(id) || self.left.contains_key(id.as_str());
        self.here.left_unasked(child, after, at, is_busy)
    }

    /// Lets go of a child that ended.
    pub(super) fn forget_child(&mut self, child: &SessionId) {
        self.here.children.remove(child);
        self.children.remove(child);
    }

    /// Forgets where left children were: nothing of theirs runs here any more.
    pub fn forget_left(&mut self) {
        self.left.clear();
    }
}

/// Leaves all children of a root in its state: for a caller that moves it.
pub(crate) fn left_alone(engine: &Engine, here: &mut Snapshot) {
    if here.children.is_empty() {
        return;
    }
    let children = std::mem::take(&mut here.children);
    let order: Vec<SessionId> = {
        let whole = Snapshot { children: children.clone(), ..here.clone() };
        whole.tree().below(&here.state.session_id).into_iter().cloned().collect()
    };
    let states: Vec<&State> = order.iter().filter_map(|child| children.get(child)).map(|child| &child.here.state).collect();
    let left = engine.leave(&here.state, &states).state;
    let whole = Snapshot { children, ..here.clone() };
    here.unasked.extend(whole.left_unasked(None, &left, here.at, |_| false));
    here.state = left;
}
