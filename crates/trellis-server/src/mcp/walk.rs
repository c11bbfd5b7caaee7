//! A tool call that advances a session: it continues while its person can be asked, and ends with the current turn.
//!
//! **Invariant:** an answer is handed in with the number of its question; where something else is asked by then, nothing changes.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolResponse, CallToolResult, ElicitationAction, ProtocolVersion},
    service::RequestContext,
};
use serde_json::Value as Json;
use tokio::time::Instant;
use trellis_core::id::CallId;
use trellis_host::journal::RequestKey;

use super::{
    McpDoor, apps, progress,
    question::{self, Heard},
    round::RoundState,
    turn_report::{TurnReport, refusal_about, tell},
};
use crate::{
    act::{self, Answer, Decision, Target, Walked, deadline},
    gate::Caller,
    trouble::{Code, Trouble},
};

/// The round at which a call ends and another one continues, however its person is asked. Clients of the newest revision give up after 10; those of
/// older ones would be asked without end, by a graph that goes in circles or because of answers that do not fit.
const LAST_ROUND: u32 = 8;

/// The means by which a person can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// By the result, which the client sends again with the answer.
    Rounds,
    /// By a request to the client while the call lasts.
    Requests,
    /// Only by the model, in words.
    Words,
}

/// One call that walks.
pub(super) struct Walk<'r> {
    pub(super) door: &'r McpDoor,
    pub(super) request: &'r RequestContext<RoleServer>,
    pub(super) caller: Caller,
    pub(super) means: Means,
    /// True if the client shows forms.
    pub(super) has_forms: bool,
    /// True if the client opens pages, and there are some.
    pub(super) has_pages: bool,
    /// True if the client shows results on the page of [`apps`](super::apps), which asks by itself.
    pub(super) shows_page: bool,
    /// True if the call becomes a task, and waits for nothing.
    pub(super) is_task: bool,
}

impl<'r> Walk<'r> {
    pub(super) fn new(door: &'r McpDoor, request: &'r RequestContext<RoleServer>, caller: Caller) -> Self {
        let asks = request.client_capabilities().and_then(|capabilities| capabilities.elicitation);
        let is_new = request.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let has_pages = asks.as_ref().is_some_and(|asks| asks.url.is_some()) && door.settings.pages.is_some();
        // An empty object is a client that shows forms.
        let has_forms = asks.as_ref().is_some_and(|asks| asks.form.is_some() || asks.url.is_none());
        let means = match has_forms || has_pages {
            true if is_new => Means::Rounds,
            true if request.peer.peer_info().is_some() => Means::Requests,
            _ => Means::Words,
        };
        let is_task = request.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        Self { door, request, caller, means, has_forms, has_pages, shows_page: apps::shows_pages(request), is_task }
    }

    /// The result of a tool; for the page, with the whole turn.
    pub(super) fn result(&self, turn_report: &TurnReport, lead: Option<&str>) -> CallToolResult {
        let result = turn_report.result(lead);
        if self.shows_page { apps::with_turn(result, turn_report.html()) } else { result }
    }

    /// Returns how long a call waits.
    pub(super) fn wait(&self) -> Duration {
        if self.is_task { Duration::ZERO } else { self.door.settings.wait }
    }

    fn key(&self) -> RequestKey {
        RequestKey::by(std::sync::Arc::clone(&self.caller.label))
    }

    /// Continues from the current turn of a session, in this round of the call.
    ///
    /// # Errors
    /// An answer is refused for a reason that another answer does not fix.
    pub(super) async fn go_on(&self, walked: Walked, round: u32, lead: Option<String>) -> Result<CallToolResponse, Trouble> {
        let (mut walked, mut round, mut lead) = (walked, round, lead);
        if self.is_task {
            // The result that a task would already have is returned at once.
            return Ok(match self.task(&walked).await? {
                Some(task) => task.into(),
                None => self.result(&tell(&walked).await?, lead.as_deref()).into(),
            });
        }
        loop {
            let turn_report = tell(&walked).await?;
            let Some(question) = self.question(&walked, &turn_report).filter(|_| round < LAST_ROUND) else {
                return Ok(self.result(&turn_report, lead.as_deref()).into());
            };
            let params = question.params(&turn_report.turn, lead.take())?;
            if self.means == Means::Rounds {
                return Ok(RoundState::of(&walked, &turn_report, &question, round).asking(params)?.into());
            }
            round += 1;
            match self.ask(&walked, params).await? {
                Heard::Moved(next) => walked = self.settled(*next, deadline(self.wait())).await?,
                Heard::Silence => return Ok(self.result(&turn_report, None).into()),
                Heard::Result(result) => match self.heard(walked, &question, result).await? {
                    Ok((next, why)) => (walked, lead) = (next, why),
                    Err(why) => return Ok(self.result(&turn_report, Some(&why)).into()),
                },
            }
        }
    }

    /// Continues with the answers that a client sends with its call.
    ///
    /// # Errors
    /// As [`Walk::go_on`]; or the state is none.
    pub(super) async fn answered(&self, state: &str, answers: Option<BTreeMap<String, Json>>) -> Result<CallToolResponse, Trouble> {
        let state = RoundState::read(state)?;
        let target = Target::find(&self.door.served, &state.session, Some(&state.graph)).await?;
        match self.answered_at(target.clone(), &state, answers).await {
            Ok(response) => Ok(response),
            Err(trouble) => Ok(refusal_about(&target, &trouble).await.into()),
        }
    }

    async fn answered_at(
        &self,
        target: Target,
        state: &RoundState,
        answers: Option<BTreeMap<String, Json>>,
    ) -> Result<CallToolResponse, Trouble> {
        let walked = self.view(target).await?;
        let turn_report = tell(&walked).await?;
        let answer = answers.unwrap_or_default().remove(&state.asked).map(question::read).transpose()?;
        let is_same = turn_report.asked == state.asked;
        let question = self.question(&walked, &turn_report).filter(|_| is_same);
        let is_typed = !is_same && state.is_page && answer.as_ref().is_some_and(|answer| answer.action == ElicitationAction::Accept);
        let round = state.round.saturating_add(1);
        match (question, answer) {
            (Some(question), Some(answer)) => match self.heard(walked, &question, answer).await? {
                Ok((next, why)) => self.go_on(next, round, why).await,
                Err(why) => Ok(self.result(&turn_report, Some(&why)).into()),
            },
            // Without an answer the same is asked again; a secret was typed before the client said that its page is open.
            _ if is_same || is_typed => self.go_on(walked, round, None).await,
            _ => Ok(self.result(&turn_report, Some("Something else is asked by now, and nothing was changed.")).into()),
        }
    }

    /// Decides about exactly this call.
    ///
    /// # Errors
    /// Another one waits, or none.
    pub(super) async fn decide(&self, target: Target, call: &CallId, yes: bool) -> Result<Walked, Trouble> {
        let deciding = act::decide(target.clone(), call.as_str(), Decision { yes, because: None }, self.key(), self.wait());
        progress::with(self.request, &target, Box::pin(deciding)).await
    }

    /// Hands in an answer.
    ///
    /// # Errors
    /// It is refused.
    pub(super) async fn send(&self, target: Target, answer: Answer) -> Result<Walked, Trouble> {
        let sending = act::send(target.clone(), answer, self.key(), self.wait());
        progress::with(self.request, &target, Box::pin(sending)).await
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// There is no such session, or it cannot continue.
    pub(super) async fn resume(&self, target: Target) -> Result<Walked, Trouble> {
        let resuming = act::resume(target.clone(), self.wait());
        progress::with(self.request, &target, Box::pin(resuming)).await
    }

    /// Begins a session.
    ///
    /// # Errors
    /// The start is refused.
    pub(super) async fn start(&self, mut beginning: act::Beginning) -> Result<Walked, Trouble> {
        let key = self.key();
        let graph = self.door.served.graph(beginning.graph.as_deref())?;
        let id = act::new_name(&key)?;
        let target = Target::of(&self.door.served, std::sync::Arc::clone(graph), id.as_str().into())?;
        beginning.id = Some(id);
        let starting = act::start(&self.door.served, beginning, key, self.wait());
        progress::with(self.request, &target, Box::pin(starting)).await
    }

    /// Returns the turn of a session, once it has come to a stop or time is up.
    ///
    /// # Errors
    /// There is none.
    pub(super) async fn view(&self, target: Target) -> Result<Walked, Trouble> {
        self.view_until(target, deadline(self.wait())).await
    }

    /// Returns the turn, or a later one, if the session works by itself there.
    ///
    /// # Errors
    /// As [`Walk::view`].
    pub(super) async fn settled(&self, walked: Walked, until: Instant) -> Result<Walked, Trouble> {
        if walked.turn.stop.needs_nobody() { self.view_until(walked.target, until).await } else { Ok(walked) }
    }

    async fn view_until(&self, target: Target, until: Instant) -> Result<Walked, Trouble> {
        let looking = async {
            let mut seen = None;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                let walked = match act::look(target.clone(), seen, left).await? {
                    Some(walked) => walked,
                    None => act::look(target.clone(), None, Duration::ZERO)
                        .await?
                        .ok_or_else(|| Trouble::new(Code::Internal, Code::Internal.title()).logged("a look without a turn"))?,
                };
                let is_paused = target.sessions.is_paused(&target.id);
                if !walked.turn.stop.needs_nobody() || is_paused || Instant::now() >= until {
                    return Ok(walked);
                }
                seen = Some(walked.turn.seq);
            }
        };
        progress::with(self.request, &target, Box::pin(looking)).await
    }
}
