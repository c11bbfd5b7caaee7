//! Asking the policy about a call, and the budget for it, before it runs (language 11.3, 11.6).
//!
//! ```text
//! call ─▶ remembered? ─▶ Ruling::Run | Hold | Deny | Fail
//!              └─ no ─▶ chain ─▶ Ruling::Record: it is stored first, then the call meets the stored rulings
//! ```
//!
//! **Invariant:** evidence that a policy read from the world is stored before the call runs, is held or is denied; the policy is asked once
//! for all attempts.

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{
    Context, Engine, Mapping, NodeId, Program, SessionId, ToolError, ToolOutcome, ToolResult, Value,
    engine::Call,
    id::{CallId, IdempotencyKey},
    state::{CallKind, CallRole, PartCalls, PendingCall},
};

use super::{
    SendError, SessionEvent, Sessions,
    rest::millis,
    slot::{PanicSafeLock, RunningSession, Slot},
};
use crate::{
    binding::{Bindings, Caller},
    interceptor::Verdict,
    policy::{Budget, ChainAnswer, Decided, Decision, PolicySubject},
};

/// Time that a tool of a policy has where its binding does not say.
const POLICY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

/// The effect of the policy on a call.
#[derive(Debug)]
pub(super) enum Ruling {
    /// It runs, as far as the policy is concerned.
    Run,
    /// It waits for an approval.
    Hold,
    /// It is denied, with why.
    Deny(String),
    /// The policy cannot be asked.
    Fail(ToolError),
    /// This was decided, and is to be recorded with [`Sessions::record_ruling`] before anything else happens to the call.
    Record(Box<Decided>),
}

impl Ruling {
    fn of(decided: &Decided) -> Self {
        match decided.decision {
            Decision::AutoRun => Self::Run,
            Decision::Ask => Self::Hold,
            Decision::Block => Self::Deny(decided.reason()),
        }
    }
}

/// Returns the name of a child by the module at whose `start` it begins, as calls write it; `None` where another node has that name.
fn module_of<'c>(program: &Program, child: &'c str) -> Option<&'c str> {
    let name = child.strip_suffix("/start")?;
    let module = name.strip_prefix("graph:")?;
    program.find(&NodeId::new(module)).is_none().then_some(name)
}

/// The context of a question to the policy.
#[derive(Clone, Copy)]
pub(super) struct RulingSite<'s> {
    pub(super) engine: &'s Engine,
    pub(super) bindings: &'s Bindings,
    pub(super) context: &'s Context,
    /// The child that makes the call.
    pub(super) child: Option<&'s SessionId>,
}

impl Sessions {
    /// Returns the decision of the outermost graph's policy about a call. It may take as long as a tool of the policy, and may be dropped.
    pub(super) async fn ruling(&self, slot: &Slot, call: &PendingCall, site: RulingSite<'_>) -> Ruling {
        let key = &call.idempotency_key;
        let of = |running: &RunningSession| running.session.here_in(site.child)?.rulings.get(key).cloned();
        let remembered = slot.place.locked().running().and_then(of);
        if let Some(remembered) = remembered {
            return Ruling::of(&remembered);
        }
        let chain = site.bindings.policy();
        let child;
        let tool = match &call.kind {
            CallKind::Tool => &*call.name,
            CallKind::Graph(node) => {
                child = format!("graph:{node}");
                &child
            }
            // Their parts are calls of their own.
            CallKind::Parallel { .. } | CallKind::Each { .. } => return Ruling::Run,
        };
        if chain.is_empty() {
            return Ruling::Run;
        }
        let subject = PolicySubject { tool, module: module_of(site.engine.inspect(), tool), args: &call.args };
        let answer: ChainAnswer = match chain.decide(subject, self.now(), |name| self.policy_tool(slot, call, tool, name, site)).await {
            Ok(answer) => answer,
            Err(error) => return Ruling::Fail(error),
        };
        let is_read = answer.read.is_some();
        match answer.or_run() {
            None => Ruling::Run,
            // A held call must be visible to approvers elsewhere.
            Some(decided) if is_read || decided.decision == Decision::Ask => Ruling::Record(Box::new(decided)),
            Some(decided) => Ruling::of(&decided),
        }
    }

    /// Records a decision; it is reported when it is stored, and applies to the call when that is made again.
    pub(super) fn record_ruling(
        &self,
        slot: &Slot,
        child: Option<&SessionId>,
        call: &Call,
        decided: Box<Decided>,
    ) -> Result<(), SendError> {
        self.running(slot, |running| {
            running.session.decide(child, call.idempotency_key.clone(), (*decided).clone());
            running.tell(child, SessionEvent::Ruled(Arc::clone(call), Arc::new(*decided)));
            Ok(())
        })
    }

    /// Refuses a call for which the budget of its session is spent; else it is reserved until its result is known (language 11.6).
    pub(super) fn over_budget(&self, slot: &Slot, bindings: &Bindings, call: &PendingCall) -> Result<Option<ToolError>, SendError> {
        let budget = bindings.budget();
        if budget == Budget::default() {
            return Ok(None);
        }
        self.running(slot, |running| {
            let open: BTreeSet<CallId> = running.session.all_open_calls().into_iter().filter(|id| *id != call.id).collect();
            running.started.retain(|id| open.contains(id));
            let others = running.started.len() as u64;
            let refused = budget.admit(running.session.here().spent, others).err();
            if refused.is_none() {
                running.started.insert(call.id.clone());
            }
            Ok(refused)
        })
    }

    /// The answer of a tool that the policy asks. No policy is asked about it, and recordings have it.
    async fn policy_tool(
        &self,
        slot: &Slot,
        about: &PendingCall,
        tool: &str,
        name: Arc<str>,
        site: RulingSite<'_>,
    ) -> Result<Value, ToolError> {
        let program = site.engine.inspect();
        let bound = program.root().bindings.get(&name).and_then(|binding| binding.tool.timeout.as_ref());
        let id = format!("{}@policy:{name}", about.id);
        let args = Mapping::from_iter([
            ("tool", Value::text(tool)),
            ("args", Value::Map(about.args.clone())),
            ("node", Value::text(about.node.as_str())),
            ("session", Value::text(slot.id.as_str())),
        ]);
        let call = Arc::new(PendingCall {
            id: CallId::new(&*id),
            name,
            role: CallRole::Do,
            node: about.node.clone(),
            args,
            secrets: Vec::new(),
            idempotency_key: IdempotencyKey::new(&*format!("{}@policy", about.idempotency_key)),
            attempt: 1,
            delay: 0,
            timeout: Some(bound.map_or(millis(POLICY_TIMEOUT), |timeout| millis(timeout.value))),
            approve: None,
            retry: None,
            metadata: None,
            part: None,
            prepared: PartCalls::default(),
            offered: Vec::new(),
            kind: CallKind::Tool,
        });
        let caller = Caller::new(slot.id.clone(), self.graph(), |_| {}).within(site.context.clone());
        let result = match self.decided(slot, &call, site.context).await {
            Verdict::Answer { outcome, meta } => ToolResult::new(call.id.clone(), outcome).with_meta(meta),
            Verdict::Deny(why) => ToolResult::new(call.id.clone(), ToolOutcome::Denied(why)),
            Verdict::Elsewhere(why) => return Err(ToolError::new(why)),
            Verdict::Hold { .. } if !self.policy.approve_all => return Err(ToolError::new("an interceptor holds it")),
            Verdict::Allow | Verdict::Hold { .. } => site.bindings.call_in(program, "", &call, &caller).await,
        };
        self.tell_in(slot, site.child, SessionEvent::Given(Arc::clone(&call), result.clone()));
        match result.outcome {
            ToolOutcome::Success(value) => Ok(value),
            ToolOutcome::Error(error) => Err(error),
            ToolOutcome::Denied(why) => Err(ToolError::new(why.unwrap_or_else(|| "it was denied".to_owned()))),
        }
    }
}
