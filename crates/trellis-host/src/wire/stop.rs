//! The lines of stops.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use trellis_core::{
    Mapping, NodeId, Value,
    engine::{Request, RequestType},
    id::CallId,
    state::PendingCall,
    syntax::node,
};

use super::{Call, End, SecretPlace, present};
use crate::sessions;

/// A line with the need of a session, or with its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "stop"))]
#[serde(tag = "type", content = "payload", rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Stop {
    /// The session waits for an `input`.
    RequestInput(InputQuestion),
    /// A call waits for `approve` or `deny`; its `CALL_TOOL` comes afterwards.
    Approval(ApprovalQuestion),
    /// A call begins; without a binding it waits for a `tool_result`.
    CallTool(Call),
    /// A predicate is asked about; waits for `predicate`.
    Predicate(PredicateQuestion),
    /// After an edit the session lacks what its node needs; waits for `context`.
    Needs(KeysQuestion),
    /// After an edit, the node would make a call that differs from the pending one; waits for `keep`.
    Changed(KeepQuestion),
    /// It works by itself. No line of JSON Lines, where the program waits.
    Running(Running),
    /// It sleeps, or waits before another attempt at a call. No line of JSON Lines, where one waits.
    Sleeping(Sleeping),
    /// The last line.
    End(End),
}

impl Stop {
    /// The stop of a session whose question is asked since the record `asked`.
    pub fn of(stop: &sessions::Stop, asked: u64) -> Self {
        use sessions::Stop as At;
        match stop {
            At::Ask { request, .. } => Self::RequestInput(InputQuestion::new(request, asked)),
            At::Call { call, .. } => Self::CallTool(Call::from(&**call)),
            At::Approve { call, .. } => Self::Approval(ApprovalQuestion::from(&**call)),
            At::Predicate { id, name, .. } => Self::Predicate(PredicateQuestion::new(id, name)),
            At::Keys { node, missing } => Self::Needs(KeysQuestion::new(node, missing, asked)),
            At::Changed { call, now } => Self::Changed(KeepQuestion::new(call, now, asked)),
            At::Running { node, call, since } => {
                Self::Running(Running { node: node.clone(), call: call.as_deref().map(RunningCall::from), since: *since })
            }
            At::Sleeping { node, until } => Self::Sleeping(Sleeping { node: node.clone(), until: *until }),
            At::Ended(ended) => Self::End(End::from(ended)),
        }
    }
}

/// A question for an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "input_question"))]
#[non_exhaustive]
pub struct InputQuestion {
    /// The type of input that is accepted.
    pub input_type: InputType,
    /// The choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schemars", schemars(length(min = 1)))]
    pub options: Vec<Choice>,
    /// The value of an empty input.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The JSON Schema of the input.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("type" = ["object", "boolean"])))]
    pub schema: Option<Value>,
    /// The time in which an answer is awaited, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// The node's metadata.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Other input than the options is accepted too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schemars", schemars(extend("const" = true)))]
    pub open: bool,
    /// The number of the question; an answer with it is meant for this question alone.
    pub seq: u64,
}

impl InputQuestion {
    /// Creates the question for the input that `request` accepts, asked since the record `seq`.
    pub fn new(request: &Request, seq: u64) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            input_type: request.input_type.into(),
            options: request.options.iter().map(|option| Choice { value: option.value.clone(), text: Arc::clone(&option.text) }).collect(),
            default: request.default.clone(),
            schema: request.schema.clone(),
            timeout: request.timeout.map(millis),
            metadata: request.metadata.clone(),
            open: request.open,
            seq,
        }
    }
}

/// Types of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "input_type"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InputType {
    /// Anything: the node declares nothing.
    Any,
    /// A text.
    Text,
    /// Yes or no.
    Confirm,
    /// One of the options.
    Choice,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Any JSON.
    Json,
    /// A secret text.
    Secret,
}

impl From<RequestType> for InputType {
    fn from(accepted: RequestType) -> Self {
        match accepted {
            // A node that takes no input sleeps, and asks nothing.
            RequestType::Any(_) | RequestType::None(_) => Self::Any,
            RequestType::Declared(declared) => match declared {
                node::InputType::Text => Self::Text,
                node::InputType::Confirm => Self::Confirm,
                node::InputType::Choice => Self::Choice,
                node::InputType::Int => Self::Int,
                node::InputType::Float => Self::Float,
                node::InputType::Json => Self::Json,
                node::InputType::Secret => Self::Secret,
            },
        }
    }
}

/// A choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "option"))]
#[non_exhaustive]
pub struct Choice {
    /// The value to send.
    pub value: Value,
    /// The text to show.
    pub text: Arc<str>,
}

/// A question whether a call may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "approval_question"))]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The call; its answer has the same id.
    pub id: CallId,
    /// The tool.
    pub name: Arc<str>,
    /// The arguments by name; places for secrets are empty here.
    pub args: Mapping,
    /// The places that get secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretPlace>,
    /// The question; without it the decision is about the call itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Arc<str>>,
    /// The time in which the decision is awaited, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl From<&PendingCall> for ApprovalQuestion {
    fn from(call: &PendingCall) -> Self {
        let (ask, expires) = call.approve.as_ref().map_or((None, None), |approval| (approval.ask.clone(), approval.expires));
        let secrets = call.secrets.iter().map(SecretPlace::from).collect();
        Self { id: call.id.clone(), name: Arc::clone(&call.name), args: call.args.clone(), secrets, ask, expires }
    }
}

/// A question whether a predicate holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "predicate_question"))]
#[non_exhaustive]
pub struct PredicateQuestion {
    /// The id that the answer names.
    pub id: Arc<str>,
    /// The predicate.
    pub name: Arc<str>,
}

impl PredicateQuestion {
    /// The question whether `name` holds, which is answered by `id`.
    pub fn new(id: &str, name: &str) -> Self {
        Self { id: id.into(), name: name.into() }
    }
}

/// A question for keys of the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "keys_question"))]
#[non_exhaustive]
pub struct KeysQuestion {
    /// The current node of the session.
    pub node: NodeId,
    /// Context keys that the node needs and the session lacks.
    #[cfg_attr(feature = "schemars", schemars(length(min = 1)))]
    pub keys: Vec<String>,
    /// The number of the question; an answer with it is meant for this question alone.
    pub seq: u64,
}

impl KeysQuestion {
    /// The question for `keys` that `node` needs, asked since the record `seq`.
    pub fn new(node: &NodeId, keys: &[String], seq: u64) -> Self {
        Self { node: node.clone(), keys: keys.to_vec(), seq }
    }
}

/// A question whether a pending call stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "keep_question"))]
#[non_exhaustive]
pub struct KeepQuestion {
    /// The call; its answer has the same id.
    pub id: CallId,
    /// The call that is under way.
    pub pending: Arc<str>,
    /// The tool that the node calls now; null where it calls nothing.
    pub now: Option<Arc<str>>,
    /// The number of the question; an answer with it is meant for this question alone.
    pub seq: u64,
}

impl KeepQuestion {
    /// The question whether `pending` stays, asked since the record `seq`, where the node would call `now`.
    pub fn new(pending: &PendingCall, now: &str, seq: u64) -> Self {
        Self { id: pending.id.clone(), pending: Arc::clone(&pending.name), now: Some(now.into()), seq }
    }
}

/// Work that a session does by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "running"))]
#[non_exhaustive]
pub struct Running {
    /// The current node of the session.
    pub node: NodeId,
    /// The call that is carried out, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<RunningCall>,
    /// The moment when the work began, in milliseconds since 1970.
    pub since: u64,
}

/// A call that is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "running_call"))]
#[non_exhaustive]
pub struct RunningCall {
    /// The call.
    pub id: CallId,
    /// The tool.
    pub name: Arc<str>,
    /// This attempt, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub attempt: u32,
}

impl From<&PendingCall> for RunningCall {
    fn from(call: &PendingCall) -> Self {
        Self { id: call.id.clone(), name: Arc::clone(&call.name), attempt: call.attempt }
    }
}

/// A sleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "sleeping"))]
#[non_exhaustive]
pub struct Sleeping {
    /// The current node of the session.
    pub node: NodeId,
    /// The time at which it continues, in milliseconds since 1970.
    pub until: u64,
}
