//! The stop of a session, and the content that it showed before.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{NodeId, SessionId};

use super::{SessionEvent, Stop};
use crate::{
    policy::{Budget, Spent},
    sessions,
    store::SessionStatus,
};

/// The answer of everything that walks a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "turn"))]
#[non_exhaustive]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// The name of its graph, where a server has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Arc<str>>,
    /// The fingerprint of the program that it is on.
    pub program: Arc<str>,
    /// The number of the record that comes next. An answer that names it, or the number of the question, is taken while the same is asked.
    pub seq: u64,
    /// The node that stops.
    pub node: NodeId,
    /// The child session that stops; absent where the session itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The wait of the session, or its end: `active`, `waiting_for_input`, `waiting_for_tool`, `rolling_back`, `finished`, `failed`,
    /// `denied`, `rolled_back`.
    pub standing: Arc<str>,
    /// The server's clock, in milliseconds since 1970, to count down to `due` by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// The texts since the stop before.
    pub said: Vec<Said>,
    /// The lines since the stop before, the newest 200, without `PROGRESS` and `DELTA`.
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<SessionEvent>"))]
    pub happened: Vec<TurnLine>,
    /// True if there were more events than these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The need of the session.
    pub stop: Stop,
    /// The other needs in the session and its children; each is answered by its id, or with `to`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Waiting>,
    /// True if there are more needs than these 64.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_others: bool,
    /// The bounds of its calls, and the amount that they have spent; absent if there is no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetUse>,
    /// True if the server was told to pause the session: it does not go on by itself until it is resumed, or gets a reply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// The moment when the session stops waiting for that, in milliseconds since 1970; null where it waits for ever.
    pub due: Option<u64>,
}

/// The largest number of other needs in a turn.
const MAX_OTHERS: usize = 64;

/// The use of the budget of a session, for each bound that is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "budget_use"))]
#[non_exhaustive]
pub struct BudgetUse {
    /// The attempts of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<BoundUse>,
    /// The tokens of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<BoundUse>,
}

/// The use of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "bound_use"))]
#[non_exhaustive]
pub struct BoundUse {
    /// The amount that is spent.
    pub used: u64,
    /// The bound.
    pub max: u64,
}

impl BudgetUse {
    fn of(budget: Budget, spent: Spent) -> Option<Self> {
        let bound = |max: Option<u64>, used| max.map(|max| BoundUse { used, max });
        let (calls, tokens) = (bound(budget.calls, spent.calls), bound(budget.tokens, spent.tokens));
        (calls.is_some() || tokens.is_some()).then_some(Self { calls, tokens })
    }
}

/// A line of an event, with the child that it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnLine {
    /// The line.
    #[serde(flatten)]
    pub event: SessionEvent,
    /// The child session; absent for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
}

impl TurnLine {
    fn of(event: &sessions::SessionEvent) -> Option<Self> {
        Some(Self { event: SessionEvent::of(event)?, child: event.split().0.cloned() })
    }
}

impl Turn {
    /// Adds the name of the graph and the time, as a server sends them.
    #[must_use]
    pub fn addressed(self, graph: impl Into<Arc<str>>, now: u64) -> Self {
        Self { graph: Some(graph.into()), now: Some(now), ..self }
    }

    /// Says whether the session is paused in this process, which its records do not tell.
    #[must_use]
    pub fn paused(self, paused: bool) -> Self {
        Self { paused, ..self }
    }
}

impl From<&sessions::Turn> for Turn {
    fn from(turn: &sessions::Turn) -> Self {
        Self {
            session: turn.session.clone(),
            graph: None,
            program: Arc::clone(&turn.program),
            seq: turn.seq,
            node: turn.node.clone(),
            child: turn.child.clone(),
            standing: SessionStatus::as_str(turn.standing).into(),
            now: None,
            happened: turn.happened.iter().filter_map(TurnLine::of).collect(),
            more: turn.has_more,
            said: turn.said.iter().map(Said::from).collect(),
            stop: Stop::of(&turn.stop, turn.asked),
            others: turn.others.iter().take(MAX_OTHERS).map(Waiting::from).collect(),
            more_others: turn.others.len() > MAX_OTHERS,
            budget: BudgetUse::of(turn.budget, turn.spent),
            paused: false,
            due: turn.due(),
        }
    }
}

/// Another need in a session and its children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "waiting_session"))]
#[non_exhaustive]
pub struct Waiting {
    /// The child session; absent for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// Its node.
    pub node: NodeId,
    /// The need.
    pub stop: Stop,
    /// The time at which it changes by itself, in milliseconds since 1970; null if it waits for ever.
    pub due: Option<u64>,
}

impl From<&sessions::Waiting> for Waiting {
    fn from(waiting: &sessions::Waiting) -> Self {
        let sessions::Waiting { child, node, asked, stop } = waiting;
        Self { child: child.clone(), node: node.clone(), stop: Stop::of(stop, *asked), due: stop.acts_at() }
    }
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "said"))]
#[non_exhaustive]
pub struct Said {
    /// The child session whose node it is; absent for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The node.
    pub node: NodeId,
    /// The text, as Markdown.
    pub text: Arc<str>,
    /// The text as safe HTML, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

impl From<&sessions::Said> for Said {
    fn from(said: &sessions::Said) -> Self {
        Self { child: said.child.clone(), node: said.node.clone(), text: Arc::clone(&said.text), html: None }
    }
}
