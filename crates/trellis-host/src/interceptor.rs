//! Interceptors: they see each call before it runs (language C.3).
//!
//! **Invariant:** an interceptor may ask for more approvals than the graph, never for fewer (language 5.6).

use std::{fmt, pin::Pin, time::Duration};

use trellis_core::{Context, NodeId, SessionId, ToolOutcome, Value, state::PendingCall};

/// The decision about a call. Interceptors make verdicts, and only sessions read them: there may be more of them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It runs, as far as this interceptor is concerned.
    Allow,
    /// It is denied, with a reason.
    Deny(Option<String>),
    /// It does not run: this is its outcome; [`Verdict::answer`] is short for one without `meta`.
    Answer {
        /// Its outcome.
        outcome: ToolOutcome,
        /// Further facts about it.
        meta: Option<Value>,
    },
    /// It waits for an approval, as a call with `approve` does: the question is stored, and every process shows it. Nobody approves the tool of a
    /// predicate or of a policy: it does not run, and the client answers the predicate, or the call that the policy is asked about is held.
    Hold {
        /// The question, instead of that of the graph; without one the call itself is shown.
        ask: Option<String>,
        /// The time after which the call is denied, counted from the verdict.
        expires: Option<Duration>,
    },
    /// It does not run here: the client is asked for its result, after the approval that the graph or its policy wants; where no client can be asked it
    /// fails with this message.
    Elsewhere(String),
}

impl Verdict {
    /// Creates a verdict by which the call does not run, with its outcome.
    pub fn answer(outcome: ToolOutcome) -> Self {
        Self::Answer { outcome, meta: None }
    }

    /// Creates a verdict by which the call waits for an approval that never expires, and the call itself is shown.
    pub fn hold() -> Self {
        Self::Hold { ask: None, expires: None }
    }
}

/// A call that is about to run, and where.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Intercepted<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The graph that it walks, as the host calls it.
    pub graph: &'a str,
    /// The session's context, as it is now.
    pub context: &'a Context,
    /// The call, with its arguments. Secrets in them are places that are filled in later.
    pub call: &'a PendingCall,
}

impl Intercepted<'_> {
    /// The node that makes the call.
    pub fn node(&self) -> &NodeId {
        &self.call.node
    }
}

impl fmt::Debug for Intercepted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercepted")
            .field("session", &self.session)
            .field("graph", &self.graph)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// A pending verdict.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Decides about calls. It is asked again for each attempt, and when a session is resumed. A signal that the session takes stops it, and a panic in
/// it is an error of the call.
///
/// A function from [`Intercepted`] to [`Verdict`] is an interceptor. One that asks a person first:
///
/// ```
/// use trellis_host::{Interceptor, Verdict, interceptor::{Deciding, Intercepted}};
///
/// /// Each tenant may charge so much.
/// struct Allowances;
///
/// impl Interceptor for Allowances {
///     fn intercept<'a>(&'a self, about: Intercepted<'a>) -> Deciding<'a> {
///         Box::pin(async move {
///             let tenant = about.context.get("tenant").and_then(|tenant| tenant.as_str());
///             let allowed = allowance(tenant).await;
///             match about.call.args.get("amount").and_then(|amount| amount.as_i64()) {
///                 Some(amount) if amount > allowed => Verdict::Hold { ask: Some(format!("Charge {amount}?")), expires: None },
///                 _ => Verdict::Allow,
///             }
///         })
///     }
/// }
///
/// async fn allowance(tenant: Option<&str>) -> i64 {
///     if tenant == Some("acme") { 1000 } else { 10 }
/// }
/// ```
pub trait Interceptor: Send + Sync {
    /// Decides about a call.
    fn intercept<'a>(&'a self, about: Intercepted<'a>) -> Deciding<'a>;
}

impl<F: Fn(Intercepted<'_>) -> Verdict + Send + Sync> Interceptor for F {
    fn intercept<'a>(&'a self, about: Intercepted<'a>) -> Deciding<'a> {
        Box::pin(std::future::ready(self(about)))
    }
}
