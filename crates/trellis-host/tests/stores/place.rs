//! The place of a store, so that a test can open it again.

use std::{future::Future, pin::Pin, sync::Arc};

use trellis_host::store::{MemoryStore, SessionStore};

/// Opens the same store again and again, as another process would. It begins empty; what it lies in goes away with the place.
pub(crate) struct Place {
    open: Box<dyn Fn() -> Opening + Send + Sync>,
}

/// A store that is about to be there.
pub(crate) type Opening = Pin<Box<dyn Future<Output = Arc<dyn SessionStore>> + Send>>;

impl Place {
    /// A place that `open` opens; what `open` owns lives as long as the place.
    pub(crate) fn new<F>(open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Arc<dyn SessionStore>> + Send + 'static,
    {
        Self { open: Box::new(move || Box::pin(open())) }
    }

    /// The store, opened once more.
    pub(crate) async fn open(&self) -> Arc<dyn SessionStore> {
        (self.open)().await
    }
}

/// A store in memory: opening it again is having it still.
pub(crate) fn memory() -> Place {
    let store = Arc::new(MemoryStore::new());
    Place::new(move || {
        let store: Arc<dyn SessionStore> = store.clone();
        async move { store }
    })
}
