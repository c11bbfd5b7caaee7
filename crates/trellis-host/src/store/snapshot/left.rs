//! Calls of a session and what became of them before they were left: held, delayed, or nobody's yet.
//!
//! **Invariant:** the result of a call that no client had been asked for is not a client's to give, also after the session left the call.

use std::collections::BTreeSet;

use trellis_core::{
    SessionId, State,
    engine::{Call, pending_call, pending_calls},
    id::CallId,
    state::{CallKind, PendingCall},
};

use super::Snapshot;
use crate::policy::Decision;

impl Snapshot {
    /// Returns whether this call was approved.
    pub fn is_approved(&self, call: &PendingCall) -> bool {
        self.approved.iter().any(|approved| approved.key == call.idempotency_key)
    }

    /// Returns whether this call waits for an approval that was not given: its graph asks for one, or a policy decided so.
    pub fn is_held_for_approval(&self, call: &PendingCall) -> bool {
        let asks = self.rulings.get(&call.idempotency_key).is_some_and(|ruling| ruling.decision == Decision::Ask);
        (call.approve.is_some() || asks) && !self.is_approved(call)
    }

    /// Returns the time from which this call is in question, for its result or its approval: when its delay was over, or when it was approved.
    pub fn asked_at(&self, call: &PendingCall) -> u64 {
        let made = self.waits.get(&call.id).copied().unwrap_or(self.stepped_at);
        let asked = made.saturating_add(call.delay);
        let approved = self.approved.iter().find(|approved| approved.key == call.idempotency_key);
        approved.map_or(asked, |approved| approved.at.max(asked))
    }

    /// The pending call, then its parts without an outcome.
    pub(crate) fn unsettled_calls(&self) -> impl Iterator<Item = Call> {
        let parts = self.state.parts.iter().map(|part| part.outcome.is_none());
        pending_calls(&self.state).zip(std::iter::once(true).chain(parts)).filter_map(|(call, is_open)| is_open.then_some(call))
    }

    /// The calls that settling this one by hand would overrule: it, its whole, its parts and those of its children, where one needs an approval and has
    /// none, or the policy denied it.
    pub(crate) fn unapproved(&self, owner: Option<&SessionId>, settled: &CallId) -> Vec<CallId> {
        let Some(here) = self.of_child(owner) else { return Vec::new() };
        let whole = here.unsettled_calls().find(|call| call.id == *settled).and_then(|call| Some(call.part.as_ref()?.of.clone()));
        let is_part = |call: &Call| call.part.as_ref().is_some_and(|of| of.of == *settled);
        let is_settled = |call: &Call| call.id == *settled || is_part(call) || whole.as_ref() == Some(&call.id);
        let calls: Vec<Call> = here.unsettled_calls().filter(is_settled).collect();
        let tree = self.tree();
        let below = calls.iter().map(|call| SessionId::new(call.id.shared())).filter(|child| self.children.contains_key(child));
        let children: Vec<SessionId> =
            below.flat_map(|child| tree.below(&child).into_iter().cloned().chain([child.clone()]).collect::<Vec<_>>()).collect();
        let own = calls.iter().filter(|call| here.is_unapproved(call)).map(|call| call.id.clone());
        let of_children = children.iter().filter_map(|child| self.of_child(Some(child)));
        let of_children = of_children.flat_map(|here| here.unsettled_calls().filter(|call| here.is_unapproved(call)).collect::<Vec<_>>());
        own.collect::<Vec<_>>().into_iter().chain(of_children.map(|call| call.id.clone())).collect()
    }

    fn is_unapproved(&self, call: &PendingCall) -> bool {
        let is_denied = self.rulings.get(&call.idempotency_key).is_some_and(|ruling| ruling.decision == Decision::Block);
        self.is_held_for_approval(call) || is_denied
    }

    /// Returns the calls that a step of a session of the tree to `after` leaves, and that no client had been asked for: those that are held or
    /// delayed, those of which the parts or a child are made, and those that are `busy`.
    pub(crate) fn left_unasked(&self, child: Option<&SessionId>, after: &State, at: u64, is_busy: impl Fn(&CallId) -> bool) -> Vec<CallId> {
        let Some(here) = self.of_child(child) else { return Vec::new() };
        let known = &here.state.abandoned;
        let is_new = |id: &CallId| !known.iter().any(|left| left.id == *id);
        let new = after.abandoned.iter().map(|left| &left.id).filter(|id| is_new(id));
        let is_unasked = |id: &&CallId| {
            let mut of_tree = std::iter::once(here).chain(self.children.values().map(|child| &child.here));
            let found = of_tree.find_map(|here| Some((here, pending_call(&here.state, id)?)));
            is_busy(id) || found.is_some_and(|(here, call)| self.is_unasked(here, &call, at))
        };
        new.filter(is_unasked).cloned().collect()
    }

    fn is_unasked(&self, here: &Self, call: &PendingCall, at: u64) -> bool {
        let is_before_its_turn = |call: &PendingCall| here.is_held_for_approval(call) || call.delay > 0 && here.asked_at(call) > at;
        let whole = here.state.pending_tool_call.as_deref();
        matches!(call.kind, CallKind::Parallel { .. } | CallKind::Each { .. })
            || self.children.contains_key(call.id.as_str())
            || is_before_its_turn(call)
            || whole.is_some_and(is_before_its_turn)
    }

    /// Remembers calls that were left and that no client had been asked for, and forgets those that no session of the tree knows any more.
    pub(crate) fn note_unasked(&mut self, left: &[CallId]) {
        if left.is_empty() {
            return;
        }
        let Self { unasked, state, children, .. } = self;
        unasked.extend(left.iter().cloned());
        let states = std::iter::once(&*state).chain(children.values().map(|child| &child.here.state));
        let known: BTreeSet<&CallId> = states.flat_map(|state| state.abandoned.iter().map(|left| &left.id)).collect();
        unasked.retain(|id| known.contains(id));
    }
}
