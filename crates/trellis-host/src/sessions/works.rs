//! Carrying calls out side by side: running calls, their outcomes, and the rest of a call when the session continues without it.
//!
//! ```text
//! call ──▶ policy ──▶ interceptors ──▶ approval ──▶ budget ──▶ binding ──▶ result
//!            └────────────┴───────────────┴── held, denied, elsewhere
//! ```
//!
//! **Invariant:** a call is stored before it runs; a call that the session left is asked to stop, and an outcome before that is a late result.

use std::{pin::Pin, sync::Arc, task::Poll};

use trellis_core::{
    Context, Engine, SessionId, ToolError, ToolOutcome, ToolResult,
    engine::Call,
    id::CallId,
    state::{CallKind, PendingCall},
};

use super::{
    SendError, SessionEvent, Sessions, Stop, Unbound,
    front::{Front, Need, NeedKind},
    predicate::{PredicateAnswer, PredicateQuestion},
    rest::{SleepPolicy, millis},
    ruling::{Ruling, RulingSite},
    slot::{RunningSession, Slot},
};
use crate::{
    binding::{Bindings, Caller, timed_out},
    guard::Guarded,
    interceptor::{Intercepted, Verdict},
    policy::{Decided, HoldTerms},
    session::HeldCall,
};

/// The message of a denial for which nobody decided in time.
pub const APPROVAL_EXPIRED: &str = "the approval expired";

/// The context of a call when its turn has come.
pub(super) struct CallSite {
    pub(super) engine: Engine,
    pub(super) bindings: Arc<Bindings>,
    pub(super) context: Context,
    pub(super) approved: bool,
}

/// The outcome of a call or question that was carried out.
pub(super) enum Carried {
    Done(Box<ToolResult>),
    /// A policy decided about it: it begins again when that is stored.
    Ruled(Box<Decided>),
    /// It waits for an approval; on these terms, if an interceptor holds it.
    Held(Option<HoldTerms>),
    /// No binding here carries it out; with the reason.
    Elsewhere(String),
    /// A binding would carry it out here, but not for this caller.
    Runs,
    /// A child is to begin.
    Begin,
    /// The answer of a bound tool to a predicate, or the need to ask the client.
    Answered(PredicateAnswer),
    /// No outcome: it was left before it did anything.
    Left,
}

/// A call or question to be carried out.
pub(super) enum Subject {
    Call(Call),
    Predicate(PredicateQuestion),
}

/// Something that is being carried out.
pub(super) struct RunningWork<'s> {
    pub(super) child: Option<SessionId>,
    pub(super) subject: Subject,
    pub(super) is_left: bool,
    caller: Caller,
    carried: Pin<Box<dyn Future<Output = Carried> + Send + 's>>,
}

/// All that is being carried out for a tree.
#[derive(Default)]
pub(super) struct Works<'s> {
    running: Vec<RunningWork<'s>>,
}

impl Subject {
    /// The name of a call, or of the question about a predicate.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Call(call) => call.id.as_str(),
            Self::Predicate(question) => question.id(),
        }
    }
}

impl<'s> Works<'s> {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The calls among them.
    pub(super) fn calls(&self) -> impl Iterator<Item = &CallId> {
        self.running.iter().filter_map(|work| if let Subject::Call(call) = &work.subject { Some(&call.id) } else { None })
    }

    pub(super) fn has_left(&self) -> bool {
        self.running.iter().any(|work| work.is_left)
    }

    pub(super) fn holds(&self, id: &str) -> bool {
        self.running.iter().any(|work| work.subject.id() == id)
    }

    pub(super) fn push(&mut self, work: RunningWork<'s>) {
        self.running.push(work);
    }

    /// Stops work that the tree no longer waits for.
    pub(super) fn leave(&mut self, front: &Front) {
        let is_needed = |subject: &Subject| {
            front.needs.iter().any(|need| match (&need.what, subject) {
                (NeedKind::Call { call, .. }, Subject::Call(of)) => call.id == of.id,
                (NeedKind::Predicate(asked), Subject::Predicate(of)) => asked.id() == of.id(),
                _ => false,
            })
        };
        // Of a session that holds an input nothing else is needed for now, but it left nothing.
        let is_held =
            |work: &RunningWork<'_>| front.needs.iter().any(|need| need.child == work.child && matches!(need.what, NeedKind::Predicate(_)));
        for work in self.running.iter_mut().filter(|work| !work.is_left) {
            if !is_needed(&work.subject) && !is_held(work) {
                work.is_left = true;
                work.caller.cancel().cancel();
            }
        }
    }

    /// Stops all work.
    pub(super) fn leave_all(&mut self) {
        for work in &mut self.running {
            work.is_left = true;
            work.caller.cancel().cancel();
        }
    }

    /// Waits until something came as far as it could, and takes all that did.
    pub(super) async fn finished(&mut self) -> Vec<(RunningWork<'s>, Carried)> {
        std::future::poll_fn(|context| {
            let mut ready = Vec::new();
            let mut at = 0;
            while at < self.running.len() {
                match self.running[at].carried.as_mut().poll(context) {
                    Poll::Ready(carried) => ready.push((self.running.remove(at), carried)),
                    Poll::Pending => at += 1,
                }
            }
            if ready.is_empty() { Poll::Pending } else { Poll::Ready(ready) }
        })
        .await
    }
}

impl Sessions {
    /// Begins to carry a need out, if it is one that can be.
    pub(super) fn begin<'s>(&'s self, slot: &'s Slot, need: &Need, patience: SleepPolicy) -> Result<Option<RunningWork<'s>>, SendError> {
        let child = need.child.clone();
        Ok(match &need.what {
            NeedKind::Call { call, whole, .. } => {
                let site = self.running(slot, |running| Ok(CallSite::of(running, child.as_ref(), call)))?;
                if let Some(whole) = whole {
                    self.tell_whole(slot, child.as_ref(), whole)?;
                }
                let caller = self.caller(slot, child.as_ref(), call, site.context.clone());
                let carried = Box::pin(self.carried(slot, child.clone(), Arc::clone(call), site, caller.clone(), patience));
                Some(RunningWork { child, subject: Subject::Call(Arc::clone(call)), is_left: false, caller, carried })
            }
            NeedKind::Predicate(question) => {
                let caller = Caller::new(slot.id.clone(), self.graph(), |_| {}).within(question.asks_about());
                let answer = self.predicate(slot, question.clone(), caller.clone());
                let carried = Box::pin(async move { Carried::Answered(answer.await) });
                Some(RunningWork { child, subject: Subject::Predicate(question.clone()), is_left: false, caller, carried })
            }
            NeedKind::Sleep { .. } | NeedKind::Ask { .. } | NeedKind::Stop(_) => None,
        })
    }

    /// Reports once that the parts of a call are carried out.
    fn tell_whole(&self, slot: &Slot, child: Option<&SessionId>, whole: &Call) -> Result<(), SendError> {
        let is_new = self.running(slot, |running| Ok(running.reported_wholes.insert(whole.id.clone())))?;
        if is_new {
            self.tell_in(slot, child, SessionEvent::Calling(Arc::clone(whole)));
        }
        Ok(())
    }

    async fn carried(
        &self,
        slot: &Slot,
        child: Option<SessionId>,
        call: Call,
        site: CallSite,
        caller: Caller,
        patience: SleepPolicy,
    ) -> Carried {
        let done = |outcome| Carried::Done(Box::new(ToolResult::new(call.id.clone(), outcome)));
        let about = RulingSite { engine: &site.engine, bindings: &site.bindings, context: &site.context, child: child.as_ref() };
        let ruling = tokio::select! {
            biased;
            ruling = self.ruling(slot, &call, about) => ruling,
            () = caller.cancel().cancelled() => return Carried::Left,
        };
        let is_held = match ruling {
            Ruling::Run => call.approve.is_some(),
            Ruling::Hold => true,
            Ruling::Deny(why) => return done(ToolOutcome::Denied(Some(why))),
            Ruling::Fail(error) => return done(ToolOutcome::Error(error)),
            Ruling::Record(decided) => return Carried::Ruled(decided),
        };
        let verdict = tokio::select! {
            biased;
            verdict = self.decided(slot, &call, &site.context) => verdict,
            () = caller.cancel().cancelled() => return Carried::Left,
        };
        let (terms, elsewhere) = match verdict {
            Verdict::Allow => (None, None),
            Verdict::Hold { ask, expires } => {
                (Some(HoldTerms { ask: ask.map(Arc::from), expires: expires.map(millis), since: self.now() }), None)
            }
            // Whoever carries a call out, an approval that it needs comes first.
            Verdict::Elsewhere(why) => (None, Some(why)),
            Verdict::Deny(why) => return done(ToolOutcome::Denied(why)),
            Verdict::Answer { outcome, meta } => {
                return Carried::Done(Box::new(ToolResult::new(call.id.clone(), outcome).with_meta(meta)));
            }
        };
        if (is_held || terms.is_some()) && !site.approved && !self.policy.approve_all {
            return Carried::Held(terms);
        }
        if let Some(why) = elsewhere {
            return Carried::Elsewhere(why);
        }
        if matches!(call.kind, CallKind::Graph(_)) && !self.policy.answers_graphs {
            self.tell_in(slot, child.as_ref(), SessionEvent::Calling(Arc::clone(&call)));
            return Carried::Begin;
        }
        if let Ok(Some(error)) = self.over_budget(slot, &site.bindings, &call) {
            return done(ToolOutcome::Error(error));
        }
        if !site.bindings.carries_out(site.engine.inspect(), &call) {
            return Carried::Elsewhere(format!("nothing here carries out `{}`", call.name));
        }
        if patience == SleepPolicy::Brief {
            return Carried::Runs;
        }
        self.tell_in(slot, child.as_ref(), SessionEvent::Calling(Arc::clone(&call)));
        let answer = Guarded::new(site.bindings.call(site.engine.inspect(), &call, &caller)).await;
        let panicked = |why| {
            let error = ToolError::new(format!("what carries out `{}` panicked: {why}", call.name));
            ToolResult::new(call.id.clone(), ToolOutcome::Error(error))
        };
        Carried::Done(Box::new(answer.unwrap_or_else(panicked)))
    }

    /// Returns the verdict of the interceptors about a call: the first that does not allow it decides.
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

    /// Waits for an approval, unless it was given by now or expired. The terms of an interceptor are recorded, so that every process shows them.
    pub(super) fn hold(
        &self,
        slot: &Slot,
        child: Option<&SessionId>,
        call: &Call,
        terms: Option<HoldTerms>,
    ) -> Result<Option<Stop>, SendError> {
        let held = self.running(slot, |running| {
            if let Some(decided) = terms.and_then(|terms| running.session.hold(child, call, terms)) {
                running.tell(child, SessionEvent::Ruled(Arc::clone(call), Arc::new(decided)));
            }
            Ok(running.session.held_call(child, call))
        })?;
        let Some(HeldCall { call, due }) = held else { return Ok(None) };
        if due.is_some_and(|due| due <= self.now()) {
            self.settle(slot, child, &call, ToolOutcome::Denied(Some(APPROVAL_EXPIRED.to_owned())))?;
            return Ok(None);
        }
        Ok(Some(Stop::Approve { call, due }))
    }

    /// Returns the stop of a call that the client carries out; without a client, fails it with the reason.
    pub(super) fn elsewhere(&self, slot: &Slot, child: Option<&SessionId>, call: Call, why: String) -> Result<Option<Stop>, SendError> {
        let timeout = match self.policy.unbound {
            Unbound::Fail => {
                self.settle(slot, child, &call, ToolOutcome::Error(ToolError::new(why)))?;
                return Ok(None);
            }
            Unbound::Elsewhere => call.timeout,
            // A person takes the time that typing takes.
            Unbound::TypedIn => None,
        };
        let now = self.now();
        let asked_at = self.running(slot, |running| {
            running.session.ask_client(&call.id);
            Ok(running.session.asked_at(child, &call))
        })?;
        let due = timeout.map(|timeout| asked_at.saturating_add(timeout));
        if due.is_some_and(|due| due <= now) {
            let timeout = std::time::Duration::from_millis(timeout.unwrap_or_default());
            self.settle(slot, child, &call, ToolOutcome::Error(timed_out(&call.name, timeout)))?;
            return Ok(None);
        }
        Ok(Some(Stop::Call { call, due }))
    }

    /// Returns the caller of a call. Text is reported while it is written if there is an observer.
    fn caller(&self, slot: &Slot, child: Option<&SessionId>, call: &Call, context: Context) -> Caller {
        let (tell, of) = (self.teller(&slot.id, child), Arc::clone(call));
        let report = move |line: &str| tell(SessionEvent::Progress(Arc::clone(&of), line.into()));
        let caller = Caller::new(slot.id.clone(), self.graph(), report).within(context).traced(self.traceparent(slot, call));
        if !self.is_observed() {
            return caller;
        }
        let (tell, of) = (self.teller(&slot.id, child), Arc::clone(call));
        caller.watched(move |delta| tell(SessionEvent::Delta(Arc::clone(&of), delta)))
    }

    /// The name of a call's span, where a hook makes one.
    fn traceparent(&self, slot: &Slot, call: &Call) -> Option<String> {
        let name = |running: &mut RunningSession| self.hooks.iter().find_map(|hook| hook.traceparent(&slot.id, &running.sight, &call.id));
        self.running(slot, |running| Ok(name(running))).ok().flatten()
    }

    /// Hands the session the outcome of its call.
    pub(super) fn settle(&self, slot: &Slot, child: Option<&SessionId>, call: &Call, outcome: ToolOutcome) -> Result<(), SendError> {
        self.settle_with(slot, child, call, ToolResult::new(call.id.clone(), outcome))
    }

    pub(super) fn settle_with(&self, slot: &Slot, child: Option<&SessionId>, call: &Call, result: ToolResult) -> Result<(), SendError> {
        self.tell_in(slot, child, SessionEvent::Returned(Arc::clone(call), result.clone()));
        self.running(slot, |running| {
            running.session.send_result(result)?;
            running.tell_breach(child, call);
            Ok(())
        })
    }
}

impl CallSite {
    pub(super) fn of(running: &RunningSession, child: Option<&SessionId>, call: &PendingCall) -> Self {
        let here = running.session.here_in(child).unwrap_or_else(|| running.session.here());
        Self {
            engine: running.session.engine().clone(),
            bindings: Arc::clone(&running.bindings),
            context: here.state.context.clone(),
            approved: running.session.is_approved(child, call),
        }
    }
}
