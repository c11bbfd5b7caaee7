//! Every path that a program ever sets or declares, as a tree: for names inside of values that nothing sets.
//!
//! **Invariant:** a place whose keys are not all known, such as the result of a call, is open, and nothing is said of the keys there.
//!
//! **Example.** `save_to: user.name` knows `user` with the key `name`; `save_to: user` makes `user` open.

use std::collections::BTreeMap;

use trellis_base::{
    path::{KeyPath, Segment},
    template::Shape,
    value::Value,
};
use trellis_syntax::{
    node::{AssignSyntax, CallSyntax, CalleeSyntax, NodeSyntax},
    project::ProjectSyntax,
};

/// The keys that are known at a place.
#[derive(Debug, Default)]
pub(super) struct KnownPaths<'d> {
    within: BTreeMap<&'d str, Self>,
    is_open: bool,
}

impl<'d> KnownPaths<'d> {
    /// Adds what a project file sets or declares.
    pub(super) fn project(&mut self, project: &'d ProjectSyntax) {
        project.context.iter().for_each(|(key, schema)| self.key(&key.value).schema(&schema.value));
        project.inputs.iter().for_each(|inputs| self.schema(&inputs.value));
        project.defaults.before_each.iter().for_each(|call| self.call(call));
    }

    /// Adds what a node sets or declares.
    pub(super) fn node(&mut self, node: &'d NodeSyntax) {
        node.save_to.iter().for_each(|path| self.open(&path.value));
        node.required_context.iter().for_each(|path| self.add_given(&path.value));
        node.context_schema.iter().for_each(|(key, schema)| self.key(&key.value).schema(&schema.value));
        node.set.iter().chain(&node.default_context).for_each(|assign| self.assign(assign));
        node.append.iter().for_each(|assign| self.open(&assign.key.value));
        for writes in node.option_writes() {
            writes.save_to.iter().for_each(|path| self.open(&path.value));
            writes.set.iter().for_each(|assign| self.assign(assign));
            writes.append.iter().for_each(|assign| self.open(&assign.key.value));
        }
        let gate = node.defaults.iter().filter_map(|defaults| defaults.before_each.as_ref());
        node.call.iter().chain(&node.undo).chain(gate).for_each(|call| self.call(call));
    }

    /// Returns the number of the first segment of a path that is not known below one that is, and the keys that are known there.
    pub(super) fn missing(&self, path: &KeyPath) -> Option<(usize, impl Iterator<Item = &str>)> {
        let mut here = self;
        for (at, segment) in path.segments().iter().enumerate() {
            let Segment::Key(key) = segment else { return None };
            // Of the keys of the context itself, others decide.
            if at > 0 && here.is_open {
                return None;
            }
            match here.within.get(&**key) {
                Some(inner) => here = inner,
                None if at == 0 => return None,
                None => return Some((at, here.within.keys().copied())),
            }
        }
        None
    }

    fn key(&mut self, key: &'d str) -> &mut Self {
        self.within.entry(key).or_default()
    }

    /// Returns the place of a path; the place of a list if the path leads into one.
    fn at(&mut self, path: &'d KeyPath) -> &mut Self {
        let keys = path.segments().iter().map_while(|segment| if let Segment::Key(key) = segment { Some(key) } else { None });
        keys.fold(self, |here, key| here.key(key))
    }

    fn open(&mut self, path: &'d KeyPath) {
        self.at(path).is_open = true;
    }

    /// Adds a path that a host or a caller gives: what else is around it is not known.
    fn add_given(&mut self, path: &'d KeyPath) {
        let mut here = self;
        for segment in path.segments() {
            let Segment::Key(key) = segment else { break };
            here = here.key(key);
            here.is_open = true;
        }
    }

    fn assign(&mut self, assign: &'d AssignSyntax) {
        self.at(&assign.key.value).shape(&assign.value.value);
    }

    fn shape(&mut self, shape: &'d Shape) {
        match shape {
            Shape::Map(entries) => entries.iter().for_each(|(key, inner)| self.key(&key.value).shape(&inner.value)),
            Shape::Literal(value) => self.value(value),
            Shape::Text(_) | Shape::Expression(_) | Shape::List(_) => self.is_open = true,
        }
    }

    fn value(&mut self, value: &'d Value) {
        if let Some(entries) = value.as_map() {
            entries.iter().for_each(|(key, inner)| self.key(key).value(inner));
        }
    }

    fn schema(&mut self, schema: &'d Value) {
        let properties = schema.as_map().and_then(|words| words.get("properties")?.as_map());
        let more = ["additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf", "if"];
        let is_more = |word: &str| schema.get(word).is_some_and(|more| more.as_bool() != Some(false));
        self.is_open |= properties.is_none() || more.into_iter().any(is_more);
        properties.into_iter().flat_map(|properties| properties.iter()).for_each(|(key, inner)| self.key(key).schema(inner));
    }

    fn call(&mut self, call: &'d CallSyntax) {
        call.save_to.iter().for_each(|path| self.open(&path.value));
        call.body.iter().for_each(|body| self.key(&body.value).is_open = true);
        call.undo.iter().for_each(|undo| self.call(undo));
        match (&call.callee, call.args.as_ref().map(|args| &args.value)) {
            (CalleeSyntax::Parallel(branches, _), _) => branches.iter().for_each(|(_, branch)| self.call(branch)),
            (CalleeSyntax::Graph(_), Some(Shape::Map(entries))) => {
                entries.iter().for_each(|(key, inner)| self.key(&key.value).shape(&inner.value));
            }
            _ => {}
        }
    }
}
