//! The parts of a pending `parallel` or `each` (language 10.1): their attempts, and their outcomes.
//!
//! Persistent, so that the cost of taking one outcome does not depend on the number of parts. The call of a part follows from the frozen call.
//!
//! **Invariant:** derived values (the parts without outcome, the number of successes) follow from the list alone.

use std::sync::Arc;

use rpds::{RedBlackTreeSetSync, VectorSync};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::CallKind;
use trellis_base::{index::to_u32, input::ToolOutcome, value::Value};

/// A part of a pending call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartState {
    /// Its attempt, from 1.
    pub attempt: u32,
    /// Milliseconds the host waits before that attempt.
    #[serde(default, skip_serializing_if = "super::call::is_zero")]
    pub delay: u64,
    /// Its outcome; `None` while it is open, or has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Arc<ToolOutcome>>,
}

impl PartState {
    /// A part that was not tried yet.
    pub(crate) const FRESH: Self = Self { attempt: 1, delay: 0, outcome: None };

    fn has_succeeded(&self) -> bool {
        matches!(self.outcome.as_deref(), Some(ToolOutcome::Success(_)))
    }
}

/// The parts of the pending call, in order.
#[derive(Clone, Debug, Default)]
pub struct PartStates {
    list: VectorSync<PartState>,
    /// Those without outcome.
    waiting: RedBlackTreeSetSync<u32>,
    succeeded: u32,
    denied: u32,
    /// The first in order that succeeded, and the first that did not.
    first_success: Option<u32>,
    first_failure: Option<u32>,
    /// Bytes of all outcomes as JSON.
    bytes: u64,
}

impl PartStates {
    pub(crate) fn new(list: impl IntoIterator<Item = PartState>) -> Self {
        let mut parts = Self::default();
        for part in list {
            let at = parts.count();
            parts.count_in(at, &part);
            parts.list.push_back_mut(part);
        }
        parts
    }

    /// Creates this number of parts without an attempt.
    pub(crate) fn fresh(count: usize) -> Self {
        Self::new(std::iter::repeat_n(PartState::FRESH, count))
    }

    fn count_in(&mut self, at: u32, part: &PartState) {
        let Some(outcome) = part.outcome.as_deref() else {
            self.waiting.insert_mut(at);
            return;
        };
        self.bytes += size(outcome);
        let first = match outcome {
            ToolOutcome::Success(_) => {
                self.succeeded += 1;
                &mut self.first_success
            }
            ToolOutcome::Denied(_) => {
                self.denied += 1;
                &mut self.first_failure
            }
            ToolOutcome::Error(_) => &mut self.first_failure,
        };
        *first = Some(first.map_or(at, |first| first.min(at)));
    }

    /// Replaces a part that has no outcome.
    pub(crate) fn set(&mut self, at: u32, part: PartState) {
        if self.list.get(at as usize).is_none_or(|part| part.outcome.is_some()) {
            return;
        }
        if part.outcome.is_some() {
            self.waiting.remove_mut(&at);
            self.count_in(at, &part);
        }
        self.list.set_mut(at as usize, part);
    }

    /// Returns the parts of another attempt of the whole: those that did not succeed are tried once more.
    pub(crate) fn again(&self) -> Self {
        let again = |part: &PartState| match part.has_succeeded() {
            true => part.clone(),
            false => PartState { attempt: part.attempt.saturating_add(1), ..PartState::FRESH },
        };
        Self::new(self.list.iter().map(again))
    }

    /// A part by its place.
    pub fn get(&self, at: u32) -> Option<&PartState> {
        self.list.get(at as usize)
    }

    /// All parts in order.
    pub fn iter(&self) -> impl Iterator<Item = &PartState> {
        self.list.iter()
    }

    /// The first parts without outcome, by their places.
    pub fn waiting(&self, most: usize) -> impl Iterator<Item = u32> {
        self.waiting.iter().copied().take(most)
    }

    fn count(&self) -> u32 {
        to_u32(self.list.len())
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Counts the parts that have an outcome.
    pub fn done(&self) -> usize {
        self.list.len() - self.waiting.size()
    }

    pub(crate) fn all_denied(&self) -> bool {
        self.denied == self.count()
    }

    /// The first part in order that succeeded.
    pub(crate) fn first_success(&self) -> Option<u32> {
        self.first_success
    }

    /// The first part in order that failed or was denied.
    pub(crate) fn first_failure(&self) -> Option<u32> {
        self.first_failure
    }

    /// Bytes of all outcomes as JSON.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the parts that differ from `before`; only parts without an outcome can have changed.
    pub(super) fn changed(&self, before: &Self) -> Vec<(u32, PartState)> {
        /// The most parts that are open at once, so that no other can change in one step.
        const WINDOW: usize = trellis_base::language::MOST_ABREAST as usize;
        let differs = |at: &u32| self.get(*at) != before.get(*at);
        before.waiting(WINDOW).filter(differs).filter_map(|at| Some((at, self.get(at)?.clone()))).collect()
    }

    /// Returns the parts that were tried.
    pub(super) fn tried(&self) -> Vec<(u32, PartState)> {
        (0..).zip(self.list.iter()).filter(|(_, part)| **part != PartState::FRESH).map(|(at, part)| (at, part.clone())).collect()
    }
}

/// Bytes of an outcome as JSON, about.
fn size(outcome: &ToolOutcome) -> u64 {
    match outcome {
        ToolOutcome::Success(value) => value.size(),
        ToolOutcome::Error(error) => {
            let values = error.code.iter().chain(&error.data).map(Value::size).sum::<u64>();
            values + error.message.len() as u64
        }
        ToolOutcome::Denied(reason) => reason.as_ref().map_or(0, |reason| reason.len() as u64),
    }
}

impl PartialEq for PartStates {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Serialize for PartStates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter())
    }
}

impl<'de> Deserialize<'de> for PartStates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<PartState>::deserialize(deserializer).map(Self::new)
    }
}

impl CallKind {
    /// Returns the number of parts of such a call; `None` for a call without parts.
    pub fn parts(&self) -> Option<usize> {
        match self {
            Self::Tool | Self::Graph(_) => None,
            Self::Parallel { branches, .. } => Some(branches.len()),
            Self::Each { items, .. } => Some(items.as_list().map_or(0, trellis_base::value::List::len)),
        }
    }

    /// Returns how many of them may run at once, if the call limits it.
    pub(crate) fn limit(&self) -> Option<u32> {
        match self {
            Self::Tool | Self::Graph(_) => None,
            Self::Parallel { limit, .. } | Self::Each { limit, .. } => *limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_derived_follows_from_the_list() {
        let mut parts = PartStates::fresh(3);
        let done = |outcome| PartState { outcome: Some(Arc::new(outcome)), ..PartState::FRESH };
        parts.set(2, done(ToolOutcome::Success(Value::Int(7))));
        parts.set(0, done(ToolOutcome::Denied(None)));
        let json = serde_json::to_string(&parts).unwrap();
        let expected = r#"[{"attempt":1,"outcome":{"denied":null}},{"attempt":1},{"attempt":1,"outcome":{"success":7}}]"#;
        assert_eq!(json, expected);
        let back: PartStates = serde_json::from_str(&json).unwrap();
        for parts in [&parts, &back] {
            assert_eq!((parts.done(), parts.waiting(9).collect::<Vec<_>>()), (2, vec![1]));
            assert_eq!((parts.first_success(), parts.first_failure(), parts.bytes()), (Some(2), Some(0), 1));
        }
        parts.set(0, PartState::FRESH);
        assert_eq!(parts, back, "an outcome stays");
    }
}
