//! A graph in memory: for tests, generated graphs and hosts that store their graphs elsewhere.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{Source, diagnostic::FilePath, syntax::document::Bytes};

use crate::{
    GraphLoader, LoadError,
    loader::{FILE_LIMIT, is_below_root, is_graph_file},
};

/// Files by path. Files that could not belong to a graph may be added; they are never listed.
///
/// ```
/// use trellis_project::{Memory, Project};
///
/// let mut graph = Memory::new();
/// graph.insert("start.md", *b"---\nto: end\n---\n");
/// graph.insert("end.md", *b"---\n---\nThe end.\n");
/// assert!(Project::with_loader(graph)?.compile().program.is_some());
/// # Ok::<(), trellis_project::LoadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    files: BTreeMap<FilePath, Arc<[u8]>>,
    limit: u64,
}

impl Memory {
    /// An empty graph.
    pub fn new() -> Self {
        Self { files: BTreeMap::new(), limit: FILE_LIMIT }
    }

    /// Returns the loader with another bound for the bytes of one file.
    #[must_use]
    pub fn with_limit(self, bytes: u64) -> Self {
        Self { limit: bytes, ..self }
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<FilePath>, bytes: impl Into<Arc<[u8]>>) {
        self.files.insert(path.into(), bytes.into());
    }

    /// Removes a file, if it exists.
    pub fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Into<FilePath>, B: AsRef<[u8]>> FromIterator<(P, B)> for Memory {
    fn from_iter<I: IntoIterator<Item = (P, B)>>(files: I) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), Arc::from(bytes.as_ref())));
        Self { files: files.collect(), ..Self::new() }
    }
}

impl GraphLoader for Memory {
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
        Ok(self.files.keys().filter(|path| may_belong(path)).cloned().collect())
    }

    fn read_file(&self, path: &str) -> Result<Source, LoadError> {
        let found = self.files.get_key_value(path).filter(|(path, _)| may_belong(path));
        let (path, bytes) = found.ok_or_else(|| LoadError::NotFound { path: path.into() })?;
        let size = bytes.len() as u64;
        let bytes = if size > self.limit { Bytes::TooLarge { size, limit: self.limit } } else { Bytes::Read(Arc::clone(bytes)) };
        Ok(Source { path: Arc::clone(path), bytes })
    }
}

fn may_belong(path: &str) -> bool {
    is_below_root(path) && is_graph_file(path)
}
