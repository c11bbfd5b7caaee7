//! Questions of a session to the person at its client, and what the answers do.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, ProtocolVersion, ServerRequest,
    },
    service::PeerRequestOptions,
};
use serde_json::Value as Json;

use super::{
    McpApprovals, arguments,
    ask::{self, Given},
    question::{self, Heard, Question},
    turn_report::{TurnReport, tell},
    walk::{Means, Walk},
};
use crate::{
    act::{self, Answer, Walked, deadline},
    gate::Right,
    http,
    task_notes::NoAnswer,
    trouble::{Code, Trouble},
};

/// The duration of one look at a session, while a form is shown.
const LOOK_TIME: Duration = Duration::from_secs(60);

impl Walk<'_> {
    /// Returns the form or page for a person, if one may ask here.
    pub(super) fn question(&self, walked: &Walked, turn_report: &TurnReport) -> Option<Question> {
        if self.means == Means::Words {
            return None;
        }
        let turn = &turn_report.turn;
        if ask::is_secret(&turn.stop) {
            let pages = self.door.settings.pages.as_deref().filter(|_| self.has_pages)?;
            let url = format!("{}/#/s/{}/answer", pages.trim_end_matches('/'), turn.session);
            let message = ask::message(turn, &turn_report.siblings, "A secret is asked for. Type it on this page.");
            return Some(Question::Page { url, message });
        }
        let may_approve = self.door.settings.approvals != McpApprovals::Never && self.caller.rights.has(Right::Approve);
        if !self.has_forms || ask::is_held(&turn.stop) && !may_approve {
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
        ask::form(turn, &turn_report.siblings, has_lists, &types).map(Question::Form)
    }

    /// Returns the questions to a client that fetches its requests itself; `None` if it cannot be asked.
    ///
    /// # Errors
    /// The form is none.
    pub(super) fn requests(&self, walked: &Walked, turn_report: &TurnReport) -> Result<Option<BTreeMap<String, InputRequest>>, Trouble> {
        let Some(question) = self.question(walked, turn_report) else { return Ok(None) };
        let (key, came) = walked.target.graph.task_notes.key(&walked.target.id, &turn_report.asked);
        let lead = came.and_then(|came| if let NoAnswer::Refused(why) = came { Some(why) } else { None });
        let request = InputRequest::Elicitation(ElicitRequest::new(question.params(&turn_report.turn, lead)?));
        Ok(Some(BTreeMap::from([(key, request)])))
    }

    /// Takes the answer to the current question, if it is among these.
    ///
    /// # Errors
    /// It is refused, and another one does not help.
    pub(super) async fn take(&self, walked: Walked, mut answers: BTreeMap<String, Json>) -> Result<(), Trouble> {
        let turn_report = tell(&walked).await?;
        let answer = answers.remove(&walked.target.graph.task_notes.key(&walked.target.id, &turn_report.asked).0);
        let (Some(question), Some(answer)) = (self.question(&walked, &turn_report), answer) else { return Ok(()) };
        let result = question::read(answer)?;
        let is_opened = question.is_page() && result.action == ElicitationAction::Accept;
        let target = walked.target.clone();
        let note = |now: &str, came| target.graph.task_notes.answered(&target.id, &turn_report.asked, now, came);
        match self.heard(walked, &question, result).await? {
            Ok((next, why)) => {
                let next = tell(&next).await?;
                if let Some(why) = why.or_else(|| ask::refusal(&next.turn).map(str::to_owned)) {
                    note(&next.asked, NoAnswer::Refused(why));
                }
            }
            Err(_) if is_opened => note(&turn_report.asked, NoAnswer::Opened),
            Err(lead) => note(&turn_report.asked, NoAnswer::Declined(lead)),
        }
        Ok(())
    }

    /// Asks the client by a request, as long as the session waits for that.
    ///
    /// # Errors
    /// There is no such session any more, or it cannot be shown.
    pub(super) async fn ask(&self, walked: &Walked, params: ElicitRequestParams) -> Result<Heard, Trouble> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let sent = self.request.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let Ok(mut handle) = sent else { return Ok(Heard::Silence) };
        tokio::select! {
            answer = &mut handle.rx => Ok(match answer {
                Ok(Ok(ClientResult::ElicitResult(result))) => Heard::Result(result),
                _ => Heard::Silence,
            }),
            moved = moved(walked) => {
                // A client that is gone needs no word.
                let _ = handle.cancel(Some("the session went on".to_owned())).await;
                Ok(Heard::Moved(Box::new(moved?)))
            }
        }
    }

    /// Hands in the answer of a person. Returns the turn after it with the text to say first, or a sentence about why nothing was answered.
    ///
    /// # Errors
    /// The answer is refused, and another one does not help.
    pub(super) async fn heard(
        &self,
        walked: Walked,
        question: &Question,
        result: ElicitResult,
    ) -> Result<Result<(Walked, Option<String>), String>, Trouble> {
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
            (ElicitationAction::Accept, Question::Page { .. }) => {
                let until = deadline(self.wait());
                match tokio::time::timeout_at(until, moved(&walked)).await {
                    Ok(next) => Ok(Ok((self.settled(next?, until).await?, None))),
                    Err(_) => Ok(Err("The secret was not typed yet; `navigate` asks again.".to_owned())),
                }
            }
            (action, _) => {
                let did = if action == ElicitationAction::Decline { "declined to answer" } else { "closed the question" };
                Ok(Err(format!("The person {did}. The session waits; `navigate` with its name asks again.")))
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
}

/// Returns the turn of a session once it asks something else, or nothing.
///
/// # Errors
/// There is no such session any more, or it cannot be shown.
async fn moved(walked: &Walked) -> Result<Walked, Trouble> {
    let mut seen = walked.turn.seq;
    loop {
        match act::look(walked.target.clone(), Some(seen), LOOK_TIME).await {
            Ok(Some(next)) => {
                let (was, is) = (&walked.turn, &next.turn);
                if (was.asked, &was.child, &was.stop) != (is.asked, &is.child, &is.stop) {
                    return Ok(next);
                }
                seen = is.seq;
            }
            Ok(None) => {}
            // A store that does not answer is asked again.
            Err(trouble) if trouble.code.status() >= 500 => tokio::time::sleep(Duration::from_secs(1)).await,
            Err(trouble) => return Err(trouble),
        }
    }
}

/// Returns whether another answer may be accepted.
fn is_mendable(code: Code) -> bool {
    matches!(code, Code::InvalidInput | Code::InputTooLarge | Code::Conflict | Code::BadKey)
}
