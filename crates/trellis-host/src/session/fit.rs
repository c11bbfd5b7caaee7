//! Fitting a session with its children to another program (language 10, chapter B of the journal): children first.

use std::collections::BTreeMap;

use trellis_core::{
    Engine, NodeId, SessionId, State,
    engine::{Adopted, Blocker, ChangedCall, Moved, pending_call},
    state::CallKind,
    tree::Caller,
};

use crate::{journal::ChildState, store::Snapshot};

/// A tree that fits a program.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    /// The state of the root.
    pub(crate) state: State,
    /// The earlier node of the root, and the reason why it moved.
    pub(crate) moved: Option<(NodeId, Moved)>,
    /// The states of its children; missing ones are left.
    pub(crate) children: BTreeMap<SessionId, ChildState>,
}

/// The reason why a tree cannot continue: the child that does not fit, or the root.
pub(crate) type Unfit = (Option<SessionId>, Vec<Blocker>);

/// Fits every session of a tree, innermost first. One that moves leaves its children: their effects are its own before it moves.
///
/// # Errors
/// The first session that does not fit.
pub(crate) fn fit(engine: &Engine, here: &Snapshot, changed: ChangedCall) -> Result<Fitted, Unfit> {
    let tree = here.tree();
    let mut children: BTreeMap<SessionId, ChildState> = BTreeMap::new();
    for child in tree.below(&here.state.session_id).into_iter().rev() {
        let Some(known) = here.children.get(child) else { continue };
        let below: Vec<SessionId> = tree.below(child).into_iter().cloned().collect();
        let began = began(here, &known.caller);
        let fitted = fit_one(engine, (&known.here.state, began.as_ref()), &below, &mut children, changed);
        let (state, _) = fitted.map_err(|blockers| (Some(child.clone()), blockers))?;
        children.insert(child.clone(), ChildState { caller: known.caller.clone(), state });
    }
    let below: Vec<SessionId> = tree.below(&here.state.session_id).into_iter().cloned().collect();
    let (state, moved) = fit_one(engine, (&here.state, None), &below, &mut children, changed).map_err(|blockers| (None, blockers))?;
    Ok(Fitted { state, moved, children })
}

/// The state of one session, and its earlier node, if it moved.
type FittedState = (State, Option<(NodeId, Moved)>);

/// The node at which a child began: the one that its caller calls.
fn began(here: &Snapshot, caller: &Caller) -> Option<NodeId> {
    let outer = here.children.get(&caller.session).map_or(&here.state, |outer| &outer.here.state);
    match &pending_call(outer, &caller.call)?.kind {
        CallKind::Graph(node) => Some(node.clone()),
        CallKind::Tool | CallKind::Parallel { .. } | CallKind::Each { .. } => None,
    }
}

/// Fits one session, whose children fit already; of a child, with the node at which it began.
fn fit_one(
    engine: &Engine,
    (state, began): (&State, Option<&NodeId>),
    below: &[SessionId],
    children: &mut BTreeMap<SessionId, ChildState>,
    changed: ChangedCall,
) -> Result<FittedState, Vec<Blocker>> {
    let first = adopted(engine, state.clone(), began, changed)?;
    let leaves = matches!(first.1, Some((_, Moved::Vanished | Moved::Again)));
    let left: Vec<SessionId> = below.iter().filter(|child| leaves && children.contains_key(*child)).cloned().collect();
    if left.is_empty() {
        return Ok(first);
    }
    let states: Vec<State> = left.iter().filter_map(|child| children.remove(child)).map(|child| child.state).collect();
    let taken_over = engine.leave(state, &states.iter().collect::<Vec<_>>()).state;
    adopted(engine, taken_over, began, changed)
}

fn adopted(engine: &Engine, state: State, began: Option<&NodeId>, changed: ChangedCall) -> Result<FittedState, Vec<Blocker>> {
    let adopted = match began {
        Some(began) => engine.adopt_child(state, began, changed),
        None => engine.adopt_deciding(state, changed),
    };
    match adopted {
        Adopted::Kept(state) => Ok((state, None)),
        Adopted::Moved { state, from, why } => Ok((state, Some((from, why)))),
        Adopted::Blocked { blockers, .. } => Err(blockers),
    }
}
