//! The state of one session: the one persisted format (language B.1).
//!
//! **Invariant:** a state names nodes, never indexes, so that it outlives a recompile; cloning it is cheap at any size.

mod call;
mod changes;
mod effects;
mod part_name;
mod parts;

use std::{fmt, sync::Arc};

pub use call::{Abandoned, Approval, CallKind, CallRole, ItemApproval, Offered, PartOf, PendingCall, RetryRecord};
pub use changes::{Changes, ContextWrite, EffectChanges, ListAppend};
pub use effects::Effects;
pub use part_name::{PartCalls, PartName};
pub use parts::{PartState, PartStates};
use rpds::RedBlackTreeMapSync;
use serde::{Deserialize, Serialize};

pub use trellis_base::scope::System;
use trellis_base::{
    context::Context,
    id::{CallId, IdempotencyKey, KeySeed, NodeId, SessionId},
    path::{KeyPath, Segment, walk},
    value::Value,
};

/// The version that this build writes; it reads all up to it. Version 1 had no parts: a pending `parallel` or `each` is made again there.
pub const VERSION: u32 = 2;

/// The number of abandoned calls that a state remembers.
pub const ABANDONED: usize = 256;

/// The state of one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// [`VERSION`].
    pub version: u32,
    /// The session.
    pub session_id: SessionId,
    /// The name of the graph that it began in, if that has one: the keys of its calls depend on it. Sessions that began before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Arc<str>>,
    /// The random number of its start: the keys of its calls derive from it (language 7.8). Sessions that began before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<KeySeed>,
    /// True if a node of its own graph called it: of the graph-wide keys only `before_each` and `retry` apply to it (language 5.4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inner: bool,
    /// The program that wrote it; information only.
    pub program: Arc<str>,
    /// The current node, or the one to be entered while `before_each` is pending.
    pub current_node_id: NodeId,
    /// The wait of the session.
    pub status: Status,
    /// The call that was yielded and has no accepted result yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_tool_call: Option<Arc<PendingCall>>,
    /// The parts of that call, if it has any.
    #[serde(default, skip_serializing_if = "PartStates::is_empty")]
    pub parts: PartStates,
    /// Attempts at this point, from 1; counted invalid inputs are attempts too.
    pub attempt: u32,
    /// The session's mapping.
    pub context: Context,
    /// The part of `sys` that the engine stores.
    pub system_context: System,
    /// The locale, for `messages`; without one the graph's `locale` key is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<Arc<str>>,
    /// Accepted moves so far.
    pub step: u64,
    /// The step that entered the current point: ids derive from it (language 7.8).
    pub entered: u64,
    /// True if the current node ends as failed, and the error or the denial of a call led there: `sys.error` is the cause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_error: bool,
    /// Entries, of nodes with `max_visits` only.
    #[serde(default, skip_serializing_if = "RedBlackTreeMapSync::is_empty", with = "visits")]
    pub visits: RedBlackTreeMapSync<NodeId, u32>,
    /// The effects that a rollback would undo, and the irreversible effects that were passed.
    #[serde(default, skip_serializing_if = "Effects::is_empty")]
    pub effects: Effects,
    /// Calls that a timeout, retry or signal left, the newest [`ABANDONED`] of them: a late result is known by them (language 7.6).
    #[serde(default, skip_serializing_if = "no_abandoned")]
    pub abandoned: Arc<Vec<Abandoned>>,
    /// The last call whose result was accepted: sent twice, it is refused as settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<CallId>,
    /// True if this session was rolled back: a terminal then ends `rolled_back` unless it declares another end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolled_back: bool,
    /// The end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Arc<Ended>>,
}

impl State {
    /// Returns whether this call was left, and a late result of it was recorded.
    pub fn has_settled_late(&self, call: &CallId) -> bool {
        self.abandoned.iter().any(|left| left.id == *call && left.is_settled)
    }

    /// Returns whether the pending call has parts that this state does not: it is of version 1, and the call is made again when it is adopted.
    pub fn lacks_parts(&self) -> bool {
        let count = self.pending_tool_call.as_ref().and_then(|call| call.kind.parts());
        count.is_some_and(|count| count != self.parts.len())
    }

    /// Returns whether this is an attempt of a `graph` call that the state waits for: its result is that of a child session.
    pub fn calls_graph(&self, id: &CallId) -> bool {
        let Some(call) = &self.pending_tool_call else { return false };
        let is_of =
            |branch: &PendingCall| id.as_str().strip_prefix(branch.idempotency_key.as_str()).is_some_and(|rest| rest.starts_with('-'));
        match &call.kind {
            CallKind::Graph(_) => call.id == *id,
            CallKind::Parallel { branches, .. } => {
                branches.iter().any(|(_, branch)| matches!(branch.kind, CallKind::Graph(_)) && is_of(branch))
            }
            CallKind::Tool | CallKind::Each { .. } => false,
        }
    }

    /// Forgets the pending call with its parts, and hands it over.
    pub(crate) fn take_call(&mut self) -> Option<(Arc<PendingCall>, PartStates)> {
        let parts = std::mem::take(&mut self.parts);
        self.pending_tool_call.take().map(|call| (call, parts))
    }

    /// Returns whether a path of the context, of `sys.ans` or of `sys.error` has a value.
    pub fn has(&self, path: &KeyPath) -> bool {
        let (root, rest) = match (&**path.root(), path.rest()) {
            ("sys", [Segment::Key(key), rest @ ..]) if **key == *"ans" => (self.system_context.ans.as_ref(), rest),
            ("sys", [Segment::Key(key), rest @ ..]) if **key == *"error" => (self.system_context.error.as_ref(), rest),
            (root, rest) => (self.context.get(root), rest),
        };
        root.is_some_and(|root| walk(root, rest).is_some())
    }
}

/// The event for which a session waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No wait: the host passes on.
    Active,
    /// An input.
    WaitingForInput,
    /// A result.
    WaitingForTool,
    /// The result of an undo.
    RollingBack,
    /// It has ended.
    Terminated,
}

/// A success that matters to a rollback (language 7.7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The node whose call succeeded.
    pub node: NodeId,
    /// The tool.
    pub tool: Arc<str>,
    /// The call's key: one effect per key.
    pub key: IdempotencyKey,
    /// The undo, interpolated when the call succeeded; `None` for an irreversible effect.
    pub undo: Option<Arc<PendingCall>>,
}

/// The end of a session (language 7.3, 7.9).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// `finished`, `failed`, `denied` or `rolled_back`.
    pub reason: EndReason,
    /// The code of the failure, such as `no-match`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Arc<str>>,
    /// The node where it ended.
    pub node: NodeId,
    /// The message of the failure, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// The place of the text that failed, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FailurePlace>,
    /// The terminal's `output`.
    #[serde(default, deserialize_with = "trellis_base::value::present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The effects that were and were not undone, if there are any.
    #[serde(default, deserialize_with = "trellis_base::value::present", skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Value>,
}

/// The place of a text that failed, in the file as it was then (language 7.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailurePlace {
    /// The file, by its path below the root.
    pub path: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key whose value it is, such as `do.args.query`; `None` in a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
}

impl fmt::Display for FailurePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path, self.line, self.column)?;
        self.key.iter().try_for_each(|key| write!(f, ", in `{key}`"))
    }
}

/// The four ends; only `finished` is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Success.
    Finished,
    /// Failure.
    Failed,
    /// A call was denied and nothing handled it.
    Denied,
    /// Everything was unwound.
    RolledBack,
}

impl EndReason {
    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::RolledBack => "rolled_back",
        }
    }
}

fn no_abandoned(abandoned: &Arc<Vec<Abandoned>>) -> bool {
    abandoned.is_empty()
}

mod visits {
    //! Visit counts as a JSON object.

    use std::collections::BTreeMap;

    use rpds::RedBlackTreeMapSync;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use trellis_base::id::NodeId;

    pub(super) fn serialize<S: Serializer>(visits: &RedBlackTreeMapSync<NodeId, u32>, serializer: S) -> Result<S::Ok, S::Error> {
        visits.iter().collect::<BTreeMap<_, _>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RedBlackTreeMapSync<NodeId, u32>, D::Error> {
        Ok(BTreeMap::<NodeId, u32>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trellis_base::value::Mapping;

    fn call(role: CallRole) -> PendingCall {
        PendingCall {
            id: "k-1".into(),
            name: "charge".into(),
            role,
            node: "pay".into(),
            args: Mapping::from_iter([("amount", Value::Int(9_007_199_254_740_993))]),
            secrets: Vec::new(),
            idempotency_key: "k".into(),
            attempt: 1,
            delay: 0,
            timeout: Some(10_000),
            approve: Some(Approval { ask: None, expires: None }),
            retry: None,
            metadata: None,
            kind: CallKind::Tool,
            part: None,
            prepared: PartCalls::default(),
            offered: Vec::new(),
        }
    }

    fn full() -> State {
        let effect = |node: &str, undo| Effect { node: node.into(), tool: "charge".into(), key: "k".into(), undo };
        let mut effects = Effects::default();
        effects.push(effect("b", Some(Arc::new(call(CallRole::Undo(1))))));
        effects.push(effect("a", None));
        effects.push(effect("a", None));
        let abandoned = Abandoned {
            id: "k-1".into(),
            key: "k".into(),
            role: CallRole::Do,
            node: "pay".into(),
            tool: "charge".into(),
            part: None,
            child: None,
            is_settled: true,
        };
        State {
            version: VERSION,
            session_id: "s".into(),
            graph: Some("shop".into()),
            seed: Some("9f".into()),
            is_inner: false,
            program: "f".into(),
            current_node_id: "pay".into(),
            status: Status::WaitingForTool,
            pending_tool_call: Some(Arc::new(call(CallRole::Do))),
            parts: PartStates::default(),
            attempt: 2,
            context: Context::new(Mapping::from_iter([("b", Value::Float(0.1)), ("a", Value::Null)])),
            system_context: System { ans: Some(Value::Null), ..System::default() },
            locale: Some("pt-BR".into()),
            step: 7,
            entered: 6,
            after_error: true,
            visits: [(NodeId::from("pay"), 2)].into_iter().collect(),
            effects,
            abandoned: Arc::new(vec![abandoned]),
            settled: Some("j-1".into()),
            rolled_back: true,
            ended: None,
        }
    }

    #[test]
    fn a_state_comes_back_byte_for_byte() {
        let json = serde_json::to_string(&full()).unwrap();
        let back: State = serde_json::from_str(&json).unwrap();
        assert_eq!(back, full());
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
        assert!(json.contains(r#""status":"waiting_for_tool","pending_tool_call":{"id":"k-1""#), "{json}");
        assert!(json.contains(r#""context":{"a":null,"b":0.1}"#), "{json}");
        assert!(json.contains(r#""role":{"undo":1}"#), "{json}");
        assert!(json.contains(r#""visits":{"pay":2}"#), "{json}");
    }

    #[test]
    fn a_call_is_debugged_without_its_arguments() {
        let printed = format!("{:?}", full().pending_tool_call);
        assert!(printed.contains("charge") && !printed.contains("amount") && !printed.contains("9007199254740993"), "{printed}");
    }

    #[test]
    fn an_irreversible_effect_is_kept_once_and_undos_come_back_newest_first() {
        let mut state = full();
        assert_eq!((state.effects.len(), state.effects.irreversible().count()), (2, 1));
        let newer = Effect { node: "c".into(), tool: "charge".into(), key: "l".into(), undo: Some(Arc::new(call(CallRole::Undo(2)))) };
        state.effects.push(newer);
        assert_eq!(state.effects.pop().unwrap().node.as_str(), "c");
        assert_eq!(state.effects.pop().unwrap().node.as_str(), "b");
        assert!(state.effects.pop().is_none());
        assert_eq!(state.effects.len(), 1);
    }
}
