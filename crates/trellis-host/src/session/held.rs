//! Calls that wait for an approval: of their graph, of a policy, or of an interceptor (language 5.6).

use std::sync::Arc;

use trellis_core::{
    SessionId,
    engine::Call,
    state::{Approval, PendingCall},
};

use super::Session;
use crate::policy::{Decided, Decision, HoldTerms};

/// A call that waits for an approval.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HeldCall {
    /// The call, with the question and the time that it waits with.
    pub call: Call,
    /// The time at which the approval expires, in milliseconds since 1970.
    pub due: Option<u64>,
}

impl Session {
    /// Returns a call that waits for an approval that was not given: its graph asks for one, or a policy or an interceptor decided so.
    pub fn held_call(&self, child: Option<&SessionId>, call: &Call) -> Option<HeldCall> {
        let here = self.here.of_child(child).filter(|here| here.is_held_for_approval(call))?;
        let ruling = here.rulings.get(&call.idempotency_key).filter(|ruling| ruling.decision == Decision::Ask);
        let of_graph = call.approve.as_ref().and_then(|approval| approval.expires);
        let of_graph = of_graph.map(|expires| (here.asked_at(call).saturating_add(expires), expires));
        let Some(hold) = ruling.and_then(|ruling| ruling.hold.as_ref()) else {
            return Some(HeldCall { call: Arc::clone(call), due: of_graph.map(|(due, _)| due) });
        };
        let end = of_graph.into_iter().chain(hold.end()).min();
        let ask = hold.ask.clone().or_else(|| call.approve.as_ref()?.ask.clone());
        let approve = Some(Approval { ask, expires: end.map(|(_, expires)| expires) });
        let call = Arc::new(PendingCall { approve, ..PendingCall::clone(call) });
        Some(HeldCall { call, due: end.map(|(due, _)| due) })
    }

    /// Holds a pending call of the tree on an interceptor's terms, unless it is held on some already; returns the decision that is recorded.
    pub(crate) fn hold(&mut self, child: Option<&SessionId>, call: &Call, hold: HoldTerms) -> Option<Decided> {
        let before = self.here.of_child(child)?.rulings.get(&call.idempotency_key).cloned();
        if before.as_ref().is_some_and(|before| before.hold.is_some()) {
            return None;
        }
        let decided = Decided::wait_on(before, hold);
        self.decide(child, call.idempotency_key.clone(), decided.clone());
        Some(decided)
    }
}
