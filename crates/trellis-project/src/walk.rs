//! Listing the files below a root.
//!
//! Entries come with their kind, so that no file is examined twice; only links cost more. Folders of one depth are listed at the same time.
//!
//! **Invariant:** a walk ends: a link into a folder that the walk is in is not followed, and the number of entries is bounded.

use std::{
    ffi::OsStr,
    fs::{self, FileType},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use trellis_core::diagnostic::FilePath;

use crate::{
    LoadError,
    ignored::{self, Ignored},
    loader::{is_graph_file, is_hidden},
    root::Root,
    threads::on_threads,
};

/// Files and folders that one graph may have.
pub(crate) const ENTRY_LIMIT: usize = 1_000_000;

/// Folders that a thread takes at once.
const FOLDERS: usize = 4;

/// A folder to list.
struct Folder {
    /// Its path below the root; empty for the root.
    path: String,
    depth: usize,
    real: Arc<Real>,
    ignored: Option<Arc<Ignored>>,
}

/// The real place of a folder, and the folders that the walk came through.
struct Real {
    path: PathBuf,
    parent: Option<Arc<Real>>,
}

impl Real {
    /// Returns whether following a link to `target` would lead the walk into a folder that it is in.
    fn is_inside(&self, target: &Path) -> bool {
        std::iter::successors(Some(self), |real| real.parent.as_deref()).any(|real| real.path.starts_with(target))
    }
}

/// The entries that a walk met.
#[derive(Default)]
pub(crate) struct Listing {
    /// The files that may belong to the graph, sorted.
    pub(crate) files: Vec<FilePath>,
    /// The folders that were looked into: absolute, without links; the root is one.
    pub(crate) folders: Vec<PathBuf>,
    /// The links that lead, or may later lead, to files of the graph, by their paths in their folders.
    pub(crate) links: Vec<PathBuf>,
}

/// Lists the files below `root` that may belong to a graph, in folders up to `depth` levels down; `limit` files and folders at most.
pub(crate) fn walk(root: &Root, depth: usize, limit: usize) -> Result<Listing, LoadError> {
    let walk = Walk { root, depth, limit, entries: AtomicUsize::new(0) };
    let real = Arc::new(Real { path: root.real().to_owned(), parent: None });
    let mut found = Listing::default();
    let mut level = vec![Folder { path: String::new(), depth: 0, real, ignored: Ignored::above(root.real())? }];
    while !level.is_empty() {
        let listed = on_threads(&level, FOLDERS, |folder| walk.list(folder));
        let mut below = Vec::new();
        for (folder, listed) in level.into_iter().zip(listed) {
            found.folders.push(folder.real.path.clone());
            match listed {
                Ok(entries) => {
                    found.files.extend(entries.files);
                    found.links.extend(entries.links);
                    below.extend(entries.folders);
                }
                Err(Stop::Graph(error)) => return Err(error),
                Err(Stop::Folder(cause)) if folder.path.is_empty() && cause.kind() == io::ErrorKind::NotFound => {
                    return Err(LoadError::NotFound { path: root.shown("") });
                }
                Err(Stop::Folder(cause)) if folder.path.is_empty() => return Err(LoadError::Unreadable { path: root.shown(""), cause }),
                // A vanished folder is treated as if it had never been listed; one that cannot be read is listed, so that reading it
                // returns the reason.
                Err(Stop::Folder(cause)) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(Stop::Folder(_)) => found.files.push(folder.path.into()),
            }
        }
        level = below;
    }
    // Folder by folder they are sorted already, so this mostly puts folders in their places.
    found.files.sort();
    found.files.dedup();
    Ok(found)
}

struct Walk<'r> {
    root: &'r Root,
    depth: usize,
    limit: usize,
    /// The number of entries that were met so far.
    entries: AtomicUsize,
}

/// The entries of one folder.
#[derive(Default)]
struct Entries {
    files: Vec<FilePath>,
    links: Vec<PathBuf>,
    /// Those that are still to be looked into.
    folders: Vec<Folder>,
}

/// The reason why a folder was not listed to its end.
enum Stop {
    /// Because of the folder.
    Folder(io::Error),
    /// Because of the whole graph.
    Graph(LoadError),
}

impl Walk<'_> {
    fn list(&self, folder: &Folder) -> Result<Entries, Stop> {
        let mut named = Vec::new();
        for entry in fs::read_dir(&folder.real.path).map_err(Stop::Folder)? {
            let entry = entry.map_err(Stop::Folder)?;
            if self.entries.fetch_add(1, Ordering::Relaxed) >= self.limit {
                return Err(Stop::Graph(LoadError::TooMany { path: self.root.shown(""), limit: self.limit }));
            }
            named.push((entry.file_name(), entry.file_type().ok()));
        }
        named.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let mut ignored = folder.ignored.clone();
        if named.iter().any(|(name, _)| name == ignored::FILE_NAME) {
            ignored = Ignored::read(&self.root.real().join(&folder.path), ignored).map_err(Stop::Graph)?;
        }
        let mut entries = Entries::default();
        for (name, kind) in named {
            self.take(folder, ignored.as_ref(), &name, kind, &mut entries);
        }
        Ok(entries)
    }

    fn take(&self, folder: &Folder, ignored: Option<&Arc<Ignored>>, raw: &OsStr, kind: Option<FileType>, entries: &mut Entries) {
        let name = raw.to_string_lossy();
        let kind = match kind {
            Some(kind) if !is_hidden(&name) => self.kind(folder, kind, raw, &name, &mut entries.links),
            _ => Kind::Other,
        };
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
                    entries.folders.push(Folder { path, depth: folder.depth + 1, real, ignored: ignored.cloned() });
                }
            }
            _ => entries.files.push(path.into()),
        }
    }

    fn kind(&self, folder: &Folder, kind: FileType, raw: &OsStr, name: &str, links: &mut Vec<PathBuf>) -> Kind {
        match kind {
            kind if kind.is_dir() => Kind::Folder(None),
            kind if kind.is_file() => Kind::File,
            kind if kind.is_symlink() => self.follow(folder, folder.real.path.join(raw), name, links),
            _ => Kind::Other,
        }
    }

    /// Follows a link to its target.
    fn follow(&self, folder: &Folder, link: PathBuf, name: &str, links: &mut Vec<PathBuf>) -> Kind {
        let target = fs::canonicalize(&link);
        let is_outside = target.as_ref().is_ok_and(|target| !target.starts_with(self.root.real()));
        // A link to something else may lead to a file of the graph when its target is replaced.
        if !is_outside || is_graph_file(name) {
            links.push(link);
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

/// The kinds of entries for a graph.
enum Kind {
    File,
    /// With its real place, where a link leads there.
    Folder(Option<PathBuf>),
    /// Listed, so that reading it returns the reason of the refusal.
    Refused,
    /// Neither: pipes, sockets, devices, links that form a loop.
    Other,
}
