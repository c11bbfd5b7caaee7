//! Checks that every graph can be run.

use std::{fmt, sync::OnceLock};

use futures_util::{FutureExt as _, future::BoxFuture};
use trellis_host::store::{Query, Which};

use crate::{
    served::Served,
    trouble::{Code, Trouble},
};

/// What must work beside the graphs, where an application mounts them: the reason why it does not.
#[derive(Default)]
pub(crate) struct Readiness(OnceLock<Box<Unready>>);

type Unready = dyn Fn() -> BoxFuture<'static, Option<String>> + Send + Sync;

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

/// Checks that every graph has a program and a store that responds, and that the application around them works.
///
/// # Errors
/// One has not, or the server stops.
pub(crate) async fn ready(served: &Served) -> Result<(), Trouble> {
    if served.is_stopping() {
        return Err(Trouble::new(Code::Stopping, Code::Stopping.title()));
    }
    for graph in served.all() {
        graph.program()?;
        graph.store().list(Query { graph: Some(graph.name.clone()), which: Which::Newest, after: None, limit: 1 }).await?;
    }
    if let Some(unready) = served.readiness.0.get()
        && let Some(why) = unready().await
    {
        return Err(Trouble::new(Code::StoreUnavailable, why));
    }
    Ok(())
}
