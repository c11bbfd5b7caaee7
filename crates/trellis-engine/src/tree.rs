//! A session with its children: their callers, and the order in which they wait and are asked (language 10.10, 10.11).
//!
//! It borrows the states from their owner. A child is named by the call that began it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::state::{CallKind, PendingCall, State};
use trellis_base::id::{CallId, SessionId};

/// The call that began a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The session that made it: the root of the tree, or another child.
    pub session: SessionId,
    /// The attempt; the child has its name.
    pub call: CallId,
}

/// A session with its children.
#[derive(Clone, Debug)]
pub struct Tree<'t> {
    root: &'t SessionId,
    callers: BTreeMap<&'t SessionId, &'t SessionId>,
    /// The children of each session, in the order of the parts that they are.
    children: BTreeMap<&'t SessionId, Vec<&'t SessionId>>,
}

impl<'t> Tree<'t> {
    /// The tree of a root and all its children, in any order.
    pub fn new(root: &'t State, children: impl IntoIterator<Item = (&'t Caller, &'t State)>) -> Self {
        let mut tree = Self { root: &root.session_id, callers: BTreeMap::new(), children: BTreeMap::new() };
        let children: Vec<_> = children.into_iter().collect();
        let states: BTreeMap<_, _> = children.iter().map(|(_, state)| (&state.session_id, *state)).chain([(tree.root, root)]).collect();
        let mut placed: Vec<_> = children
            .iter()
            .filter_map(|(caller, child)| Some((part_of(states.get(&caller.session)?, &caller.call), *caller, &child.session_id)))
            .collect();
        placed.sort_by_key(|(part, ..)| *part);
        for (_, caller, child) in placed {
            tree.callers.insert(child, &caller.session);
            tree.children.entry(&caller.session).or_default().push(child);
        }
        tree
    }

    /// The children that calls of a session began, in the order of its parts.
    pub fn children(&self, session: &SessionId) -> &[&'t SessionId] {
        self.children.get(session).map_or(&[], |children| children)
    }

    /// All children below a session, each behind its caller, depth first.
    pub fn below(&self, session: &SessionId) -> Vec<&'t SessionId> {
        let mut found = Vec::new();
        let mut open: Vec<_> = self.children(session).iter().rev().copied().collect();
        while let Some(child) = open.pop() {
            found.push(child);
            open.extend(self.children(child).iter().rev());
        }
        found
    }

    /// The number of callers above a session; 0 for the root.
    pub fn depth(&self, session: &SessionId) -> usize {
        self.callers_of(session).count()
    }

    /// The callers of a session, from its own outwards to the root.
    pub fn callers_of(&self, session: &SessionId) -> impl Iterator<Item = &'t SessionId> {
        std::iter::successors(self.callers.get(session).copied(), |caller| self.callers.get(caller).copied())
    }

    /// The sessions to which a signal is offered, in order: the innermost of the first branch, outwards along its callers up to the composite, the next
    /// branch, then the calling session and outwards. With `to` it begins at that child and goes outwards.
    pub fn signal_order(&self, to: Option<&SessionId>) -> Vec<&'t SessionId> {
        let found = to.and_then(|to| self.callers.get_key_value(to)).map(|(child, _)| *child);
        let mut order = self.innermost_first(found.unwrap_or(self.root));
        if let Some(child) = found {
            order.extend(self.callers_of(child));
        }
        order
    }

    /// A session and all below it, each behind its children.
    fn innermost_first(&self, session: &'t SessionId) -> Vec<&'t SessionId> {
        let mut found = Vec::new();
        let mut open = vec![session];
        while let Some(next) = open.pop() {
            found.push(next);
            open.extend(self.children(next));
        }
        found.reverse();
        found
    }
}

/// The place of a call among the parts of the call that a session waits for.
fn part_of(state: &State, call: &CallId) -> usize {
    let is_of =
        |branch: &PendingCall| call.as_str().strip_prefix(branch.idempotency_key.as_str()).is_some_and(|rest| rest.starts_with('-'));
    match state.pending_tool_call.as_deref().map(|whole| &whole.kind) {
        Some(CallKind::Parallel { branches, .. }) => branches.iter().position(|(_, branch)| is_of(branch)).unwrap_or(branches.len()),
        _ => 0,
    }
}
