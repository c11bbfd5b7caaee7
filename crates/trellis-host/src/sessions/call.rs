//! Carrying a call out: its delay, the interceptors, its approval, then the binding or the client.

use std::sync::Arc;

use trellis_core::{Context, Engine, Input, ToolError, ToolOutcome, ToolResult, engine::Call, state::PendingCall};

use super::{
    SendError, SessionEvent, Sessions, Stop, Unbound,
    drive::SleepPolicy,
    ruling::{Ruling, RulingSite},
    slot::{RunningSession, Slot},
};
use crate::{
    binding::{Bindings, Caller, timed_out},
    guard::Guarded,
    interceptor::{Intercepted, Verdict},
};

/// What a call meets when its turn has come.
pub(super) struct CallSite {
    pub(super) engine: Engine,
    pub(super) bindings: Arc<Bindings>,
    pub(super) context: Context,
    step: u64,
    /// When the step was taken that made the call.
    since: u64,
    pub(super) approved: bool,
}

impl Sessions {
    /// Does what a pending call needs. Nothing, where the session went on by it.
    pub(super) async fn call(&self, slot: &Slot, call: Call, patience: SleepPolicy) -> Result<Option<Stop>, SendError> {
        let site = self.running(slot, |running| Ok(CallSite::of(running, &call)))?;
        if call.delay > 0 && !self.sleep(slot, site.step, site.since, site.since.saturating_add(call.delay)).await {
            return Ok(None);
        }
        let ruling_site = RulingSite { engine: &site.engine, bindings: &site.bindings, context: &site.context };
        let ruling = tokio::select! {
            biased;
            ruling = self.ruling(slot, &call, ruling_site) => ruling,
            () = slot.until_disturbed(site.step) => return Ok(None),
        };
        let is_held = match ruling {
            Ruling::Run => call.approve.is_some(),
            Ruling::Hold => true,
            Ruling::Deny(why) => return self.settle(slot, &call, ToolOutcome::Denied(Some(why))),
            Ruling::Fail(error) => return self.settle(slot, &call, ToolOutcome::Error(error)),
            Ruling::Record(decided) => return self.record_ruling(slot, &call, decided).map(|()| None),
        };
        let Some(verdict) = self.verdict(slot, &call, &site.context).await else { return Ok(None) };
        let holds = match verdict {
            Verdict::Allow => is_held,
            Verdict::Hold => true,
            Verdict::Deny(why) => return self.settle(slot, &call, ToolOutcome::Denied(why)),
            Verdict::Answer { outcome, meta } => {
                return self.settle_with(slot, &call, ToolResult::new(call.id.clone(), outcome).with_meta(meta));
            }
            Verdict::Elsewhere(why) => return self.elsewhere(slot, call, why),
        };
        if holds && !site.approved && !self.policy.approve_all {
            return self.hold(slot, call);
        }
        if let Some(error) = self.over_budget(slot, &site.bindings, &call)? {
            return self.settle(slot, &call, ToolOutcome::Error(error));
        }
        if !site.bindings.carries_out(site.engine.inspect(), &call) {
            let why = format!("nothing here carries out `{}`", call.name);
            return self.elsewhere(slot, call, why);
        }
        if patience == SleepPolicy::Brief {
            return Ok(Some(Stop::Running { node: call.node.clone(), since: self.now(), call: Some(call) }));
        }
        self.carry_out(slot, call, site).await
    }

    /// What the interceptors say to a call: the first that does not allow it decides. Nothing, where the session was disturbed.
    pub(super) async fn verdict(&self, slot: &Slot, call: &PendingCall, context: &Context) -> Option<Verdict> {
        if self.interceptors.is_empty() {
            return Some(Verdict::Allow);
        }
        tokio::select! {
            biased;
            verdict = self.decided(slot, call, context) => Some(verdict),
            () = slot.disturbed_from_here() => None,
        }
    }

    /// The same, whatever happens to the session meanwhile.
    pub(super) async fn decided(&self, slot: &Slot, call: &PendingCall, context: &Context) -> Verdict {
        let graph = self.graph();
        let about = Intercepted { session: &slot.id, graph: &graph, context, call };
        for interceptor in &self.interceptors {
            match Guarded::new(async { interceptor.intercept(about).await }).await {
                Ok(Verdict::Allow) => {}
                Ok(verdict) => return verdict,
                Err(panicked) => {
                    let why = format!("whether `{}` may run was not decided: an interceptor panicked: {panicked}", call.name);
                    return Verdict::answer(ToolOutcome::Error(ToolError::new(why)));
                }
            }
        }
        Verdict::Allow
    }

    /// Waits for an approval, unless it expired.
    pub(super) fn hold(&self, slot: &Slot, call: Call) -> Result<Option<Stop>, SendError> {
        let now = self.now();
        let expires = call.approve.as_ref().and_then(|approval| approval.expires);
        let asked_at = self.running(slot, |running| Ok(running.session.asked_at(&call)))?;
        let due = expires.map(|expires| asked_at.saturating_add(expires));
        if due.is_some_and(|due| due <= now) {
            return self.settle(slot, &call, ToolOutcome::Denied(Some("the approval expired".to_owned())));
        }
        Ok(Some(Stop::Approve { call, due }))
    }

    /// A call that the client carries out, or nobody, and then why.
    pub(super) fn elsewhere(&self, slot: &Slot, call: Call, why: String) -> Result<Option<Stop>, SendError> {
        let timeout = match self.policy.unbound {
            Unbound::Fail => return self.settle(slot, &call, ToolOutcome::Error(ToolError::new(why))),
            Unbound::Elsewhere => call.timeout,
            // A person takes the time that typing takes.
            Unbound::TypedIn => None,
        };
        let now = self.now();
        let asked_at = self.running(slot, |running| Ok(running.session.asked_at(&call)))?;
        let due = timeout.map(|timeout| asked_at.saturating_add(timeout));
        if due.is_some_and(|due| due <= now) {
            let timeout = std::time::Duration::from_millis(timeout.unwrap_or_default());
            return self.settle(slot, &call, ToolOutcome::Error(timed_out(&call.name, timeout)));
        }
        Ok(Some(Stop::Call { call, due }))
    }

    /// A call with a binding. A signal that the session takes, and a pause, stop it.
    async fn carry_out(&self, slot: &Slot, call: Call, site: CallSite) -> Result<Option<Stop>, SendError> {
        self.tell(slot, &SessionEvent::Calling(Arc::clone(&call)));
        let caller = self.caller(slot, &call, site.context);
        let mut work = std::pin::pin!(site.bindings.call(site.engine.inspect(), &call, &caller));
        tokio::select! {
            biased;
            result = &mut work => return self.settle_with(slot, &call, result),
            () = slot.until_disturbed(site.step) => {}
        }
        caller.cancel().cancel();
        // That it was stopped is no result; that it succeeded before it could be stopped is one.
        match work.await {
            result if matches!(result.outcome, ToolOutcome::Success(_)) => self.settle_with(slot, &call, result),
            _ => Ok(None),
        }
    }

    /// Who has a call carried out. Text is told while it is written where there is an observer.
    fn caller(&self, slot: &Slot, call: &Call, context: Context) -> Caller {
        let (tell, of) = (self.teller(&slot.id), Arc::clone(call));
        let report = move |line: &str| tell(&SessionEvent::Progress(Arc::clone(&of), line.into()));
        let caller = Caller::new(slot.id.clone(), self.graph(), report).within(context);
        if !self.is_observed() {
            return caller;
        }
        let (tell, of) = (self.teller(&slot.id), Arc::clone(call));
        caller.watched(move |delta| tell(&SessionEvent::Delta(Arc::clone(&of), delta)))
    }

    /// Hands the session what became of its call.
    pub(super) fn settle(&self, slot: &Slot, call: &Call, outcome: ToolOutcome) -> Result<Option<Stop>, SendError> {
        self.settle_with(slot, call, ToolResult::new(call.id.clone(), outcome))
    }

    pub(super) fn settle_with(&self, slot: &Slot, call: &Call, result: ToolResult) -> Result<Option<Stop>, SendError> {
        self.tell(slot, &SessionEvent::Returned(Arc::clone(call), result.clone()));
        self.running(slot, |running| {
            running.session.send(Input::Result(result))?;
            running.tell_breach(call);
            Ok(())
        })?;
        Ok(None)
    }
}

impl CallSite {
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    pub(super) fn of(running: &RunningSession, call: &Call) -> Self {
        Self {
            engine: running.session.engine().clone(),
            bindings: Arc::clone(&running.bindings),
            context: running.session.state().context.clone(),
            step: running.session.state().step,
            since: running.session.stepped_at(),
            approved: running.session.is_approved(call),
        }
    }
}
