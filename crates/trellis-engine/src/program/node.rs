//! A compiled node: its content, its wait, and its requirements on entering. The edges have its targets.

use std::{sync::Arc, time::Duration};

use super::{Call, Graph, Guard, NodeIndex, Outcome, PointIndex, Write, WriteTarget};
use trellis_base::{
    id::NodeId,
    language::{EndSyntax, InputType},
    path::KeyPath,
    schema::Schema,
    span::Span,
    template::{Shape, Template},
    value::{Key, Value},
};

/// A compiled node.
#[derive(Debug)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// Its own index.
    pub index: NodeIndex,
    /// The graph it belongs to, an index into [`super::Program::graphs`].
    pub graph: u32,
    /// The index of its file in [`super::Program::documents`].
    pub document: u32,
    /// Its index among the nodes of that file.
    pub ordinal: u32,
    /// Its span in that file.
    pub span: Span,
    /// Its gate, when the graph has `before_each`.
    pub gate: Option<PointIndex>,
    /// Its body.
    pub body: PointIndex,
    /// Its content, unless a locale has its own.
    pub content: Option<Speech>,
    /// `messages`, sorted by locale.
    pub localised: Box<[(Arc<str>, Localised)]>,
    /// Its wait.
    pub role: Role,
    /// The actions and requirements on entering.
    pub entry: Entry,
    /// True if no target leads out of it (language 2.4).
    pub terminal: bool,
    /// The typed value of ending here.
    pub output: Option<Box<Shape>>,
    /// `end:`, if declared.
    pub end: Option<EndSyntax>,
    /// The reason of the failure, if ending here is one.
    pub reason: Option<Template>,
    /// Free, interpolated, travels with the action.
    pub metadata: Option<Box<Shape>>,
}

impl Node {
    /// Returns whether entering the node sets a key before its requirements are checked: by `default_context`, or by the `save_to` of `before_each`.
    pub fn brings(&self, graph: &Graph, key: &str) -> bool {
        let by_default = self.entry.defaults.iter().any(|write| matches!(&write.to, WriteTarget::Absent(absent) if **absent == *key));
        let saved = graph.before_each.as_ref().filter(|_| self.gate.is_some()).and_then(|call| call.save_to.as_ref());
        by_default || saved.is_some_and(|path| **path.root() == *key)
    }
}

/// The content of a node.
#[derive(Debug)]
pub enum Speech {
    /// One text.
    Text(Template),
    /// Parts: those whose guard holds at rendering are shown, with a blank line between them.
    Parts(Box<[SpeechPart]>),
}

/// One part of the content of a node.
#[derive(Debug)]
pub struct SpeechPart {
    /// The text.
    pub text: Template,
    /// The condition under which it is shown. It asks no host.
    pub when: Guard,
    /// The span of its condition.
    pub origin: Span,
}

impl Speech {
    /// The parts, each with a guard; one text has none.
    pub fn parts(&self) -> &[SpeechPart] {
        match self {
            Self::Text(_) => &[],
            Self::Parts(parts) => parts,
        }
    }

    /// Returns each text, whether or not it is shown.
    pub fn texts(&self) -> impl Iterator<Item = &Template> {
        let whole = if let Self::Text(text) = self { Some(text) } else { None };
        whole.into_iter().chain(self.parts().iter().map(|part| &part.text))
    }

    /// Returns whether it is always the same.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_literal())
    }
}

/// A node's words in one locale.
#[derive(Debug)]
pub struct Localised {
    /// The text.
    pub content: Option<Speech>,
    /// Option value (as text) to option text.
    pub options: Box<[(Key, Template)]>,
}

/// The wait of a node.
#[derive(Debug)]
pub enum Role {
    /// No wait: it passes through, or ends.
    Pass,
    /// An input.
    Listen(Box<Listen>),
    /// The result of a call.
    Act(Arc<Call>),
}

/// The listening of a node.
#[derive(Debug)]
pub struct Listen {
    /// `input_type`; `None` if any input is saved as it came.
    pub kind: Option<InputType>,
    /// The options, in order.
    pub options: Box<[Choice]>,
    /// True if only the options are accepted (language 6.4).
    pub closed: bool,
    /// The value of an empty input, already normalised.
    pub default: Option<Value>,
    /// `input_schema`.
    pub schema: Option<Schema>,
    /// `on_invalid`.
    pub on_invalid: Option<OnInvalid>,
    /// `wait: 30s`: nothing is asked, the host sleeps so long and passes.
    pub sleep: Option<Duration>,
    /// The time to listen.
    pub timeout: Option<Duration>,
}

/// One option.
#[derive(Debug)]
pub struct Choice {
    /// The identity.
    pub value: Value,
    /// The visible text, unless the locale has its own.
    pub text: Template,
    /// True if choosing it has writes of its own: then it is an outcome of its own, [`super::Outcome::Chosen`].
    pub writes: bool,
}

impl Listen {
    /// Returns the outcome of a valid input.
    pub fn outcome(&self, input: &Value) -> Outcome {
        let chosen = self.options.iter().position(|choice| choice.writes && choice.value == *input);
        chosen.and_then(|at| u32::try_from(at).ok()).map_or(Outcome::Answer, Outcome::Chosen)
    }

    /// The values that are no outcomes of their own.
    pub fn others(&self) -> impl Iterator<Item = &Value> {
        self.options.iter().filter(|choice| !choice.writes).map(|choice| &choice.value)
    }

    /// Returns the value of an outcome that is an option.
    pub fn chosen(&self, on: &Outcome) -> Option<&Value> {
        if let Outcome::Chosen(at) = on { self.options.get(*at as usize).map(|choice| &choice.value) } else { None }
    }
}

/// The answer to an invalid input; the edges of [`super::Outcome::Invalid`] say where it leads.
#[derive(Debug)]
pub struct OnInvalid {
    /// The message, in which `input` is the given input; never a secret.
    pub text: Option<Template>,
    /// The text by locale, sorted.
    pub messages: Box<[(Arc<str>, Template)]>,
    /// True if an invalid input is an accepted step that counts.
    pub counts: bool,
}

/// The actions and checks on entering a node, in this order (language 7.1); `before_each` comes between `defaults` and `required`.
#[derive(Debug, Default)]
pub struct Entry {
    /// The number of admitted entries.
    pub max_visits: Option<u32>,
    /// `default_context`, as writes to [`super::WriteTarget::Absent`].
    pub defaults: Box<[Write]>,
    /// Paths that must be set.
    pub required: Box<[KeyPath]>,
    /// Keys that must fit a schema while they are set.
    pub types: Box<[(Key, Schema)]>,
    /// Conditions that must hold, with their text.
    pub asserts: Box<[(Guard, Arc<str>)]>,
}
