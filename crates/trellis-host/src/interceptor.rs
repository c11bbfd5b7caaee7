//! Interceptors: they see each call before it runs (language C.3).
//!
//! **Invariant:** an interceptor may ask for more approvals than the graph, never for fewer (language 5.6).

use trellis_core::{ToolOutcome, state::PendingCall};

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It runs, as far as this interceptor is concerned.
    Allow,
    /// It is denied, with a reason.
    Deny(Option<String>),
    /// It does not run: this is what became of it.
    Answer(ToolOutcome),
    /// It waits for an approval.
    Hold,
    /// It does not run here: the client is asked for its result, and where no client can be asked it fails with this message.
    Elsewhere(String),
}

/// Decides about calls. It is asked again for each attempt, and when a session is resumed.
pub trait Interceptor: Send + Sync {
    /// What becomes of `call`.
    fn intercept(&self, call: &PendingCall) -> Verdict;
}

impl<F: Fn(&PendingCall) -> Verdict + Send + Sync> Interceptor for F {
    fn intercept(&self, call: &PendingCall) -> Verdict {
        self(call)
    }
}
