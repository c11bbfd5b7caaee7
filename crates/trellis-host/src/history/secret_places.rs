//! The secret places of a graph: the keys that it redacts, and the nodes where it asks for a secret.
//!
//! **Invariant:** a graph that is read in part knows less, and never takes a node that it does not know for one that asks for no secret.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trellis_core::{
    Document, Mapping, NodeId,
    path::{KeyPath, Segment},
    syntax::{
        document::Content,
        node::{InputType, NodeSyntax},
    },
};

use crate::{
    journal::{Entry, Record},
    store::redacted_by,
};

/// The secret places of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretPlaces {
    /// The paths that `redact` names.
    redacted: BTreeSet<KeyPath>,
    /// The paths that secret answers are saved to.
    saved: BTreeSet<KeyPath>,
    /// The nodes, each with whether it asks for a secret.
    asks: BTreeMap<NodeId, bool>,
    /// The nodes that save to a path which `redact` names.
    withholds: BTreeSet<NodeId>,
    /// True if a node cannot be read.
    has_broken: bool,
}

impl SecretPlaces {
    /// Returns the secret places of these files of a graph; `None` if one of them cannot be read that may have named a redacted key.
    pub fn of(documents: &[Arc<Document>]) -> Option<Self> {
        // A hidden file is no node (language 1.2), and its breach says nothing about what is secret.
        let is_broken = |document: &&Arc<Document>| matches!(document.content, Content::Broken) && !document.is_hidden();
        let is_node = |document: &Arc<Document>| document.path.ends_with(".md");
        if documents.iter().filter(is_broken).any(|document| !is_node(document)) {
            return None;
        }
        Some(Self { has_broken: documents.iter().any(|document| is_broken(&document)), ..Self::of_readable(documents) })
    }

    /// Returns the secret places of the readable files: for a caller that knows an earlier version of the graph.
    #[must_use]
    pub fn of_readable(documents: &[Arc<Document>]) -> Self {
        let mut places = Self { redacted: redacted_by(documents).into_iter().collect(), ..Self::default() };
        for document in documents {
            let nodes = match &document.content {
                Content::Node(node) => std::slice::from_ref(&**node),
                Content::Nodes(nodes, _) => nodes,
                Content::Project(_) | Content::Library(_) | Content::Broken => continue,
            };
            nodes.iter().for_each(|node| places.add(document, node));
        }
        places
    }

    fn add(&mut self, document: &Document, node: &NodeSyntax) {
        let by_path = || NodeId::new(document.path.rsplit_once('.').map_or(&*document.path, |(stem, _)| stem));
        let id = node.id.as_ref().map_or_else(by_path, |id| id.value.clone());
        let is_secret = node.input_type.as_ref().is_some_and(|kind| kind.value == InputType::Secret);
        let withholds = node.save_to.as_ref().is_some_and(|path| self.is_redacted(path.value.segments()));
        for name in node.was.iter().map(|was| was.value.clone()).chain([id]) {
            if withholds {
                self.withholds.insert(name.clone());
            }
            *self.asks.entry(name).or_default() |= is_secret;
        }
        if is_secret {
            self.saved.extend(node.save_to.iter().map(|path| path.value.clone()));
        }
    }

    /// Returns the secret places of both of two versions of a graph.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.redacted.extend(other.redacted.iter().cloned());
        joined.saved.extend(other.saved.iter().cloned());
        joined.withholds.extend(other.withholds.iter().cloned());
        for (node, asks) in &other.asks {
            *joined.asks.entry(node.clone()).or_default() |= asks;
        }
        joined.has_broken |= other.has_broken;
        joined
    }

    /// Returns whether there are any, or may be.
    pub fn is_any(&self) -> bool {
        !self.redacted.is_empty() || self.may_ask()
    }

    /// Returns whether a record may hold a secret that was handed in with it: an answer to a question for one, or a value that is redacted.
    pub fn is_touched_by(&self, record: &Record) -> bool {
        let withholds = record.from.as_ref().is_none_or(|node| self.withholds.contains(node));
        let is_redacted = |keys: &Mapping| keys.iter().any(|(key, _)| self.redacted.iter().any(|path| path.root() == key));
        let in_entry = match &record.entry {
            Entry::Input { .. } => withholds || self.asks_at(record.from.as_ref()),
            Entry::Result { .. } | Entry::Settle { .. } => withholds,
            Entry::Start { start, .. } => is_redacted(&start.context),
            Entry::Context { keys } => is_redacted(keys),
            _ => false,
        };
        let appends = || record.changes.appended.keys().any(|path| self.is_redacted(path.segments()));
        in_entry || is_redacted(&record.changes.context) || appends()
    }

    /// Returns whether `redact` names a path, something in it, or what it is in.
    fn is_redacted(&self, path: &[Segment]) -> bool {
        self.redacted.iter().any(|redacted| redacted.segments().iter().zip(path).all(|(one, other)| one == other))
    }

    /// Returns whether it asks for a secret anywhere, or may.
    pub(super) fn may_ask(&self) -> bool {
        self.has_broken || self.asks.values().any(|asks| *asks)
    }

    /// Returns whether it asks for a secret at a node; an unknown node may have asked for one.
    pub(super) fn asks_at(&self, node: Option<&NodeId>) -> bool {
        node.is_none_or(|node| self.asks.get(node).copied().unwrap_or(true))
    }

    pub(super) fn redacted(&self) -> &BTreeSet<KeyPath> {
        &self.redacted
    }

    pub(super) fn saved(&self) -> &BTreeSet<KeyPath> {
        &self.saved
    }
}
