//! Compiled calls, tools and predicates (language 5, 6.2).

use std::{sync::Arc, time::Duration};

use super::{NodeIndex, Origin, Write};
use trellis_base::{
    context::Context,
    diagnostic::Place,
    language::{Effect, OnBranchError, Retry},
    path::KeyPath,
    schema::{Schema, SchemaWord},
    template::{Shape, Template},
    value::{Key, Mapping},
};

/// A call with everything that tool, call and graph say about it already joined.
#[derive(Debug)]
pub struct Call {
    /// The callee.
    pub callee: Callee,
    /// Its arguments; `None` means `{}`.
    pub args: Option<Shape>,
    /// The argument that takes the node's body.
    pub body: Option<Key>,
    /// The bound on its duration.
    pub timeout: Option<Duration>,
    /// Its retry policy; `None` means one attempt.
    pub retry: Option<Retry>,
    /// The approval by a person, if it needs one.
    pub approve: Option<Approve>,
    /// Its effect.
    pub effect: Effect,
    /// The schemas of every success: of the tool, then of the call.
    pub returns: Box<[Schema]>,
    /// The call that undoes it.
    pub undo: Option<Arc<Call>>,
    /// Writes of the call's own `save_to` (for branches; those of a node belong to its replies).
    pub save_to: Option<KeyPath>,
    /// Travels with the action.
    pub metadata: Option<Shape>,
    /// Tools that a model at this node is offered (language 5.1).
    pub offered: Box<[Arc<Tool>]>,
    /// The writes of a success at its node, so that a late one can be replayed on a copy of the context (language 7.6).
    pub writes: Box<[Write]>,
}

impl Call {
    /// The tools that it may call: its own, those of its branches, those that a model is offered, and those that undo it.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let mut tools = Vec::new();
        let mut open = vec![self];
        while let Some(call) = open.pop() {
            match &call.callee {
                Callee::Tool(tool) => tools.push(tool),
                Callee::Graph(_) => {}
                Callee::Parallel(branches, _) => open.extend(branches.iter().map(|(_, call)| call)),
                Callee::Each(..) => tools.extend(&call.offered),
            }
            open.extend(call.undo.as_deref());
        }
        tools.into_iter()
    }

    /// Returns the nodes at which it may begin a child: itself, its branches, and their undos.
    pub fn starts(&self) -> impl Iterator<Item = NodeIndex> {
        let (mut starts, mut open) = (Vec::new(), vec![self]);
        while let Some(call) = open.pop() {
            match &call.callee {
                Callee::Graph(node) => starts.push(*node),
                Callee::Parallel(branches, _) => open.extend(branches.iter().map(|(_, call)| call)),
                Callee::Tool(_) | Callee::Each(..) => {}
            }
            open.extend(call.undo.as_deref());
        }
        starts.into_iter()
    }
}

/// The name under which the `ask` of `each` reads its item (language 10.5).
pub const ITEM: &str = "item";

/// The callee of a call.
#[derive(Debug)]
pub enum Callee {
    /// A tool.
    Tool(Arc<Tool>),
    /// A node of the same program as a child (language 5.4).
    Graph(NodeIndex),
    /// Calls side by side (language 5.5).
    Parallel(Box<[(Key, Call)]>, Composite),
    /// One call per item of a list.
    Each(KeyPath, Composite),
}

/// The settings that `parallel` and `each` share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Composite {
    /// True if one success is enough.
    pub any: bool,
    /// The meaning of a branch's error.
    pub on_error: OnBranchError,
    /// The number of parts that run at once.
    pub limit: Option<u32>,
}

/// A tool's contract.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// Its name.
    pub name: Arc<str>,
    /// Its description for a model.
    pub description: Option<Arc<str>>,
    /// The schema of its arguments; [`Schema::part`] returns the demands on one of them.
    pub parameters: Option<Schema>,
    /// The schema of its results.
    pub returns: Option<Schema>,
    /// Its effect, if declared.
    pub effect: Option<Effect>,
    /// The bound on its duration.
    pub timeout: Option<Duration>,
    /// The policy of further attempts.
    pub retry: Option<Retry>,
    /// True if a binding carries it out.
    pub bound: bool,
    /// The place of its definition.
    pub place: Option<Place>,
}

/// `approve:`.
#[derive(Debug)]
pub struct Approve {
    /// The question; without one the call itself is shown.
    pub ask: Option<Template>,
    /// The question by locale, sorted.
    pub messages: Box<[(Arc<str>, Template)]>,
    /// The time that the approval may take, from when it was asked.
    pub expires: Option<Duration>,
}

/// A declared predicate.
#[derive(Debug)]
pub struct Predicate {
    /// Its name.
    pub name: Arc<str>,
    /// The source of its answers.
    pub source: PredicateSource,
    /// The keys that its schema names.
    pub keys: Box<[SchemaKey]>,
}

/// A key that the schema of a predicate names.
#[derive(Debug)]
pub struct SchemaKey {
    /// Its path in the context.
    pub path: KeyPath,
    /// Its place in the schema.
    pub place: Origin,
    /// The words of the schema about its value, with their places in the same document.
    pub words: Box<[SchemaWord]>,
    /// True if it has to be set before the predicate is asked.
    pub is_needed: bool,
}

/// The source of a predicate's answers (language 6.2).
#[derive(Debug)]
pub enum PredicateSource {
    /// The host, once these paths are set.
    Host(Box<[KeyPath]>),
    /// The core, by a schema over the context.
    Schema(Schema),
    /// A bound tool, once the paths that it needs are set.
    Binding {
        /// Its name.
        tool: Arc<str>,
        /// The paths that must be set.
        needs: Box<[KeyPath]>,
        /// The paths that it gets, where they are set; nothing else of the context reaches it.
        gets: Box<[KeyPath]>,
    },
}

impl Predicate {
    /// Returns the paths that must be set before the predicate is asked; of a schema, keys that it names.
    pub fn needs(&self) -> impl Iterator<Item = &KeyPath> {
        let needs = match &self.source {
            PredicateSource::Host(needs) | PredicateSource::Binding { needs, .. } => &**needs,
            PredicateSource::Schema(_) => &[],
        };
        needs.iter().chain(self.keys.iter().filter(|key| key.is_needed).map(|key| &key.path))
    }

    /// Returns the bound tool that answers, and the arguments that it is called with.
    pub fn call(&self, context: &Context) -> Option<(&Arc<str>, Mapping)> {
        let PredicateSource::Binding { tool, gets, .. } = &self.source else { return None };
        let mut args = Context::default();
        for path in gets {
            if let Some(value) = context.lookup(path)
                && args.write(path, value.clone()).is_err()
                && let Some(whole) = context.get(path.root())
            {
                // The path goes into a list, which is handed on whole.
                args.insert(path.root().clone(), whole.clone());
            }
        }
        Some((tool, args.to_mapping()))
    }
}
