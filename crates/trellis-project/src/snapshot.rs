//! The documents of a project at one moment, to be compiled on another thread.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::{Compiled, Document, compile::Compiler};

use crate::{Project, threads::both, unread::Unread};

/// The documents of a [`Project`] at one moment. It compiles to the same result as the project at that moment, despite later edits.
#[derive(Clone, Debug)]
pub struct Snapshot {
    root: Option<PathBuf>,
    documents: Vec<Arc<Document>>,
    unread: Unread,
}

impl Snapshot {
    /// The documents, sorted by path.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// Compiles the documents, as [`Project::recompile`] does.
    pub fn recompile(&self, compiler: &mut Compiler) -> Compiled {
        self.unread.apply(self.root.as_deref(), &self.documents, compiler.compile_with(&self.documents, both))
    }
}

impl Project {
    /// The documents as they are now.
    pub fn snapshot(&self) -> Snapshot {
        let unread = Unread::of(self.problems());
        Snapshot { root: self.root().map(Path::to_owned), documents: self.documents.clone(), unread }
    }
}
