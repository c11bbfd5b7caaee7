//! Results of tools: text for people, structured content for programs.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value as Json, json};
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
    pub(super) turn: wire::Turn,
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
    let turn = read.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
    Ok(TurnReport { turn, is_hidden: json["stop"] != whole, json })
}

impl TurnReport {
    /// The result of a tool, with a sentence before it.
    pub(super) fn result(&self, lead: Option<&str>) -> CallToolResult {
        let words = ask::words(&self.turn, self.is_hidden);
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
    refused(trouble, ask::detail(trouble))
}

/// A refusal about a session. Its last line names the session and the number of its next record, for a model that gets the text alone.
pub(super) async fn refusal_about(target: &Target, trouble: &Trouble) -> CallToolResult {
    let mut text = ask::detail(trouble);
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
