//! Policies: the decision whether a call runs, is held for an approval, or is denied (language 11.3).
//!
//! ```text
//! PolicyChain: forced ─▶ block ─▶ ask ─▶ allow ─▶ tool ─▶ score        in the order of the author; the first that decides wins
//!          └─ a call (tool, arguments, node, session) ──▶ ChainAnswer { decided, read }
//! ```
//!
//! A chain is asked by sessions about their calls (`policy:`), and by the builtin `policy.decide` about anything. It changes nothing: values
//! that it reads from the world are evidence, which sessions record before they act on it.
//!
//! **Invariant:** a provider that cannot be read never lets a call run: it holds the call, or fails it with the code `policy`.

mod budget;
mod chain;
mod pattern;
mod rulings;
pub(crate) mod score;
mod timestamp;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use trellis_core::{ToolError, Value};

pub use self::{
    budget::{Budget, Spent},
    chain::{ChainAnswer, Otherwise, PolicyChain, PolicyProvider, PolicySubject},
    pattern::CallPattern,
    rulings::Rulings,
    score::ScoreLock,
};

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "decision"))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// It runs, unless its graph asks for an approval.
    AutoRun,
    /// It waits for an approval.
    Ask,
    /// It is denied.
    Block,
}

impl Decision {
    /// Reads `AUTO_RUN`, `ASK` or `BLOCK`; nothing else is a decision.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "AUTO_RUN" => Some(Self::AutoRun),
            "ASK" => Some(Self::Ask),
            "BLOCK" => Some(Self::Block),
            _ => None,
        }
    }

    /// Its name: `AUTO_RUN`, `ASK`, `BLOCK`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AutoRun => "AUTO_RUN",
            Self::Ask => "ASK",
            Self::Block => "BLOCK",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kind of provider that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "decision_source"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionSource {
    /// A variable of the environment.
    Forced,
    /// The list of calls that are denied.
    Block,
    /// The list of calls that need an approval.
    Ask,
    /// The list of calls that run.
    Allow,
    /// A tool.
    Provider,
    /// A score of a file.
    ScoreLock,
    /// An interceptor of the host.
    Interceptor,
}

impl DecisionSource {
    /// Its name on the wire: `forced`, `score_lock` …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Block => "block",
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Provider => "provider",
            Self::ScoreLock => "score_lock",
            Self::Interceptor => "interceptor",
        }
    }
}

/// A decision about one call, with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decided {
    /// The decision about the call.
    pub decision: Decision,
    /// The kind of provider that decided.
    pub source: DecisionSource,
    /// Reasons for people, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Arc<str>>,
    /// The evidence that was read: `{score, risk, file, age_minutes}` of a score, `{env}` of a variable, `{tool}` of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Value>,
    /// The terms on which an interceptor holds the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldTerms>,
}

/// The terms on which an interceptor holds a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HoldTerms {
    /// The question, instead of that of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Arc<str>>,
    /// Milliseconds after which the call is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The time of the verdict, in milliseconds since 1970.
    pub since: u64,
}

impl HoldTerms {
    /// Returns the time at which the call is denied, and the milliseconds from the verdict until then.
    pub(crate) fn end(&self) -> Option<(u64, u64)> {
        self.expires.map(|expires| (self.since.saturating_add(expires), expires))
    }
}

impl Decided {
    /// A decision without notes or evidence.
    pub fn new(decision: Decision, source: DecisionSource) -> Self {
        Self { decision, source, notes: Vec::new(), evidence: None, hold: None }
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<Arc<str>>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds evidence.
    #[must_use]
    pub fn evidence(self, evidence: Value) -> Self {
        Self { evidence: Some(evidence), ..self }
    }

    /// Returns the decision by which a call waits on these terms: what a policy decided before stays beside them.
    pub(crate) fn wait_on(before: Option<Self>, hold: HoldTerms) -> Self {
        let asks = before.filter(|before| before.decision == Decision::Ask);
        let note = || hold.ask.clone().unwrap_or_else(|| "an interceptor holds the call".into());
        let decided = asks.unwrap_or_else(|| Self::new(Decision::Ask, DecisionSource::Interceptor).note(note()));
        Self { hold: Some(hold), ..decided }
    }

    /// The notes as one line, for a denial.
    pub fn reason(&self) -> String {
        match self.notes.len() {
            0 => format!("the policy decides {}", self.decision),
            _ => self.notes.join("; "),
        }
    }
}

/// A policy that cannot be asked (code `policy`, final).
pub(crate) fn policy_error(message: impl Into<String>) -> ToolError {
    ToolError::coded("policy", message).finally()
}
