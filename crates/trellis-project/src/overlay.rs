//! A graph as it was when it was first read, with edits on top that are not written yet.
//!
//! **Invariant:** a file is read once, until its edit is withdrawn: findings and replacements refer to the same bytes.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{Source, diagnostic::FilePath, syntax::document::Bytes};

use crate::{GraphLoader, LoadError};

/// A loader over another one, with edits. Clones share them.
#[derive(Clone)]
pub struct Overlay(Arc<Mutex<OverlayState>>);

struct OverlayState {
    below: Box<dyn GraphLoader>,
    listed: Option<Vec<FilePath>>,
    read: BTreeMap<FilePath, Source>,
    edited: BTreeMap<FilePath, String>,
}

/// A file that an edit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its path below the root.
    pub path: FilePath,
    /// Its text as it was read; `None` for a new file.
    pub before: Option<String>,
    /// Its text now.
    pub after: String,
}

impl Overlay {
    /// The graph that `loader` holds, without edits.
    pub fn new(loader: impl GraphLoader + 'static) -> Self {
        Self(Arc::new(Mutex::new(OverlayState { below: Box::new(loader), listed: None, read: BTreeMap::new(), edited: BTreeMap::new() })))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, OverlayState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the text of a file; a new path is listed from then on. `None` withdraws the edit: the file is listed and read from the
    /// graph below again.
    pub fn put(&self, path: &FilePath, text: Option<&str>) {
        let mut state = self.state();
        match text {
            Some(text) => drop(state.edited.insert(path.clone(), text.to_owned())),
            None => {
                state.edited.remove(path);
                state.read.remove(path);
                state.listed = None;
            }
        }
    }

    /// Lists the graph below again at the next occasion.
    pub fn relist(&self) {
        self.state().listed = None;
    }

    /// The files that are not as they were, sorted by path.
    pub fn edited(&self) -> Vec<Edited> {
        let state = self.state();
        let edited = state.edited.iter().filter_map(|(path, after)| {
            let before = match state.read.get(path).map(|source| &source.bytes) {
                Some(Bytes::Read(before)) => Some(String::from_utf8_lossy(before).into_owned()),
                Some(Bytes::TooLarge { .. }) => return None,
                None => None,
            };
            let is_changed = before.as_ref() != Some(after);
            is_changed.then(|| Edited { path: path.clone(), before, after: after.clone() })
        });
        edited.collect()
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay").field("edited", &self.state().edited.keys()).finish_non_exhaustive()
    }
}

impl GraphLoader for Overlay {
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
        let mut state = self.state();
        if state.listed.is_none() {
            state.listed = Some(state.below.list_files()?);
        }
        let listed = state.listed.iter().flatten();
        let mut all: Vec<FilePath> = listed.chain(state.edited.keys()).cloned().collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn read_file(&self, path: &str) -> Result<Source, LoadError> {
        let mut state = self.state();
        if let Some(text) = state.edited.get(path) {
            return Ok(Source::text(path, text));
        }
        if let Some(source) = state.read.get(path) {
            return Ok(source.clone());
        }
        let source = state.below.read_file(path)?;
        state.read.insert(source.path.clone(), source.clone());
        Ok(source)
    }

    fn is_file(&self) -> bool {
        self.state().below.is_file()
    }
}
