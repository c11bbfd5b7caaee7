//! `check --fix`: the safe changes that findings offer, made to the files.
//!
//! In: a graph on disk. Out: what was changed, and what is left. Everything happens in memory first, round by round, since one change can bring to
//! light what another hid; then each file is replaced once.
//!
//! **Invariant:** a file that is not as it was when it was read is not touched, and a change that makes a file unreadable is not made.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{
    Code, Compiled, Diagnostic, Document, Source,
    diagnostic::{FilePath, TextEdit, fixes},
    span::{LineColumn, LineIndex},
    syntax::document::{Bytes, Content},
};
use trellis_project::{Directory, GraphLoader, LoadError, Project};

use crate::{atomic_write::replace, diff::difference, open::Place, report::Checked};

/// Rounds after which it is enough: each makes at least one change, and what one change brings to light is seldom deep.
const ROUNDS: usize = 100;

/// A graph that is mended.
pub(crate) struct Fixer {
    place: Place,
    root: PathBuf,
    snapshot: Snapshot,
    project: Project,
    compiled: Compiled,
    done: Vec<AppliedFix>,
}

/// One change that was made.
#[derive(Debug)]
pub(crate) struct AppliedFix {
    /// The file.
    pub(crate) path: FilePath,
    /// Where the finding stood when it was mended.
    pub(crate) at: LineColumn,
    /// What was found.
    pub(crate) code: Code,
    /// What was done about it.
    pub(crate) title: String,
}

/// A file that could not be written.
pub(crate) struct Unwritten {
    pub(crate) path: FilePath,
    /// The files that were written before it.
    pub(crate) written: BTreeSet<FilePath>,
    pub(crate) error: anyhow::Error,
}

impl Fixer {
    /// Reads the graph at `place` and makes every change that its findings offer, in memory.
    ///
    /// # Errors
    /// It cannot be listed.
    pub(crate) fn begin(place: &Place) -> Result<Self, LoadError> {
        let directory = Directory::new(&place.path)?;
        let root = directory.root().to_owned();
        let snapshot = Snapshot::of(directory);
        let project = Project::with_loader(snapshot.clone())?.below(root.clone());
        let compiled = project.compile();
        let mut mending = Self { place: place.clone(), root, snapshot, project, compiled, done: Vec::new() };
        let mut refused = BTreeSet::new();
        // What could not be read may be just what a name means.
        let rounds = if mending.project.problems().is_empty() { ROUNDS } else { 0 };
        for _ in 0..rounds {
            if !mending.round(&mut refused)? {
                break;
            }
        }
        Ok(mending)
    }

    /// Makes the changes that do not touch each other; whether there were any.
    fn round(&mut self, refused: &mut BTreeSet<FilePath>) -> Result<bool, LoadError> {
        let chosen = fixes::together(&self.compiled.diagnostics);
        let is_wanted = |found: &&Diagnostic| found.fix.iter().flat_map(|fix| &fix.edits).all(|edit| !refused.contains(&edit.place.path));
        let chosen: Vec<&Diagnostic> = chosen.into_iter().filter(is_wanted).collect();
        let mut edits: BTreeMap<&FilePath, Vec<&TextEdit>> = BTreeMap::new();
        for edit in chosen.iter().filter_map(|found| found.fix.as_ref()).flat_map(|fix| &fix.edits) {
            edits.entry(&edit.place.path).or_default().push(edit);
        }
        let before: BTreeMap<FilePath, Arc<Document>> =
            self.project.documents().iter().map(|document| (document.path.clone(), Arc::clone(document))).collect();
        let mut alike: BTreeMap<&str, Vec<&FilePath>> = BTreeMap::new();
        before.iter().for_each(|(path, document)| alike.entry(&document.text).or_default().push(path));
        let mut changed = BTreeSet::new();
        for (path, edits) in edits {
            // It was changed under another path: its turn comes again.
            if changed.contains(path) {
                continue;
            }
            let text = before.get(path).map(|document| &document.text);
            match text.and_then(|text| fixes::edited(text, edits).filter(|after| **after != **text)) {
                Some(after) => {
                    let alike = text.and_then(|text| alike.get(&**text)).map_or(&[][..], Vec::as_slice);
                    for path in self.paths_of(path, alike) {
                        self.snapshot.put(&path, &after);
                        changed.insert(path);
                    }
                }
                None => {
                    refused.insert(path.clone());
                }
            }
        }
        self.project.reload()?;
        for document in self.project.documents() {
            let was_read = before.get(&document.path).is_some_and(|before| !matches!(before.content, Content::Broken));
            if changed.contains(&document.path) && was_read && matches!(document.content, Content::Broken) {
                self.snapshot.put(&document.path, &before[&document.path].text);
                changed.remove(&document.path);
                refused.insert(document.path.clone());
            }
        }
        self.project.reload()?;
        let made = chosen.iter().filter(|found| found.fix.iter().flat_map(|fix| &fix.edits).all(|edit| changed.contains(&edit.place.path)));
        self.done.extend(made.filter_map(|found| {
            let (fix, place) = (found.fix.as_ref()?, found.place.as_ref()?);
            let at = LineIndex::new(&before.get(&place.path)?.text).locate(place.span.start);
            Some(AppliedFix { path: place.path.clone(), at, code: found.code, title: fix.title.clone() })
        }));
        self.compiled = self.project.compile();
        Ok(!changed.is_empty())
    }

    /// The paths under which a file stands in the graph, among those of equal text: links lead to it from the others.
    fn paths_of(&self, path: &FilePath, alike: &[&FilePath]) -> Vec<FilePath> {
        let links = alike.iter().filter(|other| ***other != *path && self.real(other) == self.real(path));
        links.map(|other| FilePath::clone(other)).chain([path.clone()]).collect()
    }

    /// Where a file really is.
    fn real(&self, path: &FilePath) -> PathBuf {
        let written = self.root.join(&**path);
        std::fs::canonicalize(&written).unwrap_or(written)
    }

    /// The files that change, each under one path, with their texts before and after.
    fn changed(&self) -> Vec<(FilePath, String, String)> {
        let mut changed = self.snapshot.changed();
        changed.sort_by_cached_key(|(path, ..)| (self.real(path), self.real(path) != self.root.join(&**path)));
        changed.dedup_by_key(|(path, ..)| self.real(path));
        changed.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        changed
    }

    /// What was done, in the order in which it was.
    pub(crate) fn done(&self) -> &[AppliedFix] {
        &self.done
    }

    /// The folder that its relative paths begin at.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Files that could not be read, and why.
    pub(crate) fn problems(&self) -> &[LoadError] {
        self.project.problems()
    }

    /// The program as it is then.
    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// What is left, ready to be shown.
    pub(crate) fn checked(&self) -> Checked {
        Checked {
            shown_below: self.place.shown_below(),
            below: self.place.below.clone(),
            documents: self.project.documents().to_vec(),
            diagnostics: self.compiled.diagnostics.clone(),
            nodes: self.compiled.nodes,
            unchecked: self.compiled.unchecked.clone(),
        }
    }

    /// What would change in the files.
    pub(crate) fn differences(&self) -> String {
        let changed = self.changed();
        changed.iter().map(|(path, before, after)| difference(&self.place.shown(path), before, after)).collect()
    }

    /// Replaces the files that changed. After one that cannot be written no other is tried, since the disk may be full.
    pub(crate) fn write(&self) -> Result<(), Unwritten> {
        let mut written = BTreeSet::new();
        for (path, before, after) in self.changed() {
            let file = self.root.join(&*path);
            if let Err(error) = replace(&file, before.as_bytes(), after.as_bytes()) {
                return Err(Unwritten { path, written, error: error.into() });
            }
            written.insert(path);
        }
        Ok(())
    }
}

/// A graph as it was when it was first read, with changes on top.
#[derive(Clone)]
struct Snapshot(Arc<Mutex<State>>);

struct State {
    directory: Directory,
    listed: Option<Vec<FilePath>>,
    read: BTreeMap<FilePath, Source>,
    changed: BTreeMap<FilePath, String>,
}

impl Snapshot {
    fn of(directory: Directory) -> Self {
        Self(Arc::new(Mutex::new(State { directory, listed: None, read: BTreeMap::new(), changed: BTreeMap::new() })))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, path: &FilePath, text: &str) {
        self.state().changed.insert(path.clone(), text.to_owned());
    }

    /// Files that are not as they were, with both texts.
    fn changed(&self) -> Vec<(FilePath, String, String)> {
        let state = self.state();
        let both = state.changed.iter().filter_map(|(path, after)| match &state.read.get(path)?.bytes {
            Bytes::Read(before) if **before != *after.as_bytes() => {
                Some((path.clone(), String::from_utf8_lossy(before).into_owned(), after.clone()))
            }
            _ => None,
        });
        both.collect()
    }
}

impl GraphLoader for Snapshot {
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
        let mut state = self.state();
        if let Some(listed) = &state.listed {
            return Ok(listed.clone());
        }
        let listed = state.directory.list_files()?;
        state.listed = Some(listed.clone());
        Ok(listed)
    }

    fn read_file(&self, path: &str) -> Result<Source, LoadError> {
        let mut state = self.state();
        if let Some(text) = state.changed.get(path) {
            return Ok(Source::text(path, text));
        }
        if let Some(source) = state.read.get(path) {
            return Ok(source.clone());
        }
        let source = state.directory.read_file(path)?;
        state.read.insert(source.path.clone(), source.clone());
        Ok(source)
    }

    fn is_file(&self) -> bool {
        self.state().directory.is_file()
    }
}
