//! Effects: the successes that matter to a rollback (language 7.7), persistent so that a state with many effects is cloned and extended for little.
//!
//! **Invariant:** undoable effects are in the order of their success; an irreversible one is stored once per node and tool.

use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, VectorSync};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Effect;
use trellis_base::id::{IdempotencyKey, NodeId};

/// The effects of a session: undoable ones as a stack, irreversible ones as a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    undoable: VectorSync<Arc<Effect>>,
    irreversible: RedBlackTreeMapSync<(NodeId, Arc<str>), Arc<Effect>>,
}

impl Effects {
    /// Adds an effect; an irreversible one that is listed already changes nothing, so that loops stay bounded.
    pub(crate) fn push(&mut self, effect: Effect) {
        if effect.undo.is_some() {
            self.undoable.push_back_mut(Arc::new(effect));
            return;
        }
        let place = (effect.node.clone(), Arc::clone(&effect.tool));
        if !self.irreversible.contains_key(&place) {
            self.irreversible.insert_mut(place, Arc::new(effect));
        }
    }

    /// Takes the newest undoable effect.
    pub(crate) fn pop(&mut self) -> Option<Arc<Effect>> {
        let newest = self.undoable.last().cloned()?;
        self.undoable.drop_last_mut();
        Some(newest)
    }

    /// Returns whether a call of this key succeeded already, in time linear in their number.
    pub(crate) fn holds(&self, key: &IdempotencyKey) -> bool {
        self.iter().any(|effect| effect.key == *key)
    }

    /// Returns whether an effect of this node and tool is listed as irreversible.
    pub(super) fn lists(&self, effect: &Effect) -> bool {
        !self.irreversible.is_empty() && self.irreversible.contains_key(&(effect.node.clone(), Arc::clone(&effect.tool)))
    }

    /// Counts the oldest undoable effects that `other` shares. Both are stacks over one history, so the newest common one decides.
    pub(super) fn shared(&self, other: &Self) -> usize {
        let most = self.undoable.len().min(other.undoable.len());
        let is_same = |at: usize| match (self.undoable.get(at), other.undoable.get(at)) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        (0..most).rev().find(|&at| is_same(at)).map_or(0, |at| at + 1)
    }

    /// Leaves only the oldest `kept` undoable effects.
    pub(super) fn truncate(&mut self, kept: usize) {
        while self.undoable.len() > kept {
            self.undoable.drop_last_mut();
        }
    }

    /// Undoable effects, oldest first.
    pub fn undoable(&self) -> impl DoubleEndedIterator<Item = &Arc<Effect>> + ExactSizeIterator {
        self.undoable.iter()
    }

    /// Irreversible effects, by node and tool.
    pub fn irreversible(&self) -> impl Iterator<Item = &Arc<Effect>> {
        self.irreversible.values()
    }

    /// All effects, irreversible ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Effect>> {
        self.irreversible().chain(self.undoable.iter())
    }

    /// Returns the number of effects.
    pub fn len(&self) -> usize {
        self.undoable.len() + self.irreversible.size()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Serialize for Effects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Effects {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut effects = Self::default();
        for effect in Vec::<Effect>::deserialize(deserializer)? {
            effects.push(effect);
        }
        Ok(effects)
    }
}
