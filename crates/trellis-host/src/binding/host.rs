//! The things that the bindings of a host share, over all its graphs and reloads.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::join_all;

#[cfg(feature = "model")]
use super::host_models::HostModels;
#[cfg(feature = "http")]
use crate::http::HttpClient;
use crate::{Secrets, environment::Environment, journal::Clock};

/// Something that bindings of one kind share: connections, indexes, buckets.
pub trait Resource: Any + Send + Sync {
    /// Closes open resources in good order; the host is about to end.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

type Resources = HashMap<TypeId, (Arc<dyn Any + Send + Sync>, Arc<dyn Resource>)>;

/// Resources that bindings share: the secrets, and resources that stay open between calls. Clones share the same resources, so a host makes one and
/// hands it to every [`super::Bindings::new`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Host {
    /// The values of secrets.
    pub secrets: Secrets,
    /// The connections of bindings that speak HTTP.
    #[cfg(feature = "http")]
    pub http: HttpClient,
    /// Models that stand before those of the graphs.
    #[cfg(feature = "model")]
    pub models: Option<Arc<HostModels>>,
    /// Variables that `policy` reads.
    pub environment: Environment,
    /// The time, for `policy.decide`.
    pub clock: Clock,
    resources: Arc<Mutex<Resources>>,
}

impl Host {
    /// A host that knows no secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the secrets.
    #[must_use]
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Sets models that stand before those of the graphs.
    #[cfg(feature = "model")]
    #[must_use]
    pub fn models(self, models: HostModels) -> Self {
        Self { models: Some(Arc::new(models)), ..self }
    }

    /// Sets other variables than those of the process.
    #[must_use]
    pub fn environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    /// Sets another clock.
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Returns the one `T` of this host, created at the first request: a kind of binding stores the resources that its bindings share in a
    /// type of its own.
    pub fn shared<T: Resource + Default>(&self) -> Arc<T> {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        let (one, _) = resources.entry(TypeId::of::<T>()).or_insert_with(|| {
            let one = Arc::new(T::default());
            (Arc::clone(&one) as _, one)
        });
        Arc::clone(one).downcast().unwrap_or_else(|_| unreachable!("it lies under its own type"))
    }

    /// Closes resources that stay open between calls: servers that were started here are ended, kindly, then by force. Call it after the last call;
    /// a host that is only dropped leaves its servers no time.
    pub async fn close(&self) {
        let open: Vec<Arc<dyn Resource>> = {
            let resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
            resources.values().map(|(_, one)| Arc::clone(one)).collect()
        };
        join_all(open.iter().map(|one| one.close())).await;
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("secrets", &self.secrets).finish_non_exhaustive()
    }
}
