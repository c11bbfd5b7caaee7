//! Models that a host sets up itself: they stand before those of the same name in the files of a graph (orchestrator 1.4).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{Diagnostic, Document, syntax::project::HostConfig};

use super::models::{Models, ModelsFile, check_file};

/// Providers and roles of a host.
#[derive(Clone, Debug)]
pub struct HostModels {
    config: HostConfig,
    folder: PathBuf,
    /// Whether a role may name a provider that is not known here: the graph may have it.
    pub(super) is_open: bool,
}

impl HostModels {
    /// The `models` of a file that belongs to no graph, written as in a project file; relative paths begin at `folder`.
    pub fn new(config: HostConfig, folder: impl Into<PathBuf>) -> Self {
        Self { config, folder: folder.into(), is_open: false }
    }

    /// The mistakes in them, as far as they show without a graph.
    pub fn check(&self) -> Vec<Diagnostic> {
        let open = Self { is_open: true, ..self.clone() };
        open.found(&[])
    }

    /// The mistakes in them before the graph of these documents, whose providers its roles may name.
    pub fn check_with(&self, documents: &[Arc<Document>]) -> Vec<Diagnostic> {
        self.found(documents)
    }

    fn found(&self, documents: &[Arc<Document>]) -> Vec<Diagnostic> {
        let models = Models { documents, root: "", folder: Path::new(""), host: Some(self) };
        check_file(&models, &self.file())
    }

    pub(super) fn file(&self) -> ModelsFile<'_> {
        ModelsFile { config: &self.config, root: "", folder: Some(&self.folder) }
    }
}
