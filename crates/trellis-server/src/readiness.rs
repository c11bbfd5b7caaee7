//! Facts that decide whether a server is ready: the last trial of its stores, and what an application around it says.

use std::{fmt, sync::OnceLock};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{sync::Mutex, time::Instant};

use crate::trouble::Trouble;

/// The last trial of the stores: when it was, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct StoreTrial(pub(crate) Mutex<Option<(Instant, Result<(), Trouble>)>>);

/// A check of the parts that must work beside the graphs, where an application mounts them: the reason why it does not.
#[derive(Default)]
pub(crate) struct Readiness(pub(crate) OnceLock<Box<Unready>>);

pub(crate) type Unready = dyn Fn() -> BoxFuture<'static, Option<String>> + Send + Sync;

impl Readiness {
    pub(crate) fn set<F>(&self, unready: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        drop(self.0.set(Box::new(move || unready().boxed())));
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readiness")
    }
}
