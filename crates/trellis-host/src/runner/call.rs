//! Carrying a call out: its delay, its approval, then the binding or the other end.

use std::time::Duration;

use tokio::time::Instant;
use trellis_core::{Input, ToolError, ToolOutcome, ToolResult, state::PendingCall};

use super::{
    Awaited, Command, Console, Flow, Note, Reason, RunError, Runner, Unbound,
    wait::{Carried, Reply},
};
use crate::{binding::timed_out, session::Session};

/// What approving comes to.
enum Approved {
    Yes,
    No(Option<String>),
    Moved,
    Over(Reason),
}

impl<C: Console> Runner<C> {
    /// Does what a pending call needs, until the session moved or the run is over.
    pub(super) async fn call(&mut self, session: &mut Session, call: &PendingCall) -> Result<Flow, RunError> {
        if call.delay > 0 {
            match self.pause(session, Instant::now() + Duration::from_millis(call.delay)).await? {
                Reply::Moved => return Ok(Flow::Continue(())),
                Reply::Over(reason) => return Ok(Flow::Break(reason)),
                Reply::TimeUp | Reply::Given(_) => {}
            }
        }
        match self.approve(session, call).await? {
            Approved::Yes => {}
            Approved::No(why) => {
                let outcome = ToolOutcome::Denied(why);
                self.console.note(Note::Result(call, &outcome)).await?;
                return self.settle(session, call, outcome).await;
            }
            Approved::Moved => return Ok(Flow::Continue(())),
            Approved::Over(reason) => return Ok(Flow::Break(reason)),
        }
        if self.bindings.carries_out(session.engine().inspect(), call) {
            return self.here(session, call).await;
        }
        match self.policy.unbound {
            Unbound::Fail => {
                let outcome = ToolOutcome::Error(ToolError::new(format!("nothing here carries out `{}`", call.name)));
                self.settle(session, call, outcome).await
            }
            Unbound::Elsewhere => self.elsewhere(session, call, call.timeout.map(Duration::from_millis)).await,
            // A person takes the time that typing takes.
            Unbound::TypedIn => self.elsewhere(session, call, None).await,
        }
    }

    /// Asks for an approval where one is needed. Further attempts are the same call, which was approved.
    async fn approve(&mut self, session: &mut Session, call: &PendingCall) -> Result<Approved, RunError> {
        let Some(approval) = &call.approve else { return Ok(Approved::Yes) };
        if self.policy.approve_all || self.approved.as_ref() == Some(&call.idempotency_key) {
            return Ok(Approved::Yes);
        }
        let expires = approval.expires.map(|expires| Instant::now() + Duration::from_millis(expires));
        Ok(match self.reply(Some(session), Awaited::Approval(call), expires, false).await? {
            Reply::Given(Command::Approve { yes: true, .. }) => {
                self.approved = Some(call.idempotency_key.clone());
                Approved::Yes
            }
            Reply::Given(_) => Approved::No(None),
            Reply::TimeUp => Approved::No(Some("the approval expired".to_owned())),
            Reply::Moved => Approved::Moved,
            Reply::Over(reason) => Approved::Over(reason),
        })
    }

    /// A call with a binding.
    async fn here(&mut self, session: &mut Session, call: &PendingCall) -> Result<Flow, RunError> {
        self.console.note(Note::Call(call)).await?;
        let engine = session.engine().clone();
        let (outcome, over) = match self.carry_out(&engine, Some(session), call).await? {
            Carried::Out(outcome) => {
                self.console.note(Note::Result(call, &outcome)).await?;
                return self.settle(session, call, outcome).await;
            }
            Carried::Moved(outcome) => (outcome, Flow::Continue(())),
            Carried::Over(reason, outcome) => (outcome, Flow::Break(reason)),
        };
        // The session left the call, or stays waiting for it: that it was stopped is no result, that it succeeded is.
        if let Some(outcome @ ToolOutcome::Success(_)) = outcome {
            self.console.note(Note::Result(call, &outcome)).await?;
            if let Err(refusal) = session.send(Input::Result(ToolResult { id: call.id.clone(), outcome })) {
                self.refuse(&refusal).await?;
            }
        }
        Ok(over)
    }

    /// A call that the other end carries out.
    async fn elsewhere(&mut self, session: &mut Session, call: &PendingCall, timeout: Option<Duration>) -> Result<Flow, RunError> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut again = false;
        loop {
            let result = match self.reply(Some(session), Awaited::Result(call), until, again).await? {
                Reply::Given(Command::Result(result)) => result,
                Reply::Given(_) => continue,
                Reply::TimeUp => {
                    let outcome = ToolOutcome::Error(timed_out(&call.name, timeout.unwrap_or_default()));
                    self.console.note(Note::Result(call, &outcome)).await?;
                    return self.settle(session, call, outcome).await;
                }
                Reply::Moved => return Ok(Flow::Continue(())),
                Reply::Over(reason) => return Ok(Flow::Break(reason)),
            };
            match session.send(Input::Result(result)) {
                Ok(()) => return Ok(Flow::Continue(())),
                Err(refusal) => self.refuse(&refusal).await?,
            }
            again = true;
        }
    }

    async fn settle(&mut self, session: &mut Session, call: &PendingCall, outcome: ToolOutcome) -> Result<Flow, RunError> {
        self.hand_in(session, Input::Result(ToolResult { id: call.id.clone(), outcome })).await
    }
}
