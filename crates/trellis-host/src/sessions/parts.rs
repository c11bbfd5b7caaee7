//! Carrying the parts of a call out side by side, each with its own delay, approval and timeout (language 10.1, 10.5).
//!
//! ```text
//! open parts ──begin──▶ running ──outcome──▶ a step of its own ──┐
//!                         └─ waits for somebody ──▶ stop          │ all that finished meanwhile are stored together
//! open parts ◀──────────────────────────────────────────────────┘
//! ```
//!
//! **Invariant:** what can run is carried out before anybody is asked; a part whose outcome is stored never runs again.

use std::{pin::Pin, sync::Arc, task::Poll, time::Duration};

use trellis_core::{Input, ToolError, ToolOutcome, ToolResult, engine::Call, id::CallId};

use super::{
    SendError, SessionEvent, Sessions, Stop,
    call::CallSite,
    drive::{Act, SleepPolicy},
    ruling::{Ruling, RulingSite},
    slot::Slot,
};
use crate::{
    binding::{Caller, timed_out},
    interceptor::Verdict,
    policy::Decided,
};

/// How far a part came without anybody else.
enum Carried {
    Done(Box<ToolResult>),
    /// A policy decided about it: it begins again when that is stored.
    Ruled(Box<Decided>),
    /// It waits for an approval.
    Held,
    /// Nothing here carries it out, with why.
    Elsewhere(String),
}

/// A part that is being carried out.
struct RunningPart<'s> {
    call: Call,
    caller: Caller,
    work: Pin<Box<dyn Future<Output = Carried> + Send + 's>>,
}

impl Sessions {
    /// Does what the open parts of a call need, and those that open then. A stop, where somebody is needed; nothing, where the session went on.
    pub(super) async fn parts(&self, slot: &Slot, whole: Call, patience: SleepPolicy) -> Result<Option<Stop>, SendError> {
        let (site, asked) = self.running(slot, |running| Ok((CallSite::of(running, &whole), running.session.asked_at(&whole))))?;
        if whole.delay > 0 && !self.sleep(slot, site.step(), asked.saturating_sub(whole.delay), asked).await {
            return Ok(None);
        }
        if whole.approve.is_some() && !site.approved && !self.policy.approve_all {
            return self.hold(slot, whole);
        }
        let due = whole.timeout.map(|timeout| asked.saturating_add(timeout));
        let mut running = Vec::new();
        let mut waiting: Vec<Stop> = Vec::new();
        loop {
            let open = self.running(slot, |running| Ok(running.session.open_parts()))?;
            let open = open.filter(|(now, _)| now.id == whole.id).map(|(_, open)| open).unwrap_or_default();
            if open.is_empty() || slot.is_paused() {
                return self.leave_parts(slot, running).await.map(|()| None);
            }
            if due.is_some_and(|due| due <= self.now()) {
                let error = timed_out(&whole.name, Duration::from_millis(whole.timeout.unwrap_or_default()));
                self.settle(slot, &whole, ToolOutcome::Error(error))?;
                continue;
            }
            waiting.retain(|stop| called(stop).is_some_and(|call| open.iter().any(|part| part.id == call.id)));
            for part in open.iter().filter(|part| !is_among(&running, &waiting, &part.id)).cloned().collect::<Vec<_>>() {
                if patience == SleepPolicy::Brief && self.runs_here(slot, &part)? {
                    return Ok(Some(Stop::Running { node: part.node.clone(), since: self.now(), call: Some(part) }));
                }
                self.tell_whole(slot, &whole)?;
                running.push(self.begin_part(slot, part)?);
            }
            if running.is_empty() {
                return self.ask_for(slot, waiting);
            }
            let carried = self.finished(slot, &mut running, due).await;
            for (part, carried) in carried {
                let stop = match carried {
                    Carried::Done(result) => self.settle_with(slot, &part, *result)?,
                    Carried::Ruled(decided) => {
                        self.record_ruling(slot, &part, decided)?;
                        None
                    }
                    Carried::Held => self.hold(slot, part)?,
                    Carried::Elsewhere(why) => self.elsewhere(slot, part, why)?,
                };
                waiting.extend(stop);
                // What became of the others is late where this one decided the whole, and taken as that.
            }
            self.keep(slot, &Act::Parts { whole: Arc::clone(&whole), open }).await?;
        }
    }

    /// Says once that the parts of a call are carried out.
    fn tell_whole(&self, slot: &Slot, whole: &Call) -> Result<(), SendError> {
        let is_new = self.running(slot, |running| {
            let is_new = running.told_whole.as_ref() != Some(&whole.id);
            running.told_whole = Some(whole.id.clone());
            Ok(is_new)
        })?;
        if is_new {
            self.tell(slot, &SessionEvent::Calling(Arc::clone(whole)));
        }
        Ok(())
    }

    /// Whether a part would be carried out here, as far as that shows before an interceptor is asked.
    fn runs_here(&self, slot: &Slot, part: &Call) -> Result<bool, SendError> {
        let site = self.running(slot, |running| Ok(CallSite::of(running, part)))?;
        let is_held = part.approve.is_some() && !site.approved && !self.policy.approve_all;
        Ok(!is_held && site.bindings.carries_out(site.engine.inspect(), part))
    }

    fn begin_part<'s>(&'s self, slot: &'s Slot, call: Call) -> Result<RunningPart<'s>, SendError> {
        let (site, begins) = self.running(slot, |running| {
            Ok((CallSite::of(running, &call), if call.delay > 0 { running.session.asked_at(&call) } else { 0 }))
        })?;
        let traceparent = self.traceparent(slot, &call);
        let caller = {
            let (tell, call) = (self.teller(&slot.id), Arc::clone(&call));
            Caller::new(slot.id.clone(), self.graph(), move |line| tell(&SessionEvent::Progress(Arc::clone(&call), line.into())))
                .within(site.context.clone())
                .traced(traceparent)
        };
        let work = Box::pin(self.carried(slot, Arc::clone(&call), site, begins, caller.clone()));
        Ok(RunningPart { call, caller, work })
    }

    async fn carried(&self, slot: &Slot, call: Call, site: CallSite, begins: u64, caller: Caller) -> Carried {
        let done = |outcome| Carried::Done(Box::new(ToolResult::new(call.id.clone(), outcome)));
        // A clock that went back makes nobody wait longer than the whole time.
        let left = self.until(begins).min(Duration::from_millis(call.delay));
        if !left.is_zero() {
            tokio::select! {
                biased;
                () = caller.cancel().cancelled() => return done(ToolOutcome::Error(ToolError::new("it was stopped"))),
                () = tokio::time::sleep(left) => {}
            }
        }
        let about = RulingSite { engine: &site.engine, bindings: &site.bindings, context: &site.context };
        let ruling = tokio::select! {
            biased;
            ruling = self.ruling(slot, &call, about) => ruling,
            () = caller.cancel().cancelled() => return done(ToolOutcome::Error(ToolError::new("it was stopped"))),
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
            () = caller.cancel().cancelled() => return done(ToolOutcome::Error(ToolError::new("it was stopped"))),
        };
        let holds = match verdict {
            Verdict::Allow => is_held,
            Verdict::Hold => true,
            Verdict::Deny(why) => return done(ToolOutcome::Denied(why)),
            Verdict::Answer { outcome, meta } => {
                return Carried::Done(Box::new(ToolResult::new(call.id.clone(), outcome).with_meta(meta)));
            }
            Verdict::Elsewhere(why) => return Carried::Elsewhere(why),
        };
        if holds && !site.approved && !self.policy.approve_all {
            return Carried::Held;
        }
        if let Ok(Some(error)) = self.over_budget(slot, &site.bindings, &call) {
            return done(ToolOutcome::Error(error));
        }
        if !site.bindings.carries_out(site.engine.inspect(), &call) {
            return Carried::Elsewhere(format!("nothing here carries out `{}`", call.name));
        }
        self.tell(slot, &SessionEvent::Calling(Arc::clone(&call)));
        Carried::Done(Box::new(site.bindings.call(site.engine.inspect(), &call, &caller).await))
    }

    /// Waits until a part came as far as it could, and takes all that did; none, where the session was moved, paused, or the time of the whole is over.
    async fn finished<'s>(&self, slot: &Slot, running: &mut Vec<RunningPart<'s>>, due: Option<u64>) -> Vec<(Call, Carried)> {
        let time = async {
            match due {
                Some(due) => tokio::time::sleep(self.until(due)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            carried = all_ready(running) => carried,
            () = slot.disturbed_from_here() => Vec::new(),
            () = time => Vec::new(),
        }
    }

    /// Stops parts that were left. What succeeded before it could be stopped is a result, as for any call.
    async fn leave_parts(&self, slot: &Slot, mut running: Vec<RunningPart<'_>>) -> Result<(), SendError> {
        running.iter().for_each(|part| part.caller.cancel().cancel());
        while !running.is_empty() {
            for (part, carried) in all_ready(&mut running).await {
                if let Carried::Done(result) = carried
                    && matches!(result.outcome, ToolOutcome::Success(_))
                {
                    self.tell(slot, &SessionEvent::Returned(part, (*result).clone()));
                    // It may be none of a call that the session still knows.
                    self.running(slot, |running| Ok(running.session.send(Input::Result(*result)).ok()))?;
                }
            }
        }
        Ok(())
    }

    /// Stops for the first part that waits for somebody, beside the others.
    fn ask_for(&self, slot: &Slot, waiting: Vec<Stop>) -> Result<Option<Stop>, SendError> {
        let mut waiting = waiting.into_iter();
        let first = waiting.next();
        self.running(slot, |running| {
            running.others = Arc::new(waiting.collect());
            Ok(())
        })?;
        Ok(first)
    }
}

/// The call that a stop is about.
fn called(stop: &Stop) -> Option<&Call> {
    match stop {
        Stop::Call { call, .. } | Stop::Approve { call, .. } => Some(call),
        _ => None,
    }
}

fn is_among(running: &[RunningPart<'_>], waiting: &[Stop], id: &CallId) -> bool {
    running.iter().any(|part| part.call.id == *id) || waiting.iter().filter_map(called).any(|call| call.id == *id)
}

/// Waits until one of the parts is ready, and takes all that are.
async fn all_ready(running: &mut Vec<RunningPart<'_>>) -> Vec<(Call, Carried)> {
    std::future::poll_fn(|context| {
        let mut ready = Vec::new();
        let mut at = 0;
        while at < running.len() {
            match running[at].work.as_mut().poll(context) {
                Poll::Ready(carried) => ready.push((running.remove(at).call, carried)),
                Poll::Pending => at += 1,
            }
        }
        if ready.is_empty() { Poll::Pending } else { Poll::Ready(ready) }
    })
    .await
}
