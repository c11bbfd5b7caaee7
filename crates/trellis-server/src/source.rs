//! The source of a graph that is served, and what keeps it from being served.

use std::{fmt, path::PathBuf, sync::Arc};

use trellis_host::{
    Sessions,
    assembly::{Assembly, OpenStore},
};

type Watching = dyn Fn(Sessions) -> Sessions + Send + Sync;

/// The source of a graph, and the terms on which it runs.
#[derive(Clone)]
pub struct GraphSource {
    /// Its folder or file.
    pub path: PathBuf,
    /// The terms on which it runs.
    pub assembly: Assembly,
    /// Its store, and the name that it has there.
    pub store: OpenStore,
    pub(crate) over: Arc<Watching>,
}

impl GraphSource {
    /// A graph that is run so, with its sessions in that store.
    pub fn new(path: impl Into<PathBuf>, assembly: Assembly, store: OpenStore) -> Self {
        Self { path: path.into(), assembly, store, over: Arc::new(|sessions| sessions) }
    }

    /// Sets `over`, which adds observers and interceptors to its sessions.
    #[must_use]
    pub fn over(self, over: impl Fn(Sessions) -> Sessions + Send + Sync + 'static) -> Self {
        Self { over: Arc::new(over), ..self }
    }
}

impl fmt::Debug for GraphSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphSource").field("path", &self.path).field("store", &self.store).finish_non_exhaustive()
    }
}

/// A graph that cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadGraph {
    /// There is no graph.
    #[error(transparent)]
    Load(#[from] trellis_project::LoadError),
    /// A graph is named twice.
    #[error("`{}` is named twice", .0.display())]
    Again(PathBuf),
    /// Two graphs have one name.
    #[error("two graphs are called `{name}`: `{}` and `{}`; `name` in `trellis.yaml` tells them apart", one.display(), other.display())]
    Twice {
        /// The name.
        name: Arc<str>,
        /// The one.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// A function is registered that the graph does not call.
    #[error(transparent)]
    Functions(#[from] trellis_host::sessions::UnknownFunctions),
}
