//! Models that a host sets up itself: they stand before those of the same name in the files of a graph (orchestrator 1.4).

use std::path::PathBuf;

use trellis_core::syntax::project::HostConfig;

/// Providers and roles of a host.
#[derive(Clone, Debug)]
pub struct HostModels {
    pub(super) config: HostConfig,
    pub(super) folder: PathBuf,
    /// True if a role may name a provider that is not known here: the graph may have it.
    pub(super) is_open: bool,
}

impl HostModels {
    /// The `models` of a file that belongs to no graph, written as in a project file; relative paths begin at `folder`.
    pub fn new(config: HostConfig, folder: impl Into<PathBuf>) -> Self {
        Self { config, folder: folder.into(), is_open: false }
    }
}
