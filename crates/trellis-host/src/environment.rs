//! The environment that project files name variables of, handed in.

use std::{fmt, sync::Arc};

type EnvironmentLookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Looks variables up. Handed in, so that a test is exact.
#[derive(Clone)]
pub struct Environment(Arc<EnvironmentLookup>);

impl Environment {
    /// Variables that `find` knows.
    pub fn new(find: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// The variables of this process.
    pub fn of_process() -> Self {
        Self::new(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The value of a variable; `None` if it is not set, or blank.
    pub fn find(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::of_process()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Environment").finish_non_exhaustive()
    }
}
