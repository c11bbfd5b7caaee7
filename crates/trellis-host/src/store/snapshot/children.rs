//! The children of a session, as its snapshot has them.

use serde::{Deserialize, Serialize};
use trellis_core::{
    SessionId,
    tree::{Caller, Tree},
};

use super::Snapshot;
use crate::journal::{ChildState, Entry, Record};

/// The snapshot of a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildSnapshot {
    /// The call that began it.
    pub caller: Caller,
    /// Its state and times. Its budget, and its own children, are stored with the root.
    pub here: Snapshot,
}

impl From<(ChildState, u64)> for ChildSnapshot {
    /// Creates the snapshot of a child from its state at a time.
    fn from((child, at): (ChildState, u64)) -> Self {
        Self { caller: child.caller, here: Snapshot::beginning(child.state, at) }
    }
}

impl Snapshot {
    /// Drops the children that a record ended or left, and sets those that continue on another program.
    pub(super) fn part_with(&mut self, record: &Record) {
        match &record.entry {
            Entry::Result { result } | Entry::Settle { result, .. } if !self.children.is_empty() => {
                drop(self.children.remove(result.id.as_str()))
            }
            Entry::Leave { children } => {
                self.inherit(record.child.as_ref(), children);
                children.iter().for_each(|child| drop(self.children.remove(child)));
            }
            Entry::Move { .. } => self.children.clear(),
            Entry::Reload { children, .. } => {
                self.children.retain(|child, _| children.contains_key(child));
                for (child, moved) in children {
                    if let Some(child) = self.children.get_mut(child) {
                        child.here.step(record.at, moved.state.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the snapshot of a session of the tree: the root's, or a child's.
    pub fn of_child(&self, child: Option<&SessionId>) -> Option<&Self> {
        match child {
            None => Some(self),
            Some(child) => self.children.get(child).map(|child| &child.here),
        }
    }

    pub(crate) fn of_child_mut(&mut self, child: Option<&SessionId>) -> Option<&mut Self> {
        match child {
            None => Some(self),
            Some(child) => self.children.get_mut(child).map(|child| &mut child.here),
        }
    }

    /// The tree of the session and its children.
    pub fn tree(&self) -> Tree<'_> {
        Tree::new(&self.state, self.children.values().map(|child| (&child.caller, &child.here.state)))
    }
}
