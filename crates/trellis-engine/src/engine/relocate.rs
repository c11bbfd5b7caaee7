//! Putting a session elsewhere: into a node, back to where it was, or into a session of its own.
//!
//! In: stored states. Out: a step to the new state, for a host to record as the beginning of an epoch.
//!
//! **Invariant:** no call has the key of an earlier call; effects of a session on the world stay known to it, and to it alone.

use std::sync::Arc;

use super::{
    Engine, Event, Step,
    fail::Stop,
    step::{Move, find, first_point},
};
use crate::{
    program::{Failure, Node, Target},
    state::{Effects, State, Status, VERSION},
};
use trellis_base::id::{KeySeed, NodeId, SessionId};

/// The reason why a session cannot be moved; it stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEntered {
    /// There is no such node.
    #[error("there is no node `{0}`")]
    Unknown(NodeId),
    /// Keys that are certainly read from there on are not set (language 8.7).
    #[error("`{node}` needs {}, not set", listed(keys))]
    Lacks {
        /// The node.
        node: NodeId,
        /// The keys.
        keys: Vec<String>,
    },
    /// Entering it fails.
    #[error("{message}")]
    Fails {
        /// The node.
        node: NodeId,
        /// The reason.
        message: String,
    },
    /// Undos are under way: their effects would be forgotten.
    #[error("the session is rolling back, which cannot be left half way")]
    RollingBack,
    /// The session had ended there.
    #[error("the session had ended there")]
    Ended,
}

fn listed(keys: &[String]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

impl Engine {
    pub(super) fn put_at(&self, state: State, id: &NodeId) -> Result<Step, NotEntered> {
        if state.status == Status::RollingBack {
            return Err(NotEntered::RollingBack);
        }
        let index = find(&self.program, id).ok_or_else(|| NotEntered::Unknown(id.clone()))?;
        let node = self.program.node(index);
        let needs = self.program.needs(node);
        let keys: Vec<_> = needs.there().filter(|path| !state.has(path)).map(ToString::to_string).collect();
        if !keys.is_empty() {
            return Err(NotEntered::Lacks { node: node.id.clone(), keys });
        }
        self.entered(state, node, true)
    }

    pub(super) fn put_back(&self, now: &State, then: State) -> Result<Step, NotEntered> {
        if now.status == Status::RollingBack {
            return Err(NotEntered::RollingBack);
        }
        let mut left = Move::new(self, now.clone());
        left.abandon();
        let left = left.state;
        let state = State {
            step: left.step,
            effects: left.effects,
            abandoned: left.abandoned,
            settled: left.settled,
            program: left.program,
            ..then
        };
        self.stand_again(state)
    }

    pub(super) fn split(&self, then: State, session: SessionId, seed: Option<KeySeed>) -> Result<Step, NotEntered> {
        let state = State { session_id: session, seed, effects: Effects::default(), abandoned: Arc::default(), settled: None, ..then };
        self.stand_again(state)
    }

    /// Takes up a past state as a step of its own. A call that was pending then is another call now, so its node is entered again.
    fn stand_again(&self, mut state: State) -> Result<Step, NotEntered> {
        match state.status {
            Status::RollingBack => return Err(NotEntered::RollingBack),
            Status::Terminated => return Err(NotEntered::Ended),
            Status::Active | Status::WaitingForInput | Status::WaitingForTool => {}
        }
        if state.take_call().is_some() {
            let index = find(&self.program, &state.current_node_id).ok_or_else(|| NotEntered::Unknown(state.current_node_id.clone()))?;
            return self.entered(state, self.program.node(index), true);
        }
        state.step += 1;
        // Waits are measured from now on, not from then.
        state.entered = state.step;
        let events = vec![Event::Entered(state.current_node_id.clone())];
        Ok(Step { state, events, wrote: Vec::new(), took: Vec::new() })
    }

    /// Enters a node like any other, as a step of its own so that keys stay unique. A pending call is abandoned; an ended session becomes
    /// active again.
    pub(super) fn entered(&self, state: State, node: &Node, leaves: bool) -> Result<Step, NotEntered> {
        let mut step = Move::new(self, State { version: VERSION, program: self.program.fingerprint().clone(), ..state });
        let state = &mut step.state;
        let is_standing = state.current_node_id == node.id && state.ended.is_none();
        if let Some(visits) = state.visits.get(&node.id).copied().filter(|visits| is_standing && *visits > 0) {
            // It is there already: entering it again is no other visit.
            state.visits.insert_mut(node.id.clone(), visits - 1);
        }
        state.step += 1;
        if state.ended.take().is_some() {
            state.rolled_back = false;
        }
        step.fresh = is_standing || !leaves;
        step.abandon();
        let point = first_point(node);
        if let Err(stop) = step.follow(point, Target::Point(point)) {
            return Err(refusal(&step, node, stop));
        }
        let ended = step.state.ended.as_ref().filter(|_| step.state.current_node_id != node.id);
        match ended.and_then(|ended| ended.message.clone()) {
            Some(message) => Err(NotEntered::Fails { node: node.id.clone(), message: message.to_string() }),
            None => Ok(step.into_step()),
        }
    }
}

fn refusal(step: &Move<'_>, node: &Node, stop: Stop) -> NotEntered {
    let message = match stop {
        Stop::Failed(failed) if failed.failure == Failure::MissingContext => {
            let missing = node.entry.required.iter().filter(|path| step.missing(path));
            return NotEntered::Lacks { node: node.id.clone(), keys: missing.map(ToString::to_string).collect() };
        }
        Stop::Failed(failed) => failed.message,
        Stop::Unanswered(unanswered) => unanswered.to_string(),
    };
    NotEntered::Fails { node: node.id.clone(), message }
}
