//! A compiled node: what it says, what it waits for, what must hold on entering it. Where it leads stands in the ways.

use std::{sync::Arc, time::Duration};

use super::{Call, Graph, Guard, NodeIndex, Place, PointIndex, Write};
use crate::{
    id::NodeId,
    path::KeyPath,
    schema::Schema,
    span::Span,
    syntax::node::{EndSyntax, InputType},
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
    pub content: Option<Template>,
    /// `messages`, sorted by locale.
    pub localised: Box<[(Arc<str>, Localised)]>,
    /// What it waits for.
    pub role: Role,
    /// What is done and must hold on entering.
    pub entry: Entry,
    /// Whether no target leads on from here (language 2.4).
    pub terminal: bool,
    /// The typed value of ending here.
    pub output: Option<Shape>,
    /// `end:`, where it is said.
    pub end: Option<EndSyntax>,
    /// Free, interpolated, travels with the action.
    pub metadata: Option<Shape>,
}

impl Node {
    /// Whether entering the node brings a key before its requirements are checked: by `default_context`, or by what `before_each` saves.
    pub(crate) fn brings(&self, graph: &Graph, key: &str) -> bool {
        let by_default = self.entry.defaults.iter().any(|write| matches!(&write.to, Place::Absent(absent) if **absent == *key));
        let saved = graph.before_each.as_ref().filter(|_| self.gate.is_some()).and_then(|call| call.save_to.as_ref());
        by_default || saved.is_some_and(|path| **path.root() == *key)
    }
}

/// A node's words in one locale.
#[derive(Debug)]
pub struct Localised {
    /// The text.
    pub content: Option<Template>,
    /// Option value (as text) to option text.
    pub options: Box<[(Key, Arc<str>)]>,
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
    pub text: Arc<str>,
}

/// What follows an invalid input; where it leads stands in the ways of [`super::Outcome::Invalid`].
#[derive(Debug)]
pub struct OnInvalid {
    /// What to say.
    pub text: Option<Template>,
    /// Whether an invalid input is an accepted step that counts.
    pub counts: bool,
}

/// What happens on entering a node, in this order (language 7.1); `before_each` comes between `defaults` and `required`.
#[derive(Debug, Default)]
pub struct Entry {
    /// How many entries are admitted.
    pub max_visits: Option<u32>,
    /// `default_context`, as writes to [`super::Place::Absent`].
    pub defaults: Box<[Write]>,
    /// Paths that must be there.
    pub required: Box<[KeyPath]>,
    /// Keys that must fit a schema while they are there.
    pub types: Box<[(Key, Schema)]>,
    /// Conditions that must hold, with their text.
    pub asserts: Box<[(Guard, Arc<str>)]>,
}
