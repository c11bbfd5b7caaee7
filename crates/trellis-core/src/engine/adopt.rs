//! `adopt`: a stored state fitted to a program, the one function behind resume, watch and `session check`.
//!
//! **Invariant:** a blocked state comes back unchanged; frozen undo calls survive the deletion of their node.

use std::sync::Arc;

use super::{
    Engine,
    call::{call_of, name},
    fail::Stop,
    step::{Move, first_point},
};
use crate::{
    id::NodeId,
    program::{Call, Failure, Node, Role, Target},
    state::{CallRole, PendingCall, State, Status, VERSION},
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
}

/// What keeps a session from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// Its node needs these keys now.
    MissingKeys(Vec<String>),
    /// Its pending call is no longer what the node calls: another tool, or other arguments.
    CallChanged {
        /// The call that is pending.
        pending: Arc<str>,
        /// What the node would call now, if it still calls.
        now: Option<Arc<str>>,
    },
    /// Its node waits for something else now.
    RoleChanged(NodeId),
    /// The state was written by a newer version.
    Version(u32),
}

impl Engine {
    pub(super) fn fit(&self, state: State) -> Adopted {
        if state.version > VERSION {
            let blockers = vec![Blocker::Version(state.version)];
            return Adopted::Blocked { state, blockers };
        }
        if let Some(index) = self.program.find(&state.current_node_id) {
            let blockers = self.blockers(&state, self.program.node(index));
            return if blockers.is_empty() { Adopted::Kept(self.stamped(state)) } else { Adopted::Blocked { state, blockers } };
        }
        if state.status == Status::Terminated {
            return Adopted::Kept(self.stamped(state));
        }
        match self.program.find_renamed(&state.current_node_id) {
            Some(index) => self.renamed(state, self.program.node(index)),
            None => self.vanished(state),
        }
    }

    fn stamped(&self, state: State) -> State {
        State { program: self.program.fingerprint().clone(), ..state }
    }

    /// Everything that keeps a state from going on at `node`.
    fn blockers(&self, state: &State, node: &Node) -> Vec<Blocker> {
        if matches!(state.status, Status::Terminated | Status::RollingBack) {
            return Vec::new();
        }
        let mut blockers = Vec::new();
        let step = Move::new(self, state.clone());
        let pending = state.pending_tool_call.as_deref();
        let at_gate = pending.is_some_and(|call| call.role == CallRole::BeforeEach);
        let missing: Vec<_> = node.entry.required.iter().filter(|path| step.missing(path)).map(ToString::to_string).collect();
        // Before `before_each` came back the requirements are not due: it may bring the keys.
        if !missing.is_empty() && !at_gate {
            blockers.push(Blocker::MissingKeys(missing));
        }
        let same_role = match (&node.role, state.status) {
            _ if at_gate => true,
            (Role::Pass, Status::Active) => !node.terminal,
            (Role::Listen(_), Status::WaitingForInput) | (Role::Act(_), Status::WaitingForTool) => true,
            _ => false,
        };
        match pending {
            Some(pending) => blockers.extend(changed(&step, node, pending, at_gate)),
            None if !same_role => blockers.push(Blocker::RoleChanged(node.id.clone())),
            None => {}
        }
        blockers
    }

    /// The same place under another id.
    fn renamed(&self, state: State, node: &Node) -> Adopted {
        let blockers = self.blockers(&state, node);
        if !blockers.is_empty() {
            return Adopted::Blocked { state, blockers };
        }
        let from = state.current_node_id.clone();
        let mut state = self.stamped(state);
        if let Some(visits) = state.visits.get(&from).copied() {
            state.visits.remove_mut(&from);
            state.visits.insert_mut(node.id.clone(), visits);
        }
        state.current_node_id = node.id.clone();
        Adopted::Moved { state, from, why: Moved::Renamed }
    }

    /// Goes on at the nearest surviving module's `start`: entered like any node, as a step of its own so that keys stay unique.
    fn vanished(&self, state: State) -> Adopted {
        let from = state.current_node_id.clone();
        let node = self.nearest_start(&from);
        if state.status == Status::RollingBack {
            let state = State { current_node_id: node.id.clone(), ..self.stamped(state) };
            return Adopted::Moved { state, from, why: Moved::Vanished };
        }
        let mut step = Move::new(self, self.stamped(state.clone()));
        step.state.step += 1;
        step.fresh = true;
        step.abandon();
        let point = first_point(node);
        match step.follow(point, Target::Point(point)) {
            Ok(()) => Adopted::Moved { state: step.state, from, why: Moved::Vanished },
            Err(stop) => Adopted::Blocked { blockers: vec![blocker(&step, node, &stop)], state },
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

/// Whether the pending call is still what the node, or its graph's gate, would call.
fn changed(step: &Move<'_>, node: &Node, pending: &PendingCall, at_gate: bool) -> Option<Blocker> {
    let graph = step.program.graph_of(node);
    let call: Option<&Call> = if at_gate { graph.before_each.as_deref() } else { call_of(node) };
    let now = call.map(|call| (name(call), step.interpolate(node, call, pending.role.clone())));
    let same = now.as_ref().is_some_and(|(_, now)| now.as_ref().is_ok_and(|now| alike(now, pending)));
    let now = now.map(|(name, _)| name.into());
    (!same).then(|| Blocker::CallChanged { pending: pending.name.clone(), now })
}

fn alike(now: &PendingCall, pending: &PendingCall) -> bool {
    (&now.name, &now.args, &now.secrets, &now.kind) == (&pending.name, &pending.args, &pending.secrets, &pending.kind)
}

fn blocker(step: &Move<'_>, node: &Node, stop: &Stop) -> Blocker {
    match stop {
        Stop::Failed(failed) if failed.failure == Failure::MissingContext => {
            let missing = node.entry.required.iter().filter(|path| step.missing(path));
            Blocker::MissingKeys(missing.map(ToString::to_string).collect())
        }
        _ => Blocker::RoleChanged(node.id.clone()),
    }
}
