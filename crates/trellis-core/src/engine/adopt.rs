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
    id::NodeId,
    path::KeyPath,
    program::{Call, Node, Role, WriteTarget},
    state::{CallKind, CallRole, PendingCall, State, Status, VERSION},
};

/// A stored state, fitted to a program.
#[derive(Clone, Debug)]
pub enum Adopted {
    /// It goes on where it is.
    Kept(State),
    /// It goes on elsewhere.
    Moved {
        /// The state there.
        state: State,
        /// Where it was.
        from: NodeId,
        /// Why it moved.
        why: Moved,
    },
    /// It cannot go on as it is.
    Blocked {
        /// The state, unchanged.
        state: State,
        /// Everything that is in the way.
        blockers: Vec<Blocker>,
    },
}

/// Why a session moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Its node has another id now (`was:`).
    Renamed,
    /// Its node is gone: it goes on at the nearest surviving module's `start`.
    Vanished,
    /// Its node does something else now, or its call is made anew: the node was entered again.
    Again,
}

/// What keeps a session from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// Its node needs these keys now.
    MissingKeys(Vec<String>),
    /// Its pending call is no longer what the node calls: another tool, or other arguments. [`Engine::adopt_deciding`] takes the decision.
    CallChanged {
        /// The call that is pending.
        pending: Arc<str>,
        /// What the node would call now.
        now: Arc<str>,
    },
    /// The node where it would go on cannot be entered.
    NotEntered {
        /// The node.
        node: NodeId,
        /// Why not.
        message: String,
    },
    /// The state was written by a newer version.
    Version(u32),
}

/// What becomes of a pending call that is no longer what its node calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedCall {
    /// It blocks the session, until somebody decides.
    #[default]
    Blocks,
    /// It stays pending as it is.
    Kept,
    /// It is abandoned, and the node is entered again.
    MadeAgain,
}

/// How a state stands to its node.
enum Fit {
    /// It goes on as it is.
    Stays,
    /// The node must be entered again.
    Again,
    Blocked(Vec<Blocker>),
}

impl Engine {
    pub(super) fn fit(&self, state: State, changed: ChangedCall) -> Adopted {
        if state.version > VERSION {
            let blockers = vec![Blocker::Version(state.version)];
            return Adopted::Blocked { state, blockers };
        }
        let here = self.program.find(&state.current_node_id);
        if here.is_none() && state.status == Status::Terminated {
            return Adopted::Kept(self.stamped(state));
        }
        let Some(index) = here.or_else(|| self.program.find_renamed(&state.current_node_id)) else { return self.vanished(state) };
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

    /// Whether a state can go on at `node`, and everything that keeps it from that.
    fn fit_at(&self, state: &State, node: &Node, changed: ChangedCall) -> Fit {
        if matches!(state.status, Status::Terminated | Status::RollingBack) {
            return Fit::Stays;
        }
        let step = Move::new(self, state.clone());
        let mut blockers = Vec::new();
        let pending = state.pending_tool_call.as_deref();
        let at_gate = pending.is_some_and(|call| call.role == CallRole::BeforeEach);
        let is_same = match pending {
            // It was kept before calls had parts: it is made anew.
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

    /// Whether the pending call is still what the node, or its graph's gate, would call; nothing where that calls nothing any more.
    fn calls_now(&self, step: &Move<'_>, node: &Node, pending: &PendingCall, at_gate: bool) -> Option<Result<(), Blocker>> {
        let call: &Call = if at_gate { self.program.graph_of(node).before_each.as_deref()? } else { call_of(node)? };
        let now = step.interpolate(node, call, pending.role.clone());
        let same = now.as_ref().is_ok_and(|now| self.alike(now, pending));
        Some(if same { Ok(()) } else { Err(Blocker::CallChanged { pending: pending.name.clone(), now: name(call).into() }) })
    }

    /// The same place under another id.
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

    /// Goes on at the nearest surviving module's `start`.
    fn vanished(&self, state: State) -> Adopted {
        let node = self.nearest_start(&state.current_node_id);
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

    fn nearest_start(&self, vanished: &NodeId) -> &Node {
        let mut folder = vanished.folder();
        while !folder.is_empty() {
            if let Some(index) = self.program.find(&NodeId::new(format!("{folder}/start"))) {
                return self.program.node(index);
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        self.program.entry()
    }
}

impl Engine {
    /// Whether two calls call the same: names, arguments, branches and items, whatever their policies say.
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
