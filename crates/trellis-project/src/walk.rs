//! Listing the files below a root.
//!
//! Entries come with their kind, so that no file is looked at twice; only links cost more. Folders wait on a stack of our own.
//!
//! **Invariant:** a walk ends: a link into a folder that the walk is in is not followed, and the number of entries is bounded.

use std::{
    ffi::OsStr,
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_core::diagnostic::FilePath;

use crate::{
    LoadError,
    ignored::{self, Ignored},
    loader::{is_graph_file, is_hidden},
    root::Root,
};

/// Files and folders that one graph may have.
const ENTRY_LIMIT: usize = 1_000_000;

/// A folder to list.
struct Folder {
    /// Its path below the root; empty for the root.
    path: String,
    depth: usize,
    real: Arc<Real>,
    ignored: Option<Arc<Ignored>>,
}

/// Where a folder really is, and the folders that the walk came through.
struct Real {
    path: PathBuf,
    parent: Option<Arc<Real>>,
}

impl Real {
    /// Whether following a link to `target` would lead the walk into a folder that it is in.
    fn is_inside(&self, target: &Path) -> bool {
        std::iter::successors(Some(self), |real| real.parent.as_deref()).any(|real| real.path.starts_with(target))
    }
}

/// What a walk met.
pub(crate) struct Listing {
    /// The files that may belong to the graph, sorted.
    pub(crate) files: Vec<FilePath>,
    /// The folders that were looked into: absolute, without links; the root is one.
    pub(crate) folders: Vec<PathBuf>,
    /// The links that lead, or may come to lead, to files of the graph; as they stand in the folders that hold them.
    pub(crate) links: Vec<PathBuf>,
}

/// Lists the files below `root` that may belong to a graph, in folders up to `depth` levels down.
pub(crate) fn walk(root: &Root, depth: usize) -> Result<Listing, LoadError> {
    let real = Arc::new(Real { path: root.real().to_owned(), parent: None });
    let mut walk =
        Walk { root, depth, entries: 0, found: Listing { files: Vec::new(), folders: Vec::new(), links: Vec::new() }, folders: Vec::new() };
    walk.folders.push(Folder { path: String::new(), depth: 0, real, ignored: Ignored::above(root.real())? });
    while let Some(folder) = walk.folders.pop() {
        walk.found.folders.push(folder.real.path.clone());
        match walk.list(&folder) {
            Ok(()) => {}
            Err(Stop::Graph(error)) => return Err(error),
            Err(Stop::Folder(cause)) if folder.path.is_empty() && cause.kind() == io::ErrorKind::NotFound => {
                return Err(LoadError::NotFound { path: root.shown("") });
            }
            Err(Stop::Folder(cause)) if folder.path.is_empty() => return Err(LoadError::Unreadable { path: root.shown(""), cause }),
            // A folder that vanished is as if it had never been listed; one that cannot be read is listed, so that reading it says why.
            Err(Stop::Folder(cause)) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(Stop::Folder(_)) => walk.found.files.push(folder.path.into()),
        }
    }
    walk.found.files.sort_unstable();
    walk.found.files.dedup();
    Ok(walk.found)
}

struct Walk<'r> {
    root: &'r Root,
    depth: usize,
    entries: usize,
    found: Listing,
    /// Those that are still to be looked into.
    folders: Vec<Folder>,
}

/// Why a folder was not listed to its end.
enum Stop {
    /// Because of the folder.
    Folder(io::Error),
    /// Because of the whole graph.
    Graph(LoadError),
}

impl Walk<'_> {
    fn list(&mut self, folder: &Folder) -> Result<(), Stop> {
        let mut entries = Vec::new();
        let mut has_rules = false;
        for entry in fs::read_dir(&folder.real.path).map_err(Stop::Folder)? {
            let entry = entry.map_err(Stop::Folder)?;
            let name = entry.file_name();
            self.entries += 1;
            if self.entries > ENTRY_LIMIT {
                return Err(Stop::Graph(LoadError::TooMany { path: self.root.shown(""), limit: ENTRY_LIMIT }));
            }
            has_rules |= name == ignored::FILE_NAME;
            entries.push((name, entry));
        }
        let mut ignored = folder.ignored.clone();
        if has_rules {
            ignored = Ignored::read(&self.root.real().join(&folder.path), ignored).map_err(Stop::Graph)?;
        }
        for (name, entry) in entries {
            self.take(folder, ignored.as_ref(), &name, &entry);
        }
        Ok(())
    }

    fn take(&mut self, folder: &Folder, ignored: Option<&Arc<Ignored>>, raw: &OsStr, entry: &DirEntry) {
        let name = raw.to_string_lossy();
        let kind = if is_hidden(&name) { Kind::Other } else { self.kind(folder, entry, &name) };
        let (wanted, is_folder) = match &kind {
            Kind::File => (is_graph_file(&name), false),
            Kind::Folder(_) => (true, true),
            Kind::Refused => (true, false),
            Kind::Other => (false, false),
        };
        if !wanted || ignored.is_some_and(|ignored| ignored.matches(&self.as_seen(folder, raw), is_folder)) {
            return;
        }
        let path = [&*folder.path, if folder.path.is_empty() { "" } else { "/" }, &*name].concat();
        match kind {
            Kind::Folder(target) if raw.to_str().is_some() => {
                if folder.depth < self.depth {
                    let real = target.unwrap_or_else(|| folder.real.path.join(raw));
                    let real = Arc::new(Real { path: real, parent: Some(Arc::clone(&folder.real)) });
                    self.folders.push(Folder { path, depth: folder.depth + 1, real, ignored: ignored.cloned() });
                }
            }
            _ => self.found.files.push(path.into()),
        }
    }

    fn kind(&mut self, folder: &Folder, entry: &DirEntry, name: &str) -> Kind {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => Kind::Folder(None),
            Ok(kind) if kind.is_file() => Kind::File,
            Ok(kind) if kind.is_symlink() => self.follow(folder, entry.path(), name),
            _ => Kind::Other,
        }
    }

    /// What a link stands for.
    fn follow(&mut self, folder: &Folder, link: PathBuf, name: &str) -> Kind {
        let target = fs::canonicalize(&link);
        let is_outside = target.as_ref().is_ok_and(|target| !target.starts_with(self.root.real()));
        // What is none of the graph's may become so when something else stands where it leads.
        if !is_outside || is_graph_file(name) {
            self.found.links.push(link);
        }
        let Ok(target) = target else {
            return if is_graph_file(name) { Kind::Refused } else { Kind::Other };
        };
        let is_folder = target.is_dir();
        if is_outside {
            return if is_folder || is_graph_file(name) { Kind::Refused } else { Kind::Other };
        }
        match is_folder {
            true if folder.real.is_inside(&target) => Kind::Other,
            true => Kind::Folder(Some(target)),
            false if target.is_file() => Kind::File,
            false => Kind::Other,
        }
    }

    /// The path that rules are matched against: as the author sees it, links included.
    fn as_seen(&self, folder: &Folder, name: &OsStr) -> PathBuf {
        let mut path = self.root.real().join(&folder.path);
        path.push(name);
        path
    }
}

/// What an entry is to a graph.
enum Kind {
    File,
    /// With its real place, where a link leads there.
    Folder(Option<PathBuf>),
    /// Listed, so that reading it says why it is not read.
    Refused,
    /// Nothing: pipes, sockets, devices, links that close a loop.
    Other,
}
