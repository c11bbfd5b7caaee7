//! A call, as its lines have it. Times are milliseconds.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use trellis_core::{
    Mapping, NodeId, Value,
    id::{CallId, IdempotencyKey},
    state,
    template::SecretUse,
};

use super::present;

/// A call to be carried out. Its delay has elapsed, and is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "call"))]
#[non_exhaustive]
pub struct Call {
    /// The call; its answer has the same id.
    pub id: CallId,
    /// The tool; or `graph`, `parallel`, `each`.
    pub name: Arc<str>,
    /// The arguments by name; places for secrets are empty here.
    pub args: Mapping,
    /// The places of secrets in `args`; the one who carries the call out fills them in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schemars", schemars(length(min = 1)))]
    pub secrets: Vec<SecretPlace>,
    /// The same for every attempt.
    pub idempotency_key: IdempotencyKey,
    /// This attempt, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub attempt: u32,
    /// The node whose call it is.
    pub node: NodeId,
    /// The purpose of the call.
    pub role: Role,
    /// The time that the call may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// The approval that the call needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Approval>,
    /// The node's metadata, for the one who carries the call out.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The kind of a call that is no plain tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CallKind>,
    /// The names of the tools that a model is offered by this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schemars", schemars(length(min = 1)))]
    pub offered: Vec<Arc<str>>,
    /// The call that this is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<CallId>,
    /// The name of the part there: a branch, or the place of an item from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartName>,
}

/// The name of a part of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "part"))]
#[serde(untagged)]
#[non_exhaustive]
pub enum PartName {
    /// A branch of `parallel`.
    Branch(Arc<str>),
    /// An item of `each`, by its place from 0.
    Item(u32),
}

impl From<&state::PartName> for PartName {
    fn from(name: &state::PartName) -> Self {
        match name {
            state::PartName::Branch(name) => Self::Branch(Arc::clone(name)),
            state::PartName::Item(at) => Self::Item(*at),
        }
    }
}

impl From<&state::PendingCall> for Call {
    fn from(call: &state::PendingCall) -> Self {
        Self {
            id: call.id.clone(),
            name: Arc::clone(&call.name),
            args: call.args.clone(),
            secrets: call.secrets.iter().map(SecretPlace::from).collect(),
            idempotency_key: call.idempotency_key.clone(),
            attempt: call.attempt,
            node: call.node.clone(),
            role: Role::from(&call.role),
            timeout: call.timeout,
            approve: call.approve.as_ref().map(Approval::from),
            metadata: call.metadata.clone(),
            kind: CallKind::of(&call.kind),
            offered: call.offered.clone(),
            of: call.part.as_ref().map(|part| part.of.clone()),
            part: call.part.as_ref().map(|part| PartName::from(&part.part)),
        }
    }
}

/// A place in `args` where a secret belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "secret"))]
#[non_exhaustive]
pub struct SecretPlace {
    /// JSON pointer of the text that holds it.
    pub pointer: String,
    /// Byte offset in that text.
    pub offset: usize,
    /// The secret's name.
    pub name: Arc<str>,
}

impl From<&SecretUse> for SecretPlace {
    fn from(secret: &SecretUse) -> Self {
        Self { pointer: secret.pointer.clone(), offset: secret.offset, name: Arc::clone(&secret.name) }
    }
}

/// A person must be asked first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "approval"))]
#[non_exhaustive]
pub struct Approval {
    /// The question; null means that the call itself is shown.
    pub ask: Option<Arc<str>>,
    /// The time in which a decision is awaited, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl From<&state::Approval> for Approval {
    fn from(approval: &state::Approval) -> Self {
        Self { ask: approval.ask.clone(), expires: approval.expires }
    }
}

/// The purpose of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "role"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// The node's `do`.
    Do,
    /// The graph's `before_each`.
    BeforeEach,
    /// The undo of an effect, by its number from 1.
    Undo(#[cfg_attr(feature = "schemars", schemars(range(min = 1)))] u32),
}

impl From<&state::CallRole> for Role {
    fn from(role: &state::CallRole) -> Self {
        match role {
            state::CallRole::Do => Self::Do,
            state::CallRole::BeforeEach => Self::BeforeEach,
            state::CallRole::Undo(effect) => Self::Undo(*effect),
        }
    }
}

/// The kind of a call that is no plain tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "kind"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallKind {
    /// A child session that begins at this node.
    Graph(NodeId),
    /// Calls side by side.
    #[non_exhaustive]
    Parallel {
        /// Calls by branch.
        branches: BTreeMap<Arc<str>, Branch>,
        /// True where one success is enough.
        any: bool,
        /// True where errors become entries of the result.
        collect: bool,
        /// The number of calls that run at once; null for all.
        #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
        limit: Option<u32>,
    },
    /// One call per item.
    #[non_exhaustive]
    Each {
        /// The items.
        items: Value,
        /// The names that items may call.
        offered: Vec<Arc<str>>,
        /// True where errors become entries of the result.
        collect: bool,
        /// The number of calls that run at once; null for all.
        #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
        limit: Option<u32>,
    },
}

impl CallKind {
    /// Returns `None` for a plain tool.
    fn of(kind: &state::CallKind) -> Option<Self> {
        Some(match kind {
            state::CallKind::Tool => return None,
            state::CallKind::Graph(node) => Self::Graph(node.clone()),
            state::CallKind::Parallel { branches, any, collect, limit } => Self::Parallel {
                branches: branches.iter().map(|(name, call)| (Arc::clone(name), Branch(call.into()))).collect(),
                any: *any,
                collect: *collect,
                limit: *limit,
            },
            state::CallKind::Each { items, offered, collect, limit, .. } => Self::Each {
                items: items.clone(),
                offered: offered.iter().map(|tool| Arc::clone(&tool.name)).collect(),
                collect: *collect,
                limit: *limit,
            },
        })
    }
}

/// A call of a `parallel`: a [`Call`] whose keys are printed in the order in which states have them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(transparent, inline))]
#[serde(transparent)]
pub struct Branch(pub Call);

impl Serialize for Branch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Call { id, name, args, secrets, idempotency_key, attempt, node, role, timeout, approve, metadata, kind, offered, .. } = &self.0;
        let mut keys = serializer.serialize_struct("Branch", 13)?;
        keys.serialize_field("id", id)?;
        keys.serialize_field("name", name)?;
        keys.serialize_field("role", role)?;
        keys.serialize_field("node", node)?;
        keys.serialize_field("args", args)?;
        if !secrets.is_empty() {
            keys.serialize_field("secrets", secrets)?;
        }
        keys.serialize_field("idempotency_key", idempotency_key)?;
        keys.serialize_field("attempt", attempt)?;
        if let Some(timeout) = timeout {
            keys.serialize_field("timeout", timeout)?;
        }
        if let Some(approve) = approve {
            keys.serialize_field("approve", approve)?;
        }
        if let Some(metadata) = metadata {
            keys.serialize_field("metadata", metadata)?;
        }
        if let Some(kind) = kind {
            keys.serialize_field("kind", kind)?;
        }
        if !offered.is_empty() {
            keys.serialize_field("offered", offered)?;
        }
        keys.end()
    }
}
