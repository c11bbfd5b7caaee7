//! A round of a call: what its result asks, and the state that its client carries to the next one.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest, InputRequiredResult};
use serde::{Deserialize, Serialize};

use super::{question::Question, turn_report::TurnReport};
use crate::{
    act::Walked,
    trouble::{Code, Trouble},
};

/// The state that a client carries from one round to the next. It grants nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RoundState {
    pub(super) session: String,
    pub(super) graph: String,
    /// The question that was asked, as [`ask::name`](super::ask::name) names it.
    pub(super) asked: String,
    pub(super) round: u32,
    /// True if it was a page, whose secret may be typed before the client continues.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_page: bool,
}

impl RoundState {
    /// The state after this question of a turn was asked.
    pub(super) fn of(walked: &Walked, turn_report: &TurnReport, question: &Question, round: u32) -> Self {
        Self {
            session: walked.target.id.to_string(),
            graph: walked.target.graph.name.to_string(),
            asked: turn_report.asked.clone(),
            round,
            is_page: question.is_page(),
        }
    }

    /// Reads what a client carried.
    ///
    /// # Errors
    /// It is none of this server.
    pub(super) fn read(text: &str) -> Result<Self, Trouble> {
        let bad = "`requestState` is none of this server; call the tool without it";
        serde_json::from_str(text).map_err(|_| Trouble::request("/requestState", bad))
    }

    /// A result that asks.
    ///
    /// # Errors
    /// A state that is no JSON, which none is.
    pub(super) fn asking(self, params: ElicitRequestParams) -> Result<InputRequiredResult, Trouble> {
        let state = serde_json::to_string(&self);
        let state = state.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        Ok(InputRequiredResult::new(Some(BTreeMap::from([(self.asked, request)])), Some(state)))
    }
}

/// Checks that a state was made by a server like this one: only a client that broke the protocol sends another.
///
/// # Errors
/// It was not.
pub(super) fn check_state(state: Option<&str>) -> Result<(), Trouble> {
    state.map_or(Ok(()), |state| RoundState::read(state).map(drop))
}
