//! What the bindings of a host share, over all its graphs and reloads.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::Secrets;
#[cfg(feature = "http")]
use crate::http::HttpClient;

type SharedByType = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Things that bindings share: the secrets, and whatever stays open between calls. Clones share the same things, so a host makes one and hands it to
/// every [`super::Bindings::new`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Host {
    /// The values of secrets.
    pub secrets: Secrets,
    /// The connections of bindings that speak HTTP.
    #[cfg(feature = "http")]
    pub http: HttpClient,
    shared: Arc<Mutex<SharedByType>>,
}

impl Host {
    /// A host that knows no secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with secrets.
    #[must_use]
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// The one `T` of this host, made when it is first asked for: a kind of binding keeps its connections and indexes in a type of its own.
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let one = shared.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(one).downcast().unwrap_or_else(|_| unreachable!("it lies under its own type"))
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}
