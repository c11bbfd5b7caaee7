//! Dead letters, made again: the call is carried out once more under its key, and a success settles it (language 11.7).

use std::{collections::BTreeSet, sync::Mutex};

use trellis_core::{
    SessionId, ToolError, ToolOutcome,
    id::CallId,
    state::{CallKind, PendingCall},
};

use super::{SendError, Sessions, slot::PanicSafeLock as _};
use crate::{
    binding::{Caller, breaks_returns},
    guard::Guarded,
    history::{HistoryError, Operator},
    interceptor::{Intercepted, Verdict},
    journal::Settlement,
    policy::{Decision, PolicyChain, PolicySubject},
    store::{SessionStore as _, Snapshot, is_redacted, quoted},
};

/// The number of times that a letter is settled again because another writer advanced its session.
const MAX_CONFLICTS: usize = 8;

/// The reason why a dead letter was not made again; it is unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LetterError {
    /// There is no such letter, or the store fails.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The arguments of the call are not stored: its result came after the end.
    #[error("the result of `{0}` came after the end, and its arguments are not stored: it can be dropped, not made again")]
    Late(String),
    /// Arguments of the call were redacted when it was stored, and their marks would be sent in their place.
    #[error("`{tool}` cannot be made again: what was redacted is not kept, and {} held it; it can be dropped", quoted(.args))]
    Redacted {
        /// The tool.
        tool: String,
        /// The names of the arguments.
        args: Vec<String>,
    },
    /// Another caller in this process is making it again.
    #[error("the call of dead letter `{0}` is being made again already")]
    InProgress(String),
    /// No binding here carries the tool out.
    #[error("nothing here carries out `{0}`")]
    Elsewhere(String),
    /// The policy or an interceptor does not let the call run.
    #[error("`{tool}` may not run: {why}")]
    Denied {
        /// The tool.
        tool: String,
        /// The reason.
        why: String,
    },
    /// These sessions have no store, or take nothing any more.
    #[error(transparent)]
    Sessions(#[from] SendError),
}

/// Returns the reason why the policy denies a call that was approved.
async fn denied(policy: &PolicyChain, call: &PendingCall, now: u64) -> Option<String> {
    if !matches!(call.kind, CallKind::Tool) {
        return None;
    }
    // A tool of the policy that fails would ask a person, and a person has approved.
    let nobody = |_| async { Err(ToolError::new("somebody decided")) };
    match policy.decide(PolicySubject { tool: &call.name, module: None, args: &call.args }, now, nobody).await {
        Ok(answer) => answer.decided.filter(|decided| decided.decision == Decision::Block).map(|decided| decided.reason()),
        Err(error) => Some(error.message),
    }
}

/// A letter that is being made again; no other caller makes it while this lives.
struct Retrying<'a> {
    all: &'a Mutex<BTreeSet<String>>,
    key: &'a str,
}

impl<'a> Retrying<'a> {
    fn begin(all: &'a Mutex<BTreeSet<String>>, key: &'a str) -> Option<Self> {
        let is_first = all.locked().insert(key.to_owned());
        is_first.then(|| Self { all, key })
    }
}

impl Drop for Retrying<'_> {
    fn drop(&mut self) {
        self.all.locked().remove(self.key);
    }
}

impl Sessions {
    /// Makes the call of a dead letter again, under its key and as its next attempt. A success settles the letter; any other outcome leaves it
    /// unchanged. The request is its approval; a denial of the policy still holds, though no tool of a policy is asked. It moves no session.
    ///
    /// # Errors
    /// There is no such letter, or its call cannot be made here.
    pub async fn retry_letter(&self, id: &SessionId, key: &str) -> Result<ToolOutcome, LetterError> {
        self.admit()?;
        let Some(persistence) = &self.persistence else { return Err(SendError::Unknown(id.clone()).into()) };
        // Before the letter is read, since its present retry may settle it.
        let _retrying = Retrying::begin(&self.retried, key).ok_or_else(|| LetterError::InProgress(key.to_owned()))?;
        let current = self.current();
        let operator = Operator::new(&*persistence.store, &current.engine, &persistence.graph, self.clock.clone());
        let found = operator.dead_letter(id, key).await?;
        let tool = found.letter.tool.to_string();
        let call = found.letter.call.ok_or_else(|| LetterError::Late(tool.clone()))?;
        let lacking = call.args.iter().filter(|(_, value)| is_redacted(&value.to_json())).map(|(name, _)| name.to_string());
        let args: Vec<_> = lacking.collect();
        if !args.is_empty() {
            return Err(LetterError::Redacted { tool, args });
        }
        let attempt = call.attempt.saturating_add(1);
        let call = PendingCall { id: CallId::new(&*format!("{}-{attempt}", call.idempotency_key)), attempt, delay: 0, ..(*call).clone() };
        let program = current.engine.inspect();
        if !current.bindings.carries_out(program, &call) {
            return Err(LetterError::Elsewhere(tool));
        }
        let stored = persistence.store.load(std::slice::from_ref(id)).await.map_err(HistoryError::from)?.pop().flatten();
        let stored = stored.ok_or_else(|| HistoryError::Unknown(id.clone()))?;
        let context = Snapshot::of(&stored).map_err(HistoryError::from)?.state.context;
        let graph = self.graph();
        if let Some(why) = denied(current.bindings.policy(), &call, self.now()).await {
            return Err(LetterError::Denied { tool, why });
        }
        for interceptor in &self.interceptors {
            let about = Intercepted { session: id, graph: &graph, context: &context, call: &call };
            let verdict = Guarded::new(async { interceptor.intercept(about).await }).await;
            let why = match verdict {
                Ok(Verdict::Allow | Verdict::Hold { .. }) => continue,
                Ok(Verdict::Answer { outcome, .. }) => return self.settled(&operator, id, &call, outcome).await,
                Ok(Verdict::Deny(why)) => why.unwrap_or_else(|| "it was denied".to_owned()),
                Ok(Verdict::Elsewhere(why)) => why,
                Err(panicked) => format!("an interceptor panicked: {panicked}"),
            };
            return Err(LetterError::Denied { tool, why });
        }
        let caller = Caller::new(id.clone(), graph, |_| {}).within(context);
        let outcome = current.bindings.call(program, &call, &caller).await.outcome;
        let outcome = match outcome {
            ToolOutcome::Success(value) => match breaks_returns(program, &call, &value) {
                Some(error) => ToolOutcome::Error(error),
                None => ToolOutcome::Success(value),
            },
            other => other,
        };
        self.settled(&operator, id, &call, outcome).await
    }

    async fn settled(
        &self,
        operator: &Operator<'_>,
        id: &SessionId,
        call: &PendingCall,
        outcome: ToolOutcome,
    ) -> Result<ToolOutcome, LetterError> {
        if !matches!(outcome, ToolOutcome::Success(_)) {
            return Ok(outcome);
        }
        let mut conflicts = 0;
        loop {
            match operator.settle_letter(id, &call.idempotency_key, Settlement::Retried).await {
                Err(HistoryError::Conflict(_)) if conflicts < MAX_CONFLICTS => conflicts += 1,
                // It was settled meanwhile: under one key it happened once.
                Ok(_) | Err(HistoryError::NoLetter { .. }) => return Ok(outcome),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
