//! The host's answers to named predicates (language 6.2).

use std::{collections::BTreeMap, fmt, sync::Arc};

use trellis_base::context::Context;

/// A program asks for a predicate that the host does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the predicates {} are not answered by the host", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
#[non_exhaustive]
pub struct MissingPredicate {
    /// Their names.
    pub names: Vec<Arc<str>>,
}

type HostAnswer = dyn Fn(&Context) -> bool + Send + Sync;

/// The host's answers to named predicates (language 6.2).
#[derive(Clone, Default)]
pub struct Predicates {
    pub(super) known: Arc<BTreeMap<Arc<str>, Option<Arc<HostAnswer>>>>,
}

impl Predicates {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `name` with a function of the context. It must be pure: the same context, the same answer.
    #[must_use]
    pub fn with(mut self, name: &str, answer: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.known).insert(name.into(), Some(Arc::new(answer)));
        self
    }

    /// Adds the answers of another set, which replace those of the same names.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        Arc::make_mut(&mut self.known).extend(others.known.iter().map(|(name, answer)| (name.clone(), answer.clone())));
        self
    }

    /// Returns whether a function answers `name`.
    pub fn answers(&self, name: &str) -> bool {
        self.known.get(name).is_some_and(Option::is_some)
    }

    /// Leaves `name` to be answered step by step: `navigate` then refuses with [`super::NavigateError::Unanswered`] until the host asks [`super::Engine::answering`].
    #[must_use]
    pub fn deferred(mut self, name: &str) -> Self {
        Arc::make_mut(&mut self.known).insert(name.into(), None);
        self
    }
}

impl fmt::Debug for Predicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}

/// A deferred predicate without which a step cannot happen.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the predicate `{name}` must be answered first")]
#[non_exhaustive]
pub struct Unanswered {
    /// Its name.
    pub name: Arc<str>,
    /// The context that it is asked about: the one after the writes of the step (language 7.3).
    pub context: Context,
}
