//! Typed secrets: texts typed where a graph asks for one, which a session still has when the record of the answer is gone, or is another session's.
//!
//! **Invariant:** every value stored here is also elsewhere in the session; missing secrets are marked as left out.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use trellis_core::{Input, NodeId, Program, Value, program::Role, syntax::node::InputType};

use super::{Entry, Record};
use crate::store::MIN_SEARCHED_BYTES;

/// The secrets that were typed in a session and its children.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedSecrets {
    /// The texts, each part of a value for itself.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    texts: BTreeSet<Arc<str>>,
    #[serde(default, skip_serializing_if = "LeftOut::is_nothing")]
    left_out: LeftOut,
}

/// The typed secrets that are missing among the known ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftOut {
    /// None.
    #[default]
    Nothing,
    /// Some that the session does not hold any more; its earlier records may.
    Released,
    /// Unknown ones.
    Unknown,
}

impl LeftOut {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl TypedSecrets {
    /// Those of a session that was stored without them.
    pub fn unknown() -> Self {
        Self { texts: BTreeSet::new(), left_out: LeftOut::Unknown }
    }

    /// Returns whether none is known, and there may be some.
    pub fn is_unknown(&self) -> bool {
        self.texts.is_empty() && self.left_out == LeftOut::Unknown
    }

    /// The texts.
    pub fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.texts.iter()
    }

    /// Returns which ones are missing.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Returns whether there is nothing to store.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Marks these as missing too.
    #[must_use]
    pub(crate) fn without(self, left_out: LeftOut) -> Self {
        Self { left_out: self.left_out.max(left_out), ..self }
    }

    /// Marks all as known, unless unknown ones may exist.
    #[must_use]
    pub(crate) fn settled(self) -> Self {
        let left_out = if self.left_out == LeftOut::Unknown { LeftOut::Unknown } else { LeftOut::Nothing };
        Self { left_out, ..self }
    }

    /// Adds those of another session or time.
    pub(crate) fn join(&mut self, other: &Self) {
        self.texts.extend(other.texts.iter().cloned());
        self.left_out = self.left_out.max(other.left_out);
    }

    /// Adds the texts of others.
    pub(crate) fn join_texts(&mut self, other: &Self) {
        self.texts.extend(other.texts.iter().cloned());
    }

    /// Adds an answer.
    pub(crate) fn add(&mut self, input: &Input) {
        let mut add = |text: Arc<str>| {
            if !text.is_empty() {
                self.texts.insert(text);
            }
        };
        match input {
            Input::Text(text) => add(text.trim().into()),
            Input::Value(value) => leaves(value, &mut add),
            _ => {}
        }
    }

    /// Learns from a record of a session of the tree, by the nodes of `program` that ask for secrets.
    pub(crate) fn learn(&mut self, program: &Program, record: &Record) {
        let Entry::Input { input } = &record.entry else { return };
        if !asks_at(program, record.from.as_ref()) {
            return;
        }
        self.add(input);
        // A text that short cannot be recognised in stored values: a key that must not occur would match.
        if program.redacted().next().is_some() {
            let before = self.texts.len();
            self.texts.retain(|text| text.len() >= MIN_SEARCHED_BYTES);
            if self.texts.len() < before {
                self.left_out = self.left_out.max(LeftOut::Released);
            }
        }
    }

    /// Returns those that occur in this JSON; the others are left out.
    #[must_use]
    pub(crate) fn held_in(&self, json: &str) -> Self {
        let escaped = |text: &str| {
            let json = Value::from(text).to_json();
            json[1..json.len() - 1].to_owned()
        };
        // As a text, and as JSON inside of one.
        let is_held = |text: &&Arc<str>| {
            let once = escaped(text);
            json.contains(&***text) || json.contains(&once) || json.contains(&escaped(&once))
        };
        let texts: BTreeSet<_> = self.texts.iter().filter(is_held).cloned().collect();
        let left_out = if texts.len() < self.texts.len() { LeftOut::Released } else { LeftOut::Nothing };
        Self { texts, left_out: left_out.max(self.left_out) }
    }
}

/// Returns whether a program asks for a secret anywhere.
pub(crate) fn asks_for_secrets(program: &Program) -> bool {
    program.nodes().iter().any(|node| is_secret(&node.role))
}

/// Returns whether a program asks for a secret at a node; an unknown node may have asked for one.
pub(crate) fn asks_at(program: &Program, node: Option<&NodeId>) -> bool {
    let found = node.and_then(|node| program.find(node).or_else(|| program.find_renamed(node)));
    found.is_none_or(|found| is_secret(&program.node(found).role))
}

fn is_secret(role: &Role) -> bool {
    matches!(role, Role::Listen(listen) if listen.kind == Some(InputType::Secret))
}

/// Each part of a value that is neither a mapping nor a list, as text; nothing and truths are no secrets.
pub(crate) fn leaves(value: &Value, each: &mut impl FnMut(Arc<str>)) {
    match value {
        Value::Map(entries) => entries.iter().for_each(|(_, value)| leaves(value, each)),
        Value::List(items) => items.iter().for_each(|item| leaves(item, each)),
        Value::Null | Value::Bool(_) => {}
        Value::Text(text) => each(Arc::clone(text)),
        number => each(number.to_json().into()),
    }
}
