//! A graph that is edited while it is used (language C.2).
//!
//! [`Live`] looks for changes on request, usually after a watch (feature `watching`) reported some. It parses the changed files again, compiles,
//! and returns the result. A sound program replaces the last one; an unsound one leaves it in place.
//!
//! **Invariant:** the program is always one that compiled as a whole; a file with the same bytes is no edit.

mod file_stamp;
mod read_cache;
mod scripts;
#[cfg(feature = "watching")]
mod waiting;

use std::{
    cmp::Ordering,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use trellis_core::{Compiled, Diagnostic, Document, Program, compile::Compiler, diagnostic::FilePath, syntax::document::Content};

#[cfg(feature = "watching")]
pub use self::waiting::Waited;
use self::{read_cache::Remembered, scripts::Scripts};
use crate::{Extent, LoadError, Project};

/// The grace period, beyond that of the watch, for a writer that has emptied or removed a file, before this counts as the edit itself.
const PATIENCE: Duration = Duration::from_millis(100);

/// One graph, through its edits.
///
/// ```
/// use std::fs;
///
/// use trellis_project::Live;
///
/// # let folder = tempfile::tempdir()?;
/// # let start = folder.path().join("start.md");
/// fs::write(&start, "---\n---\nHello.\n")?;
/// let mut live = Live::open(folder.path())?;
/// assert!(live.program().is_some() && live.look().is_none());
///
/// fs::write(&start, "---\nto: nowhere\n---\nHello.\n")?;
/// let edit = live.look().ok_or("there is an edit")?;
/// assert_eq!(edit.changed.len(), 1);
/// // The last sound program stays in use.
/// assert!(live.version().program.is_none() && live.program().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Live {
    path: PathBuf,
    loader: Remembered,
    project: Project,
    compiler: Compiler,
    scripts: Scripts,
    version: Arc<Version>,
    good: Option<Good>,
    gone: Option<String>,
}

/// The graph at one moment.
#[derive(Debug)]
#[non_exhaustive]
pub struct Version {
    /// The time at which it was loaded.
    pub at: SystemTime,
    /// The program, if it is sound.
    pub program: Option<Arc<Program>>,
    /// Everything that was found, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of nodes.
    pub nodes: usize,
    /// The unchecked reads.
    pub unchecked: Vec<trellis_core::compile::UncheckedRead>,
    /// Every file, parsed, sorted by path.
    pub documents: Vec<Arc<Document>>,
    /// Files and folders that could not be read, and why; while there are any, there is no program.
    pub problems: Vec<String>,
}

/// The last sound version.
#[derive(Clone, Debug)]
struct Good {
    program: Arc<Program>,
    at: SystemTime,
}

/// The outcome of saving files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Edit {
    /// The files of the graph that were added, changed or removed, sorted.
    pub changed: Vec<FilePath>,
    /// Changed scripts and other files that calls run: absolute, sorted. The program is the same; the effect of a call is not.
    pub scripts: Vec<PathBuf>,
    /// The graph as it is now; where it is gone, as it was.
    pub version: Arc<Version>,
    /// The status: whether it can be run.
    pub status: Status,
}

/// The status of a graph that was edited: whether it can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is sound.
    Sound {
        /// True if it was not before.
        healed: bool,
    },
    /// It is not.
    Broken {
        /// The time at which the last sound version was loaded, if there was one: its program stays in use.
        since: Option<SystemTime>,
    },
    /// There is nothing at its path, or it cannot be listed. It is looked for until it is back.
    Gone {
        /// The reason, in one line.
        error: String,
        /// As of a broken one.
        since: Option<SystemTime>,
    },
}

impl Live {
    /// Loads and compiles the graph at `path`. Create the watch first, so that it sees a save in between.
    ///
    /// # Errors
    /// As [`Project::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref().to_owned();
        let loader = Remembered::new(&path)?;
        let project = Project::with_loader(loader.clone())?;
        let mut compiler = Compiler::default();
        let version = Arc::new(Version::of(&project, &mut compiler));
        let mut live = Self { path, loader, project, compiler, scripts: Scripts::default(), good: version.good(), version, gone: None };
        live.loader.share(live.project.documents());
        live.scripts.look(live.project.documents(), &live.loader.root());
        Ok(live)
    }

    /// The folder that the graph's paths are below: absolute, without links.
    pub fn root(&self) -> PathBuf {
        self.loader.root()
    }

    /// Returns the graph as of the last look.
    pub fn version(&self) -> &Arc<Version> {
        &self.version
    }

    /// The last program that was sound, if there was one.
    pub fn program(&self) -> Option<&Arc<Program>> {
        self.good.as_ref().map(|good| &good.program)
    }

    /// Files outside the graph whose edits are noticed: the scripts that its bindings run. `Watch::also` adds them to a watch.
    pub fn scripts(&self) -> impl Iterator<Item = &Path> {
        self.scripts.files()
    }

    /// Looks for changes; `None` if there are none.
    ///
    /// A writer that has emptied or removed a file, and so broken the graph, is given a moment to finish.
    pub fn look(&mut self) -> Option<Edit> {
        self.look_at(&Extent::Anything)
    }

    /// Looks for changes as [`Live::look`] does, but only in an [`Extent`]. The extents of all wakes before this one must have been looked at.
    pub fn look_at(&mut self, extent: &Extent) -> Option<Edit> {
        let (before, was_sound, was_gone) = (Arc::clone(&self.version), self.is_sound(), self.gone.clone());
        self.load(extent);
        if was_sound && !self.is_sound() && self.may_be_half_done(&before) {
            thread::sleep(PATIENCE);
            self.load(extent);
        }
        let changed = differences(&before.documents, &self.version.documents);
        let scripts = if self.gone.is_some() { Vec::new() } else { self.scripts.look(self.project.documents(), &self.loader.root()) };
        let is_same = changed.is_empty() && scripts.is_empty() && before.problems == self.version.problems && was_gone == self.gone;
        (!is_same).then(|| Edit { changed, scripts, version: Arc::clone(&self.version), status: self.status(was_sound) })
    }

    fn is_sound(&self) -> bool {
        self.gone.is_none() && self.version.program.is_some()
    }

    fn status(&self, before: bool) -> Status {
        let since = self.good.as_ref().map(|good| good.at);
        match &self.gone {
            Some(error) => Status::Gone { error: error.clone(), since },
            None if self.is_sound() => Status::Sound { healed: !before },
            None => Status::Broken { since },
        }
    }

    /// Loads the graph again, and compiles it where the result may differ.
    fn load(&mut self, extent: &Extent) {
        if let Extent::Files(files) = extent
            && self.gone.is_none()
            && let Some(changed) = self.loader.paths_of(files).and_then(|paths| self.project.reload_only(&paths))
        {
            if !changed.is_empty() {
                let documents: Vec<_> = changed.iter().filter_map(|path| find(self.project.documents(), path)).cloned().collect();
                self.loader.share_some(&documents);
                self.compile();
            }
            return;
        }
        self.load_anew();
    }

    /// Looks for files, and at all of them.
    fn load_anew(&mut self) {
        let loaded = self.loader.renew(&self.path).and_then(|()| self.project.reload());
        let is_same = match loaded {
            Ok(changed) => changed.is_empty() && problems(&self.project) == self.version.problems,
            Err(error) => return self.gone = Some(error.to_string()),
        };
        self.gone = None;
        if !is_same {
            self.loader.share(self.project.documents());
            self.compile();
        }
    }

    fn compile(&mut self) {
        self.version = Arc::new(Version::of(&self.project, &mut self.compiler));
        self.good = self.version.good().or(self.good.take());
    }

    /// Returns whether the graph may be broken because a save is unfinished: an earlier file is gone, or is empty now.
    fn may_be_half_done(&self, before: &Version) -> bool {
        let is_half = |document: &Arc<Document>| find(&self.version.documents, &document.path).is_none_or(|now| now.text.is_empty());
        self.gone.is_some() || before.documents.iter().filter(|document| !document.text.is_empty()).any(is_half)
    }
}

fn find<'d>(documents: &'d [Arc<Document>], path: &FilePath) -> Option<&'d Arc<Document>> {
    documents.binary_search_by(|document| document.path.cmp(path)).ok().map(|at| &documents[at])
}

/// The files that are not in both, or are not the same there, sorted: a merge of two sorted lists.
fn differences(before: &[Arc<Document>], now: &[Arc<Document>]) -> Vec<FilePath> {
    let mut changed = Vec::new();
    let (mut before, mut now) = (before.iter().peekable(), now.iter().peekable());
    loop {
        let order = match (before.peek(), now.peek()) {
            (None, None) => return changed,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) if Arc::ptr_eq(one, other) => Ordering::Equal,
            (Some(one), Some(other)) => one.path.cmp(&other.path),
        };
        let gone = before.next_if(|_| order.is_le());
        let new = now.next_if(|_| order.is_ge());
        let is_other = match (gone, new) {
            (Some(one), Some(other)) => !Arc::ptr_eq(one, other) && !is_same(one, other),
            _ => true,
        };
        changed.extend(new.or(gone).filter(|_| is_other).map(|document| FilePath::clone(&document.path)));
    }
}

/// Returns whether two documents of one path were parsed from the same bytes. A file that is no text never counts as the same.
fn is_same(one: &Document, other: &Document) -> bool {
    let is_text = |document: &Document| !matches!(document.content, Content::Broken) || !document.text.is_empty();
    one.text == other.text && is_text(one) && is_text(other)
}

/// Files and folders that cannot be read, and why.
fn problems(project: &Project) -> Vec<String> {
    project.problems().iter().map(ToString::to_string).collect()
}

impl Version {
    fn of(project: &Project, compiler: &mut Compiler) -> Self {
        let Compiled { program, diagnostics, nodes, unchecked, .. } = project.recompile(compiler);
        let documents = project.documents().to_vec();
        Self { at: SystemTime::now(), program, diagnostics, nodes, unchecked, documents, problems: problems(project) }
    }

    fn good(&self) -> Option<Good> {
        self.program.clone().map(|program| Good { program, at: self.at })
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("path", &self.path).field("project", &self.project).finish_non_exhaustive()
    }
}
