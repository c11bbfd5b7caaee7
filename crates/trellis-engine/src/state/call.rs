//! A call as it is stored in the state: interpolated once, repeated byte for byte (language 7.1, 7.2).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};

use super::part_name::{PartCalls, PartName};

use trellis_base::{
    id::{CallId, IdempotencyKey, NodeId, SessionId},
    language::{Retry, SecretUse},
    value::{Mapping, Value},
};

/// An interpolated call.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// This attempt.
    pub id: CallId,
    /// The tool, or `graph`, `parallel`, `each`.
    pub name: Arc<str>,
    /// The purpose of the call.
    pub role: CallRole,
    /// The node whose call it is.
    pub node: NodeId,
    /// The arguments; places for secrets are empty here and listed in `secrets`.
    pub args: Mapping,
    /// The places of secrets in `args`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretUse>,
    /// One key for all attempts.
    pub idempotency_key: IdempotencyKey,
    /// This attempt, from 1.
    pub attempt: u32,
    /// Milliseconds the host waits before it calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay: u64,
    /// Milliseconds the call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// A person must be asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approval>,
    /// The retry policy of an undo or a part, which have no edges of their own to carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRecord>,
    /// Travels with the action.
    #[serde(default, deserialize_with = "trellis_base::value::present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The kind of the callee.
    #[serde(default, skip_serializing_if = "CallKind::is_tool")]
    pub kind: CallKind,
    /// The names of the tools that a model is offered: the node's own, but for the one that is called (language 9.19).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<Arc<str>>,
    /// The part of another call that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
    /// Calls of its parts that were made already; neither stored nor compared.
    #[serde(skip)]
    pub prepared: PartCalls<PendingCall>,
}

/// A part's place: the attempt of the call that it belongs to, and its name there (language 10.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOf {
    /// The attempt of the whole.
    pub of: CallId,
    /// Its name there.
    pub part: PartName,
}

/// The purpose of a call; part of its ids (language 7.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallRole {
    /// The node's `do`.
    Do,
    /// The undo of an effect, by its number from 1.
    Undo(u32),
    /// The graph's `before_each`.
    BeforeEach,
}

/// The kind of a call's callee (language 5.4, 5.5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A tool.
    #[default]
    Tool,
    /// A child session that begins at this node.
    Graph(NodeId),
    /// Calls side by side.
    Parallel {
        /// By branch, in the order of the file.
        #[serde(deserialize_with = "branches")]
        branches: Vec<(Arc<str>, PendingCall)>,
        /// True if one success is enough.
        any: bool,
        /// True if errors become entries of the result.
        collect: bool,
        /// The number of calls that run at once.
        limit: Option<u32>,
    },
    /// One call per item.
    Each {
        /// The items.
        items: Value,
        /// The tools that items may call.
        offered: Vec<Offered>,
        /// The approval that each item needs: the question of each, `None` for a question that could not be rendered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approve: Option<ItemApproval>,
        /// True if errors become entries of the result.
        collect: bool,
        /// The number of calls that run at once.
        limit: Option<u32>,
    },
}

/// A tool that items of `each` may call, with its policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "OfferedForm")]
pub struct Offered {
    /// Its name.
    pub name: Arc<str>,
    /// Milliseconds a call of it may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// The policy of further attempts at a call of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRecord>,
}

/// An offered tool as it is stored: version 1 had its name only.
#[derive(Deserialize)]
#[serde(untagged)]
enum OfferedForm {
    Name(Arc<str>),
    Whole {
        name: Arc<str>,
        #[serde(default)]
        timeout: Option<u64>,
        #[serde(default)]
        retry: Option<RetryRecord>,
    },
}

impl From<OfferedForm> for Offered {
    fn from(form: OfferedForm) -> Self {
        match form {
            OfferedForm::Name(name) => Self { name, timeout: None, retry: None },
            OfferedForm::Whole { name, timeout, retry } => Self { name, timeout, retry },
        }
    }
}

/// The approvals of items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemApproval {
    /// The questions: one for all items, or one for each; null where one could not be made. None: the call itself is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Option<Arc<str>>>,
    /// Milliseconds until one expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// Branches in order; version 1 had a mapping.
fn branches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Arc<str>, PendingCall)>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        List(Vec<(Arc<str>, PendingCall)>),
        Mapping(std::collections::BTreeMap<Arc<str>, PendingCall>),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::List(list) => list,
        Form::Mapping(mapping) => mapping.into_iter().collect(),
    })
}

impl PendingCall {
    /// Returns the callee, as a person knows it: the tool, or the node at which a child session begins.
    pub fn callee(&self) -> &str {
        match &self.kind {
            CallKind::Graph(node) => node.as_str(),
            CallKind::Tool | CallKind::Parallel { .. } | CallKind::Each { .. } => &self.name,
        }
    }

    /// Its `id`, `key` and `attempt`, which the templates of a binding read as `call` (language 9.2).
    pub fn identity(&self) -> Mapping {
        let parts = [
            ("id", Value::Text(self.id.shared())),
            ("key", Value::Text(self.idempotency_key.shared())),
            ("attempt", Value::from(self.attempt)),
        ];
        parts.into_iter().collect()
    }

    /// The values that it carries, and those of the calls in it.
    pub(crate) fn values(&self) -> Vec<Value> {
        let own = [Some(self.args.clone().into()), self.metadata.clone()].into_iter().flatten();
        let inner = match &self.kind {
            CallKind::Tool | CallKind::Graph(_) => Vec::new(),
            CallKind::Each { items, .. } => vec![items.clone()],
            CallKind::Parallel { branches, .. } => branches.iter().flat_map(|(_, branch)| branch.values()).collect(),
        };
        own.chain(inner).collect()
    }

    /// Levels of lists and mappings that it has where it is stored.
    pub(crate) fn depth(&self) -> u32 {
        let inner = match &self.kind {
            CallKind::Tool | CallKind::Graph(_) => 0,
            CallKind::Each { items, .. } => 3 + items.depth(),
            CallKind::Parallel { branches, .. } => 5 + branches.iter().map(|(_, branch)| branch.depth()).max().unwrap_or_default(),
        };
        let metadata = self.metadata.as_ref().map_or(0, Value::depth);
        inner.max(1 + metadata.max(Value::Map(self.args.clone()).depth()))
    }
}

/// Without arguments, which may be private, and without texts that are made of them.
impl fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut call = f.debug_struct("PendingCall");
        call.field("id", &self.id).field("callee", &self.callee()).field("role", &self.role).field("node", &self.node);
        call.field("part", &self.part).field("delay", &self.delay).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl CallKind {
    /// Returns whether it is a plain tool.
    pub fn is_tool(&self) -> bool {
        matches!(self, Self::Tool)
    }
}

/// An approval that a call needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The question; `None` means that the call itself is shown.
    pub ask: Option<Arc<str>>,
    /// Milliseconds until it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A retry policy as the state stores it, durations in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryRecord {
    /// Attempts in all.
    pub max: u32,
    /// First delay.
    pub base: u64,
    /// Factor.
    pub factor: f64,
    /// Longest delay.
    pub cap: u64,
    /// Retries results of kind `error`.
    pub on_error: bool,
    /// Retries results of kind `timeout`.
    pub on_timeout: bool,
}

impl std::convert::From<&Retry> for RetryRecord {
    fn from(retry: &Retry) -> Self {
        let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self {
            max: retry.max,
            base: millis(retry.base),
            factor: retry.factor,
            cap: millis(retry.cap),
            on_error: retry.on_error,
            on_timeout: retry.on_timeout,
        }
    }
}

/// A call that the session left without taking its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abandoned {
    /// The attempt that was left.
    pub id: CallId,
    /// Its key.
    pub key: IdempotencyKey,
    /// The purpose of the call.
    pub role: CallRole,
    /// The node whose call it was.
    pub node: NodeId,
    /// The tool.
    pub tool: Arc<str>,
    /// The part of a call that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartName>,
    /// The left child that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// True if a late result of it was recorded: it is settled, and a further result is ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_settled: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(super) fn is_zero(delay: &u64) -> bool {
    *delay == 0
}
