//! A tool call that advances a session: it continues while its person can be asked, and ends with the current turn.
//!
//! **Invariant:** an answer is handed in with the number of its question; where something else is asked by then, nothing changes.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        CallToolResponse, CallToolResult, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
        ProtocolVersion, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
};
use serde_json::Value as Json;
use tokio::time::Instant;
use trellis_core::id::CallId;
use trellis_host::journal::RequestKey;

use super::{
    McpApprovals, McpDoor, apps, arguments,
    ask::{self, Form, Given},
    progress,
    round::RoundState,
    turn_report::{TurnReport, refusal_about, tell},
};
use crate::{
    act::{self, Answer, Decision, Target, Walked},
    gate::{Caller, Right},
    http,
    trouble::{Code, Trouble},
};

/// Clients drive 10 rounds; before they give up, the call ends and another one continues.
const LAST_ROUND: u32 = 8;
/// The duration of one look at a session, while a form is shown.
const LOOK_TIME: Duration = Duration::from_secs(60);

/// The means by which a person can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
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
    means: Means,
    has_pages: bool,
    /// True if the client shows results on the page of [`apps`](super::apps), which asks by itself.
    shows_page: bool,
    /// True if the call becomes a task, and waits for nothing.
    pub(super) is_task: bool,
}

/// A question to a person.
enum Question {
    Form(Form),
    /// A page where a secret is typed.
    Page(String),
}

/// The result of a question.
enum Heard {
    Result(ElicitResult),
    /// The session advanced without an answer.
    Moved(Box<Walked>),
    /// The client cannot be asked.
    Silence,
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
        Self { door, request, caller, means, has_pages, shows_page: apps::shows_pages(request), is_task }
    }

    /// The result of a tool; for the page, with the whole turn.
    pub(super) fn result(&self, turn_report: &TurnReport, lead: Option<&str>) -> CallToolResult {
        let result = turn_report.result(lead);
        if self.shows_page { apps::with_turn(result, turn_report.html()) } else { result }
    }

    /// Returns how long a call waits.
    fn wait(&self) -> Duration {
        if self.is_task { Duration::ZERO } else { self.door.settings.wait }
    }

    fn key(&self) -> RequestKey {
        RequestKey::by(std::sync::Arc::clone(&self.caller.label))
    }

    /// Continues from the current turn of a session.
    ///
    /// # Errors
    /// An answer is refused for a reason that another answer does not fix.
    pub(super) async fn go_on(&self, walked: Walked, round: u32, lead: Option<String>) -> Result<CallToolResponse, Trouble> {
        let (mut walked, mut lead) = (walked, lead);
        if self.is_task {
            // The result that a task would already have is returned at once.
            return Ok(match self.task(&walked).await? {
                Some(task) => task.into(),
                None => self.result(&tell(&walked).await?, lead.as_deref()).into(),
            });
        }
        loop {
            let turn_report = tell(&walked).await?;
            let is_last = self.means == Means::Rounds && round >= LAST_ROUND;
            let Some(question) = self.question(&walked, &turn_report).filter(|_| !is_last) else {
                return Ok(self.result(&turn_report, lead.as_deref()).into());
            };
            let params = params(&question, &turn_report, lead.take())?;
            if self.means == Means::Rounds {
                return Ok(RoundState::of(&walked, &turn_report, round).asking(params)?.into());
            }
            match self.ask(&walked, params).await {
                Heard::Moved(next) => walked = *next,
                Heard::Silence => return Ok(self.result(&turn_report, None).into()),
                Heard::Result(result) => match self.heard(walked, &turn_report, &question, result).await? {
                    Ok((next, why)) => (walked, lead) = (next, why),
                    Err(response) => return Ok(response),
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
        let answer = answers.unwrap_or_default().remove(&state.asked);
        let question = self.question(&walked, &turn_report).filter(|_| ask::name(walked.turn.asked, &turn_report.turn.stop) == state.asked);
        let (Some(question), Some(answer)) = (question, answer) else {
            return Ok(self.result(&turn_report, Some("Something else is asked by now, and nothing was changed.")).into());
        };
        let result = serde_json::from_value(answer).map_err(|error| Trouble::request("/inputResponses", error.to_string()))?;
        match self.heard(walked, &turn_report, &question, result).await? {
            Ok((next, why)) => self.go_on(next, state.round.saturating_add(1), why).await,
            Err(response) => Ok(response),
        }
    }

    /// Returns the questions to a client that fetches its requests itself; `None` if it cannot be asked.
    ///
    /// # Errors
    /// The form is none.
    pub(super) fn requests(&self, walked: &Walked, turn_report: &TurnReport) -> Result<Option<BTreeMap<String, InputRequest>>, Trouble> {
        let Some(question) = self.question(walked, turn_report) else { return Ok(None) };
        let request = InputRequest::Elicitation(ElicitRequest::new(params(&question, turn_report, None)?));
        Ok(Some(BTreeMap::from([(ask::name(walked.turn.asked, &turn_report.turn.stop), request)])))
    }

    /// Takes the answer to the current question, if it is among these.
    ///
    /// # Errors
    /// It is refused.
    pub(super) async fn take(&self, walked: Walked, mut answers: BTreeMap<String, Json>) -> Result<(), Trouble> {
        let turn_report = tell(&walked).await?;
        let answer = answers.remove(&ask::name(walked.turn.asked, &turn_report.turn.stop));
        let (Some(question), Some(answer)) = (self.question(&walked, &turn_report), answer) else { return Ok(()) };
        let result = serde_json::from_value(answer).map_err(|error| Trouble::request("/inputResponses", error.to_string()))?;
        self.heard(walked, &turn_report, &question, result).await.map(drop)
    }

    /// Returns the form or page for a person, if one may ask here.
    fn question(&self, walked: &Walked, turn_report: &TurnReport) -> Option<Question> {
        if self.means == Means::Words {
            return None;
        }
        let turn = &turn_report.turn;
        if ask::is_secret(&turn.stop) {
            let pages = self.door.settings.pages.as_deref().filter(|_| self.has_pages)?;
            return Some(Question::Page(format!("{}/#/s/{}/answer", pages.trim_end_matches('/'), turn.session)));
        }
        let may_approve = self.door.settings.approvals != McpApprovals::Never && self.caller.rights.has(Right::Approve);
        if ask::is_held(&turn.stop) && !may_approve {
            return None;
        }
        // The page asks everything else; a form besides would ask twice.
        if self.shows_page && !ask::is_held(&turn.stop) {
            return None;
        }
        let program = walked.target.graph.now().program?;
        let types = |key: &str| {
            let declared = program.root().types.iter().find(|(known, _)| **known == *key);
            declared.map(|(_, schema)| arguments::json(schema.source()))
        };
        // Since then forms have fields of several choices.
        let has_lists = self.request.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2025_11_25);
        ask::form(turn, has_lists, &types).map(Question::Form)
    }

    /// Hands in the answer of a person. Returns the turn after it with the text to say first, or the response.
    async fn heard(
        &self,
        walked: Walked,
        turn_report: &TurnReport,
        question: &Question,
        result: ElicitResult,
    ) -> Result<Result<(Walked, Option<String>), CallToolResponse>, Trouble> {
        match (result.action, question) {
            (ElicitationAction::Accept, Question::Form(form)) => {
                let content = result.content.unwrap_or_default();
                let handed = match form.read(&content) {
                    Ok(given) => self.hand_in(&walked, given).await,
                    Err(why) => return Ok(Ok((walked, Some(why)))),
                };
                match handed {
                    Ok(next) => Ok(Ok((next, None))),
                    Err(trouble) if is_mendable(trouble.code) => {
                        let target = walked.target.clone();
                        let trouble = http::refused(&target, trouble).await;
                        Ok(Ok((self.view(target).await?, Some(trouble.detail.clone()))))
                    }
                    Err(trouble) => Err(http::refused(&walked.target, trouble).await),
                }
            }
            (ElicitationAction::Accept, Question::Page(_)) => {
                let stop = walked.turn.stop.clone();
                let moved = tokio::time::timeout(self.wait(), self.moved(&walked)).await;
                match moved {
                    Ok(next) if next.turn.stop != stop => Ok(Ok((next, None))),
                    _ => Ok(Err(self.result(turn_report, Some("The secret was not typed yet; `navigate` asks again.")).into())),
                }
            }
            (action, _) => {
                let did = if action == ElicitationAction::Decline { "declined to answer" } else { "closed the question" };
                let lead = format!("The person {did}. The session waits; `navigate` with its name asks again.");
                Ok(Err(self.result(turn_report, Some(&lead)).into()))
            }
        }
    }

    async fn hand_in(&self, walked: &Walked, given: Given) -> Result<Walked, Trouble> {
        match given {
            Given::Decision(call, yes) => self.decide(walked.target.clone(), &call, yes).await,
            Given::Reply(reply) => {
                let reply = match &walked.turn.child {
                    Some(child) => reply.to(child.clone()),
                    None => reply,
                };
                self.send(walked.target.clone(), Answer { reply, expected: Some(walked.turn.asked) }).await
            }
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
        let until = Instant::now() + self.wait();
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

    /// Returns the turn of a session once it asks something else.
    async fn moved(&self, walked: &Walked) -> Walked {
        let mut seen = walked.turn.seq;
        loop {
            match act::look(walked.target.clone(), Some(seen), LOOK_TIME).await {
                Ok(Some(next)) if next.turn.stop != walked.turn.stop && !next.turn.stop.needs_nobody() => return next,
                Ok(Some(next)) => seen = next.turn.seq,
                Ok(None) => {}
                // A store that does not answer is asked again.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Asks the client by a request, as long as the session waits for that.
    async fn ask(&self, walked: &Walked, params: ElicitRequestParams) -> Heard {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let sent = self.request.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let Ok(mut handle) = sent else { return Heard::Silence };
        tokio::select! {
            answer = &mut handle.rx => match answer {
                Ok(Ok(ClientResult::ElicitResult(result))) => Heard::Result(result),
                _ => Heard::Silence,
            },
            moved = self.moved(walked) => {
                // A client that is gone needs no word.
                let _ = handle.cancel(Some("the session went on".to_owned())).await;
                Heard::Moved(Box::new(moved))
            }
        }
    }
}

/// Returns whether another answer may be accepted.
fn is_mendable(code: Code) -> bool {
    matches!(code, Code::InvalidInput | Code::InputTooLarge | Code::Conflict | Code::BadKey)
}

/// A question as a request to a client.
///
/// # Errors
/// Its schema is none that a form can have.
fn params(question: &Question, turn_report: &TurnReport, lead: Option<String>) -> Result<ElicitRequestParams, Trouble> {
    let led = |message: &str| lead.map_or_else(|| message.to_owned(), |lead| format!("{lead}\n\n{message}"));
    Ok(match question {
        Question::Form(form) => {
            let schema = serde_json::from_value(form.schema.clone());
            let schema = schema.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
            ElicitRequestParams::FormElicitationParams { meta: None, message: led(&form.message), requested_schema: schema }
        }
        Question::Page(url) => {
            let id = format!("{}@{}", turn_report.turn.session, turn_report.turn.seq);
            let message = led("A secret is asked for. Type it on this page.");
            ElicitRequestParams::UrlElicitationParams { meta: None, message, url: url.clone(), elicitation_id: id }
        }
    })
}
