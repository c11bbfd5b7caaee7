//! A compiled node: what it says, what it waits for, what must hold on entering it. Where it leads stands in the ways.

use std::{sync::Arc, time::Duration};

use super::{Call, Graph, Guard, NodeIndex, Outcome, PointIndex, Write, WriteTarget};
use crate::{
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
    /// The file it stands in, an index into [`super::Program::documents`].
    pub document: u32,
    /// Which of the nodes of that file it is.
    pub(crate) ordinal: u32,
    /// Where it stands there.
    pub span: Span,
    /// Its gate, when the graph has `before_each`.
    pub gate: Option<PointIndex>,
    /// Its body.
    pub body: PointIndex,
    /// What it says, unless a locale has its own.
    pub content: Option<Speech>,
    /// `messages`, sorted by locale.
    pub localised: Box<[(Arc<str>, Localised)]>,
    /// What it waits for.
    pub role: Role,
    /// What is done and must hold on entering.
    pub entry: Entry,
    /// Whether no target leads on from here (language 2.4).
    pub terminal: bool,
    /// The typed value of ending here.
    pub output: Option<Box<Shape>>,
    /// `end:`, where it is said.
    pub end: Option<EndSyntax>,
    /// Why ending here is failure, where it is.
    pub reason: Option<Template>,
    /// Free, interpolated, travels with the action.
    pub metadata: Option<Box<Shape>>,
}

impl Node {
    /// Whether entering the node brings a key before its requirements are checked: by `default_context`, or by what `before_each` saves.
    pub(crate) fn brings(&self, graph: &Graph, key: &str) -> bool {
        let by_default = self.entry.defaults.iter().any(|write| matches!(&write.to, WriteTarget::Absent(absent) if **absent == *key));
        let saved = graph.before_each.as_ref().filter(|_| self.gate.is_some()).and_then(|call| call.save_to.as_ref());
        by_default || saved.is_some_and(|path| **path.root() == *key)
    }
}

/// What a node says.
#[derive(Debug)]
pub enum Speech {
    /// One text.
    Text(Template),
    /// Parts, of which those are said whose guard holds when they are rendered, with a blank line between them.
    Parts(Box<[SpeechPart]>),
}

/// One part of what a node says.
#[derive(Debug)]
pub struct SpeechPart {
    /// The text.
    pub text: Template,
    /// When it is said. It asks no host.
    pub when: Guard,
    /// Where its condition stands.
    pub(crate) origin: Span,
}

impl Speech {
    /// The parts, each with a guard; one text has none.
    pub fn parts(&self) -> &[SpeechPart] {
        match self {
            Self::Text(_) => &[],
            Self::Parts(parts) => parts,
        }
    }

    /// Each text, whether or not it is said.
    pub fn texts(&self) -> impl Iterator<Item = &Template> {
        let whole = if let Self::Text(text) = self { Some(text) } else { None };
        whole.into_iter().chain(self.parts().iter().map(|part| &part.text))
    }

    /// Whether it is the same wherever it is said.
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

/// What a node waits for.
#[derive(Debug)]
pub enum Role {
    /// Nothing: it passes through, or ends.
    Pass,
    /// An input.
    Listen(Box<Listen>),
    /// The result of a call.
    Act(Arc<Call>),
}

/// How a node listens.
#[derive(Debug)]
pub struct Listen {
    /// `input_type`; nothing where any input is kept as it came.
    pub kind: Option<InputType>,
    /// The options, in order.
    pub options: Box<[Choice]>,
    /// Whether only the options are accepted (language 6.4).
    pub closed: bool,
    /// The value of an empty input, already normalised.
    pub default: Option<Value>,
    /// `input_schema`.
    pub schema: Option<Schema>,
    /// `on_invalid`.
    pub on_invalid: Option<OnInvalid>,
    /// `wait: 30s`: nothing is asked, the host sleeps so long and passes.
    pub sleep: Option<Duration>,
    /// How long to listen.
    pub timeout: Option<Duration>,
}

/// One option.
#[derive(Debug)]
pub struct Choice {
    /// The identity.
    pub value: Value,
    /// What is shown, unless the locale has its own.
    pub text: Template,
    /// Whether choosing it writes something of its own: then it is an outcome of its own, [`super::Outcome::Chosen`].
    pub writes: bool,
}

impl Listen {
    /// What happens when a valid input is taken.
    pub fn outcome(&self, input: &Value) -> Outcome {
        let chosen = self.options.iter().position(|choice| choice.writes && choice.value == *input);
        chosen.and_then(|at| u32::try_from(at).ok()).map_or(Outcome::Answer, Outcome::Chosen)
    }

    /// The values that are no outcomes of their own.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Value> {
        self.options.iter().filter(|choice| !choice.writes).map(|choice| &choice.value)
    }

    /// The value that an outcome stands for.
    pub(crate) fn chosen(&self, on: &Outcome) -> Option<&Value> {
        if let Outcome::Chosen(at) = on { self.options.get(*at as usize).map(|choice| &choice.value) } else { None }
    }
}

/// What follows an invalid input; where it leads stands in the ways of [`super::Outcome::Invalid`].
#[derive(Debug)]
pub struct OnInvalid {
    /// What to say, in which `input` is what was given; never a secret.
    pub text: Option<Template>,
    /// The same by locale, sorted.
    pub messages: Box<[(Arc<str>, Template)]>,
    /// Whether an invalid input is an accepted step that counts.
    pub counts: bool,
}

/// What happens on entering a node, in this order (language 7.1); `before_each` comes between `defaults` and `required`.
#[derive(Debug, Default)]
pub struct Entry {
    /// How many entries are admitted.
    pub max_visits: Option<u32>,
    /// `default_context`, as writes to [`super::WriteTarget::Absent`].
    pub defaults: Box<[Write]>,
    /// Paths that must be there.
    pub required: Box<[KeyPath]>,
    /// Keys that must fit a schema while they are there.
    pub types: Box<[(Key, Schema)]>,
    /// Conditions that must hold, with their text.
    pub asserts: Box<[(Guard, Arc<str>)]>,
}
