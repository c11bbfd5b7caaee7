//! Results of tools: text for people, structured content for programs.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value as Json, json};
use trellis_core::SessionId;
use trellis_host::wire;

use super::ask;
use crate::{
    act::{Target, Walked},
    http::{Problem, add_html, turn_json},
    trouble::{Code, Trouble},
};

/// A turn without secrets.
#[derive(Clone, Debug)]
pub(super) struct TurnReport {
    /// The turn, with the texts of its question also if these were said before.
    pub(super) turn: wire::Turn,
    /// The question, as [`ask::name`] names it.
    pub(super) asked: String,
    /// The children that are neither the one that asks nor called it.
    pub(super) siblings: Vec<SessionId>,
    /// True if the next call ends its pause.
    is_resumed: bool,
    json: Json,
    is_hidden: bool,
}

/// Returns the current turn of a session, without secrets.
///
/// # Errors
/// The secrets of the session are unknown.
pub(super) async fn tell(walked: &Walked) -> Result<TurnReport, Trouble> {
    let json = turn_json(&walked.target.graph, &walked.turn, false, false).await?;
    let whole = serde_json::to_value(wire::Turn::from(&walked.turn).stop).unwrap_or_default();
    let read = serde_json::from_value::<wire::Turn>(json.clone());
    let mut turn = read.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
    turn.said.extend(said_before(walked, &turn).await?);
    Ok(TurnReport {
        asked: ask::name(walked.turn.asked, &turn),
        turn,
        siblings: siblings(walked),
        is_resumed: walked.target.is_paused_by_task(),
        is_hidden: json["stop"] != whole,
        json,
    })
}

/// Returns the texts of the question of a turn that were said before it: after an answer that was refused and counted, or to ask one child after another.
///
/// # Errors
/// As [`tell`].
async fn said_before(walked: &Walked, turn: &wire::Turn) -> Result<Vec<wire::Said>, Trouble> {
    if !ask::is_input(&turn.stop) || turn.said.iter().any(|said| said.child == turn.child) {
        return Ok(Vec::new());
    }
    // Where the session is elsewhere by now, there is nothing to add.
    let Ok(seen) = walked.target.sessions.view(&walked.target.id).await else { return Ok(Vec::new()) };
    if (seen.asked, &seen.child) != (walked.turn.asked, &walked.turn.child) {
        return Ok(Vec::new());
    }
    let mut json = turn_json(&walked.target.graph, &seen, false, false).await?;
    Ok(serde_json::from_value(json["said"].take()).unwrap_or_default())
}

/// Returns the children of a session beside the one that asks and its callers. Those that wait are in the turn; those that work are known while the
/// session is in memory.
fn siblings(walked: &Walked) -> Vec<SessionId> {
    let turn = &walked.turn;
    let known = walked.target.sessions.look(&walked.target.id, |session| {
        let line: Vec<_> = std::iter::successors(turn.child.clone(), |child| session.caller_of(child)).collect();
        (line, session.here().children.keys().cloned().collect::<Vec<_>>())
    });
    let (line, children) = known.unwrap_or_else(|| (turn.child.iter().cloned().collect(), Vec::new()));
    let waiting = turn.others.iter().filter_map(|other| other.child.clone());
    waiting.chain(children).filter(|child| !line.contains(child)).collect()
}

impl TurnReport {
    /// The result of a tool, with a sentence before it.
    pub(super) fn result(&self, lead: Option<&str>) -> CallToolResult {
        let words = ask::words(&self.turn, self.is_hidden, self.is_resumed);
        let text = lead.map_or_else(|| words.clone(), |lead| format!("{lead}\n\n{words}"));
        let mut structured = json!({
            "session": self.json["session"], "seq": self.json["seq"], "said": self.json["said"], "stop": self.json["stop"],
        });
        if let Some(end) = ask::ended(&self.turn.stop) {
            structured["reason"] = self.json["stop"]["payload"]["reason"].clone();
            if end.reason == wire::EndReason::Finished {
                structured["output"] = self.json["stop"]["payload"]["output"].clone();
            }
        }
        let mut result = both(text, structured);
        // An end without success is an error to the model that called the flow.
        result.is_error = Some(ask::ended(&self.turn.stop).is_some_and(|end| end.reason == wire::EndReason::Failed));
        result
    }

    /// Returns the whole turn with its texts as HTML, in the shape that HTTP has.
    pub(super) fn html(&self) -> Json {
        let mut json = self.json.clone();
        add_html(&mut json);
        json
    }

    /// Returns the whole turn, in the shape that HTTP has.
    pub(super) fn json(&self) -> &Json {
        &self.json
    }
}

/// A result with both forms.
pub(super) fn both(text: String, structured: Json) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

/// A refusal, as the result of a tool.
pub(super) fn refusal(trouble: &Trouble) -> CallToolResult {
    refused(trouble, ask::detail(trouble, false))
}

/// A refusal about a session. Its last line names the session and the number of its next record, for a model that gets the text alone.
pub(super) async fn refusal_about(target: &Target, trouble: &Trouble) -> CallToolResult {
    let mut text = ask::detail(trouble, target.is_paused_by_task());
    // The text of a turn ends so anyway.
    if trouble.current.is_none()
        && let Ok(place) = target.place().await
    {
        let _ = write!(text, "\n\nsession {}, seq {}", target.id, place.seq);
    }
    refused(trouble, text)
}

fn refused(trouble: &Trouble, text: String) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(Problem::json(trouble));
    result
}
