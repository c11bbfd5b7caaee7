//! Inputs and outputs of the engine.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    program::TakenEdge,
    state::{ContextWrite, EndReason, PendingCall, State},
};
use trellis_base::{
    id::{CallId, NodeId, SessionId, SignalName},
    language::InputType,
    value::Value,
};

/// An answer of the engine to [`Engine::render`](super::Engine::render): the text of the node, and the next action of the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct View {
    /// The content of the node, as Markdown.
    pub content: Option<Arc<str>>,
    /// The next action.
    pub next: Next,
}

impl View {
    /// Returns the actions in order: the text of the node, then the next action. There is no next action where the session passes on.
    pub fn actions(&self) -> impl Iterator<Item = Action<'_>> {
        let content = self.content.as_deref().map(Action::RenderContent);
        let next = match &self.next {
            Next::Pass => None,
            Next::Ask(request) => Some(Action::RequestInput(request)),
            Next::Call(call) | Next::Parts { whole: call, .. } => Some(Action::CallTool(call)),
            Next::End(ended) => Some(Action::End(ended)),
        };
        let parts: &[Call] = if let Next::Parts { open, .. } = &self.next { open } else { &[] };
        content.into_iter().chain(next).chain(parts.iter().map(|part| Action::CallTool(part)))
    }

    /// Returns whether the session has ended.
    pub fn terminal(&self) -> bool {
        matches!(self.next, Next::End(_))
    }
}

/// The next action of the host. A match over it is exhaustive, so that no host forgets pass-through.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Navigate with [`Input::Pass`](super::Input::Pass).
    Pass,
    /// Ask, and navigate with the answer.
    Ask(Request),
    /// Carry out the call, and navigate with its result.
    Call(Call),
    /// Carry out the parts that are open now, side by side, and navigate with the result of each as it comes (language 10.1). A host that can settle
    /// the whole navigates with a result under its id instead.
    Parts {
        /// The whole call: its approval is asked and its delay is over before a part begins; its `timeout` counts from its start.
        whole: Call,
        /// The parts that are open, in order; never none.
        open: Vec<Call>,
    },
    /// Stop.
    End(EndView),
}

/// One thing that a view asks its host to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'v> {
    /// Show this, as Markdown.
    RenderContent(&'v str),
    /// Ask for an input.
    RequestInput(&'v Request),
    /// Carry out a call.
    CallTool(&'v PendingCall),
    /// Stop.
    End(&'v crate::state::Ended),
}

impl Action<'_> {
    /// Its name on the wire, which is the `type` of its line in JSON Lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::RenderContent(_) => "RENDER_CONTENT",
            Self::RequestInput(_) => "REQUEST_INPUT",
            Self::CallTool(_) => "CALL_TOOL",
            Self::End(_) => "END",
        }
    }
}

/// A call to carry out.
pub type Call = Arc<PendingCall>;

/// The end of the session.
pub type EndView = Arc<crate::state::Ended>;

/// A question: `REQUEST_INPUT` (language 7.2).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Request {
    /// The accepted type.
    pub input_type: RequestType,
    /// The options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionView>,
    /// The value of an empty input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The JSON Schema of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The time to listen, or to sleep.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "millis")]
    pub timeout: Option<Duration>,
    /// The node's metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// True if other input than the options is accepted too (language 6.4).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

impl Request {
    /// A request for an input of this type, without options, default, schema, timeout or metadata.
    pub fn new(input_type: RequestType) -> Self {
        Self { input_type, options: Vec::new(), default: None, schema: None, timeout: None, metadata: None, open: false }
    }

    /// A request to choose one of these.
    pub fn choice(options: Vec<OptionView>) -> Self {
        Self { options, ..Self::new(RequestType::Declared(InputType::Choice)) }
    }

    /// Returns the request with a value for an empty input.
    #[must_use]
    pub fn with_default(self, default: impl Into<Value>) -> Self {
        Self { default: Some(default.into()), ..self }
    }

    /// Returns the request for inputs that fit this JSON Schema.
    #[must_use]
    pub fn with_schema(self, schema: Value) -> Self {
        Self { schema: Some(schema), ..self }
    }

    /// Returns the request for options and any other input of this type.
    #[must_use]
    pub fn open_to(self, input_type: RequestType) -> Self {
        Self { open: true, input_type, ..self }
    }
}

/// `input_type` of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RequestType {
    /// As the node declares it.
    Declared(InputType),
    /// Any input, stored as it came.
    Any(AnyInput),
    /// No input: sleep for `timeout`, then navigate with [`Input::Pass`](super::Input::Pass).
    None(NoInput),
}

/// `any`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnyInput {
    /// `any`
    Any,
}

/// `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoInput {
    /// `none`
    None,
}

/// One option as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OptionView {
    /// The identity: the value that is sent.
    pub value: Value,
    /// The visible text, in the session's locale.
    pub text: Arc<str>,
}

impl OptionView {
    /// An option that is shown as `text` and sends `value`.
    pub fn new(value: impl Into<Value>, text: impl Into<Arc<str>>) -> Self {
        Self { value: value.into(), text: text.into() }
    }
}

#[expect(clippy::ref_option, reason = "serde hands over a reference")]
fn millis<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

/// An accepted move.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step {
    /// The new state of the session.
    pub state: State,
    /// The events of the step, in order.
    pub events: Vec<Event>,
    /// The writes to the context, in order: those that [`Changes`](crate::state::Changes) must compare.
    pub wrote: Vec<ContextWrite>,
    /// The edges that were taken, in order: several where an entering is exhausted, a gate answers or an unwinding ends. Guards are tried in order, so
    /// the ones before an edge did not hold. It is no part of a state, and not stored.
    pub took: Vec<TakenEdge>,
}

impl Step {
    /// A step to `state` in which nothing happened, for a state that was stored.
    pub fn new(state: State) -> Self {
        Self { state, events: Vec::new(), wrote: Vec::new(), took: Vec::new() }
    }
}

/// An event of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A node was left.
    Left(NodeId),
    /// A node was entered.
    Entered(NodeId),
    /// A call was yielded.
    Called {
        /// The attempt.
        id: CallId,
        /// The tool.
        tool: Arc<str>,
    },
    /// A result was accepted.
    Returned {
        /// The attempt.
        id: CallId,
        /// The outcome: `success`, `error`, `timeout`, `schema`, `denied`.
        outcome: Arc<str>,
    },
    /// A signal was taken.
    Signalled(SignalName),
    /// An invalid input was counted; with the message.
    Invalid(Arc<str>),
    /// A predicate answered; replay uses this record (language 6.2).
    Predicate {
        /// Its name.
        name: Arc<str>,
        /// Its answer.
        answer: bool,
    },
    /// The result of an abandoned call arrived (language 7.6).
    Late {
        /// The attempt.
        id: CallId,
        /// True if its undo joined the effects.
        joined: bool,
    },
    /// A child was left, or ended without success; its effects joined those of this session.
    LeftChild {
        /// The child.
        child: SessionId,
        /// The number of effects that joined.
        effects: u32,
    },
    /// The result of a call arrived after the end.
    DeadLetter(CallId),
    /// Compensation began; with the number of undos that will be called.
    RollingBack(u32),
    /// An undo was carried out, or given up.
    Undone {
        /// The tool that undid.
        tool: Arc<str>,
        /// True if it succeeded.
        ok: bool,
    },
    /// The session ended.
    Ended(EndReason),
}
