//! `adopt`: a stored state fitted to a program, the one function behind resume, watch and `session check`.
//!
//! **Invariant:** a blocked state comes back unchanged; frozen undo calls survive the deletion of their node.

use std::sync::Arc;

use super::{
    Engine, NotEntered,
    call::{call_of, name},
    step::{Move, find},
};
use crate::{
    program::{Call, Node, Role, WriteTarget},
    state::{CallKind, CallRole, PendingCall, State, Status, VERSION},
};
use trellis_base::{id::NodeId, path::KeyPath};

/// A stored state, fitted to a program.
#[derive(Clone, Debug)]
pub enum Adopted {
    /// The session continues at its node.
    Kept(State),
    /// The session continues at another node.
    Moved {
        /// The state there.
        state: State,
        /// The node where it was.
        from: NodeId,
        /// The reason why it moved.
        why: Moved,
    },
    /// The session cannot continue as it is.
    Blocked {
        /// The state, unchanged.
        state: State,
        /// Every reason against it.
        blockers: Vec<Blocker>,
    },
}

/// The reason why a session moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Its node has another id now (`was:`).
    Renamed,
    /// Its node is gone: it continues at the nearest surviving module's `start`, a child at most where it began.
    Vanished,
    /// Its node does something else now, or its call is made again: the node was entered again.
    Again,
}

/// A reason why a session cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// Its node needs these keys now.
    MissingKeys(Vec<String>),
    /// Its pending call differs from the call of the edited node: another tool, or other arguments. [`Engine::adopt_deciding`] takes the decision.
    CallChanged {
        /// The call that is pending.
        pending: Arc<str>,
        /// The call that the node would make now.
        now: Arc<str>,
    },
    /// The node where it would continue cannot be entered.
    NotEntered {
        /// The node.
        node: NodeId,
        /// The reason.
        message: String,
    },
    /// The state was written by a newer version.
    Version(u32),
}

/// The decision about a pending call that its node would no longer make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedCall {
    /// It blocks the session, until there is a decision.
    #[default]
    Blocks,
    /// It stays pending as it is.
    Kept,
    /// It is abandoned, and the node is entered again.
    MadeAgain,
}

/// A relation between a state and its node.
enum Fit {
    /// It continues unchanged.
    Stays,
    /// The node must be entered again.
    Again,
    Blocked(Vec<Blocker>),
}

impl Engine {
    /// Fits a state; of a child, `began` is the node at which it began.
    pub(super) fn fit(&self, state: State, began: Option<&NodeId>, changed: ChangedCall) -> Adopted {
        if state.version > VERSION {
            let blockers = vec![Blocker::Version(state.version)];
            return Adopted::Blocked { state, blockers };
        }
        let here = self.program.find(&state.current_node_id);
        if here.is_none() && state.status == Status::Terminated {
            return Adopted::Kept(self.stamped(state));
        }
        let Some(index) = here.or_else(|| self.program.find_renamed(&state.current_node_id)) else { return self.vanished(state, began) };
        let node = self.program.node(index);
        match self.fit_at(&state, node, changed) {
            Fit::Stays if here.is_some() => Adopted::Kept(self.stamped(state)),
            Fit::Stays => self.renamed(state, node),
            Fit::Again => self.entered_again(state, node, Moved::Again),
            Fit::Blocked(blockers) => Adopted::Blocked { state, blockers },
        }
    }

    fn stamped(&self, state: State) -> State {
        State { version: VERSION, program: self.program.fingerprint().clone(), ..state }
    }

    /// Returns whether a state can continue at `node`, and everything that prevents it.
    fn fit_at(&self, state: &State, node: &Node, changed: ChangedCall) -> Fit {
        if matches!(state.status, Status::Terminated | Status::RollingBack) {
            return Fit::Stays;
        }
        let step = Move::new(self, state.clone());
        let mut blockers = Vec::new();
        let pending = state.pending_tool_call.as_deref();
        let at_gate = pending.is_some_and(|call| call.role == CallRole::BeforeEach);
        let is_same = match pending {
            // It was stored before calls had parts: it is made again.
            Some(_) if state.lacks_parts() => false,
            Some(pending) => match self.calls_now(&step, node, pending, at_gate) {
                None => false,
                Some(Ok(())) => true,
                Some(Err(_)) if changed == ChangedCall::Kept => true,
                Some(Err(_)) if changed == ChangedCall::MadeAgain => false,
                Some(Err(blocker)) => {
                    blockers.push(blocker);
                    true
                }
            },
            None => match (&node.role, state.status) {
                (Role::Pass, Status::Active) => !node.terminal,
                (Role::Listen(_), Status::WaitingForInput) => true,
                _ => false,
            },
        };
        if !is_same {
            return Fit::Again;
        }
        let missing = self.program.admits_at(state, node).err().map(|missing| missing.0).unwrap_or_default();
        let by_default =
            |path: &KeyPath| node.entry.defaults.iter().any(|write| matches!(&write.to, WriteTarget::Absent(key) if key == path.root()));
        if !missing.is_empty() && pending.is_none() && missing.iter().all(by_default) {
            return Fit::Again;
        }
        if !missing.is_empty() {
            blockers.insert(0, Blocker::MissingKeys(missing.iter().map(ToString::to_string).collect()));
        }
        if blockers.is_empty() { Fit::Stays } else { Fit::Blocked(blockers) }
    }

    /// Compares the pending call with the one that the node, or its graph's gate, would make now; `None` if it makes none any more.
    fn calls_now(&self, step: &Move<'_>, node: &Node, pending: &PendingCall, at_gate: bool) -> Option<Result<(), Blocker>> {
        let call: &Call = if at_gate { self.program.graph_of(node).before_each.as_deref()? } else { call_of(node)? };
        let now = step.interpolate(node, call, pending.role.clone());
        let same = now.as_ref().is_ok_and(|now| self.alike(now, pending));
        Some(if same { Ok(()) } else { Err(Blocker::CallChanged { pending: pending.name.clone(), now: name(call).into() }) })
    }

    /// Adopts the state at the new id of its node.
    fn renamed(&self, state: State, node: &Node) -> Adopted {
        let from = state.current_node_id.clone();
        let mut state = self.stamped(state);
        if let Some(visits) = state.visits.get(&from).copied() {
            state.visits.remove_mut(&from);
            state.visits.insert_mut(node.id.clone(), visits);
        }
        state.current_node_id = node.id.clone();
        Adopted::Moved { state, from, why: Moved::Renamed }
    }

    /// Moves to the nearest surviving module's `start`, a child at most to where it began.
    fn vanished(&self, state: State, began: Option<&NodeId>) -> Adopted {
        let node = self.nearest_start(&state.current_node_id, began);
        if state.status == Status::RollingBack {
            let from = state.current_node_id.clone();
            let state = State { current_node_id: node.id.clone(), ..self.stamped(state) };
            return Adopted::Moved { state, from, why: Moved::Vanished };
        }
        self.entered_again(state, node, Moved::Vanished)
    }

    fn entered_again(&self, state: State, node: &Node, why: Moved) -> Adopted {
        let from = state.current_node_id.clone();
        match self.entered(state.clone(), node, false) {
            Ok(step) => Adopted::Moved { state: step.state, from, why },
            Err(refused) => Adopted::Blocked { blockers: vec![refused.into()], state },
        }
    }

    fn nearest_start(&self, vanished: &NodeId, began: Option<&NodeId>) -> &Node {
        let outermost = began.and_then(|began| find(&self.program, began)).map(|index| self.program.node(index));
        let above = outermost.map_or("", |node| node.id.folder());
        let mut folder = vanished.folder();
        while !folder.is_empty() && folder != above {
            if let Some(index) = self.program.find(&NodeId::new(format!("{folder}/start"))) {
                return self.program.node(index);
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        outermost.unwrap_or_else(|| self.program.entry())
    }
}

impl Engine {
    /// Returns whether two calls are the same: in names, arguments, branches and items, not in their policies.
    fn alike(&self, now: &PendingCall, pending: &PendingCall) -> bool {
        let kinds = match (&now.kind, &pending.kind) {
            (CallKind::Parallel { branches: now, .. }, CallKind::Parallel { branches: pending, .. }) => {
                let same = |((now_name, now), (name, pending)): (&(_, PendingCall), &(_, PendingCall))| {
                    now_name == name && self.alike(now, pending)
                };
                now.len() == pending.len() && now.iter().zip(pending).all(same)
            }
            (CallKind::Each { items: now, .. }, CallKind::Each { items: pending, .. }) => now == pending,
            // The called node may have another id now.
            (CallKind::Graph(now), CallKind::Graph(pending)) => {
                now == pending || find(&self.program, pending).is_some_and(|node| self.program.node(node).id == *now)
            }
            (now, pending) => now == pending,
        };
        kinds && (&now.name, &now.args, &now.secrets) == (&pending.name, &pending.args, &pending.secrets)
    }
}

impl From<NotEntered> for Blocker {
    fn from(refused: NotEntered) -> Self {
        match refused {
            NotEntered::Lacks { keys, .. } => Self::MissingKeys(keys),
            NotEntered::Fails { node, message } => Self::NotEntered { node, message },
            NotEntered::Unknown(ref node) => Self::NotEntered { node: node.clone(), message: refused.to_string() },
            NotEntered::RollingBack | NotEntered::Ended => Self::NotEntered { node: NodeId::from(""), message: refused.to_string() },
        }
    }
}
