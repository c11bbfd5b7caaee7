//! Fixing a graph: the safe changes that findings offer, made in memory.
//!
//! In: a graph on disk. Out: the files with their fixes, the fixes that were applied, and the findings that are left. It works in rounds, since
//! one change can reveal a finding that another hid.
//!
//! **Invariant:** a change that makes a file unreadable is not made, and nothing is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{Directory, Edited, GraphLoader, LoadError, Overlay, Project, project::PROJECT_FILE};
use trellis_core::{
    Code, Compiled, Diagnostic, Dialect, Document,
    diagnostic::{FilePath, TextEdit, fixes},
    span::{LineColumn, LineIndex},
    syntax::{
        document::Content,
        migrate::{self, Settings},
    },
};

/// The largest number of rounds: each makes at least one change, and changes seldom reveal findings for many rounds.
const ROUNDS: usize = 100;

/// A graph whose findings are fixed in memory.
///
/// ```
/// use std::fs;
///
/// use trellis_project::fix::Fixer;
///
/// # let folder = tempfile::tempdir()?;
/// fs::write(folder.path().join("start.md"), "---\nto: hlelo\n---\n")?;
/// fs::write(folder.path().join("hello.md"), "---\n---\nHello.\n")?;
/// let fixer = Fixer::begin(folder.path())?;
/// assert_eq!(fixer.done()[0].title, "rename to `hello`");
/// assert!(fixer.compiled().program.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fixer {
    root: PathBuf,
    overlay: Overlay,
    project: Project,
    compiled: Compiled,
    done: Vec<AppliedFix>,
}

/// One change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppliedFix {
    /// The file.
    pub path: FilePath,
    /// The place of the finding when it was fixed.
    pub at: LineColumn,
    /// The code of the finding.
    pub code: Code,
    /// The title of the fix.
    pub title: String,
}

impl Fixer {
    /// Reads the graph at `path` and makes every change that its findings offer, in memory.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn begin(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let directory = Directory::new(path)?;
        let root = directory.root().to_owned();
        let overlay = Overlay::new(directory);
        let project = Project::with_loader(overlay.clone())?.below(root.clone());
        let compiled = project.compile();
        let mut fixer = Self { root, overlay, project, compiled, done: Vec::new() };
        let mut refused = BTreeSet::new();
        // A name may refer to a file that could not be read.
        let rounds = if fixer.project.problems().is_empty() { ROUNDS } else { 0 };
        if rounds > 0 {
            fixer.name_dialect()?;
        }
        for _ in 0..rounds {
            if !fixer.round(&mut refused)? {
                break;
            }
        }
        Ok(fixer)
    }

    /// Makes a project file that names the dialect of a graph whose templates are all Go's: no finding can, since it would point into a file that is
    /// not there.
    fn name_dialect(&mut self) -> Result<(), LoadError> {
        let documents = self.project.documents();
        let is_project = |document: &Arc<Document>| document.path.rsplit('/').next() == Some(PROJECT_FILE);
        let is_go =
            documents.iter().any(|document| migrate::has_go(document)) && documents.iter().all(|document| migrate::is_all_go(document));
        if !is_go || self.overlay.is_file() || documents.iter().any(is_project) {
            return Ok(());
        }
        let path = FilePath::from(PROJECT_FILE);
        self.overlay.put(&path, Some(&Settings { templates: Some(Dialect::Go), ..Settings::default() }.file()));
        let at = LineColumn { line: 1, column: 1 };
        self.done.push(AppliedFix { path, at, code: Code::TemplateSyntax, title: "set `templates: go`".into() });
        self.project.reload()?;
        self.compiled = self.project.compile();
        Ok(())
    }

    /// Makes the changes that do not touch each other; returns whether there were any.
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
                        self.overlay.put(&path, Some(&after));
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
                self.overlay.put(&document.path, Some(&before[&document.path].text));
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

    /// The paths of a file in the graph, among those of equal text: links lead to it from the others.
    fn paths_of(&self, path: &FilePath, alike: &[&FilePath]) -> Vec<FilePath> {
        let links = alike.iter().filter(|other| ***other != *path && real(&self.root, other) == real(&self.root, path));
        links.map(|other| FilePath::clone(other)).chain([path.clone()]).collect()
    }

    /// The files that change, each under one path, sorted.
    pub fn changed(&self) -> Vec<Edited> {
        each_once(&self.root, self.overlay.edited())
    }

    /// Returns the applied fixes, in their order.
    pub fn done(&self) -> &[AppliedFix] {
        &self.done
    }

    /// The folder that its relative paths begin at.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Files that could not be read, and why.
    pub fn problems(&self) -> &[LoadError] {
        self.project.problems()
    }

    /// The program as it is then.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The files as they were parsed last.
    pub fn documents(&self) -> &[Arc<Document>] {
        self.project.documents()
    }
}

/// The files that change, each under one path: links lead to it from the others.
pub fn each_once(root: &Path, mut files: Vec<Edited>) -> Vec<Edited> {
    let real = |file: &Edited| real(root, &file.path);
    files.sort_by_cached_key(|file| (real(file), real(file) != root.join(&*file.path)));
    files.dedup_by_key(|file| real(file));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// Returns the real path of a file, links resolved.
fn real(root: &Path, path: &FilePath) -> PathBuf {
    let written = root.join(&**path);
    std::fs::canonicalize(&written).unwrap_or(written)
}
