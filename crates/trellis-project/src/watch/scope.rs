//! The folders and files that are watched for some roots, and the events that concern them.
//!
//! In: paths as they were given. Out: the folders to watch, and a verdict on each event.
//!
//! **Invariant:** a scope is exact for folders and generous for files: an event too many costs a look, a filtered event is lost.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind, RenameMode},
};

use super::symlinks::trail;
use crate::{Directory, Extent, ignored, loader};

/// True if the system watches one folder at a time, so that a tree is as many watches as it has folders that count.
pub(super) const EACH_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Returns the extent of an event at `path`.
fn extent_of(concern: Concern, path: &Path) -> Extent {
    // Systems that do not watch folders one by one merge events.
    if concern == Concern::File && EACH_FOLDER { Extent::Files(BTreeSet::from([path.to_owned()])) } else { Extent::Anything }
}

/// The folders and files that are watched.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// The roots themselves, absolute, without links.
    roots: BTreeSet<PathBuf>,
    /// Folders of which everything counts.
    folders: BTreeSet<PathBuf>,
    /// Single files, folders and links that count, wherever they are. The system reports the events of a folder under one name: the one without
    /// links.
    named: BTreeSet<PathBuf>,
    /// The folders that hold those, where not everything in them counts.
    beside: BTreeSet<PathBuf>,
}

/// The amount of work that an event asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Concern {
    /// A file changed.
    File,
    /// A folder or a link was created, removed or moved: the set of watched folders must be computed again.
    Folder,
    /// Events were lost.
    Lost,
    /// A folder that is watched is not the one that it was: nothing that is watched can be relied on.
    Replaced,
}

impl Scope {
    /// Returns the scope that must be watched for the graphs or collections at `roots`, and for single `files`.
    pub(super) fn of(roots: &[PathBuf], files: &BTreeSet<PathBuf>) -> Self {
        let mut scope = Self::default();
        for file in files {
            scope.named.extend(trail(file));
            // Of a folder, everything counts.
            scope.folders.extend(fs::canonicalize(file).ok().filter(|_| file.is_dir()));
        }
        for root in roots {
            scope.named.extend(std::path::absolute(root).iter().flat_map(|root| trail(root)));
            let Ok(real) = fs::canonicalize(root) else { continue };
            scope.rules_above(&real);
            if real.is_dir() {
                scope.tree(root, real);
            }
        }
        let parents = scope.named.iter().filter_map(|path| path.parent());
        scope.beside = parents.filter(|folder| !scope.folders.contains(*folder)).map(Path::to_owned).collect();
        scope
    }

    fn tree(&mut self, root: &Path, real: PathBuf) {
        if let Ok((folders, links)) = Directory::new(root).and_then(|directory| directory.spread()) {
            self.folders.extend(folders);
            self.named.extend(links.iter().flat_map(|link| trail(link)));
        }
        self.roots.insert(real);
    }

    /// The `.gitignore`s above a root that hold in it.
    fn rules_above(&mut self, root: &Path) {
        if let Some(top) = root.ancestors().position(|folder| folder.join(ignored::REPOSITORY).exists()) {
            self.named.extend(root.ancestors().take(top + 1).skip(1).map(|folder| folder.join(ignored::FILE_NAME)));
        }
    }

    /// The folders to watch, and whether with all that is below them.
    pub(super) fn watched(&self) -> BTreeSet<(PathBuf, bool)> {
        let trees = if EACH_FOLDER { &self.folders } else { &self.roots };
        let single = self.beside.iter().filter(|folder| !trees.contains(*folder)).map(|folder| (folder.clone(), false));
        trees.iter().map(|folder| (folder.clone(), !EACH_FOLDER)).chain(single).collect()
    }

    /// Returns the concern of an event for this scope, and the files that it is about; `None` if it has none.
    pub(super) fn concern(&self, event: &Event) -> Option<(Concern, Extent)> {
        if event.need_rescan() {
            return Some((Concern::Lost, Extent::Anything));
        }
        // Reading raises events too; a file that was written through memory raises no other than this one.
        if matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write)) {
            return None;
        }
        let concerns = event.paths.iter().filter_map(|path| Some((self.concern_at(path, event.kind)?, path)));
        concerns
            .map(|(concern, path)| (concern, extent_of(concern, path)))
            .reduce(|(one, so_far), (other, more)| (one.max(other), so_far.and(more)))
    }

    fn concern_at(&self, path: &Path, kind: EventKind) -> Option<Concern> {
        let moves = matches!(kind, EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        if self.folders.contains(path) || self.roots.contains(path) {
            return Some(if moves { Concern::Replaced } else { Concern::Folder });
        }
        if self.named.contains(path) {
            return Some(Concern::Folder);
        }
        let parent = path.parent()?;
        if self.beside.contains(path) {
            return moves.then_some(Concern::Replaced);
        }
        if !self.folders.contains(parent) && (EACH_FOLDER || !self.is_below_root(parent)) {
            return None;
        }
        concern_of(path, kind)
    }

    /// Returns whether no folder from a root down to this one is hidden.
    fn is_below_root(&self, folder: &Path) -> bool {
        let below = |root: &PathBuf| {
            folder.strip_prefix(root).is_ok_and(|rest| rest.iter().all(|name| !loader::is_hidden(&name.to_string_lossy())))
        };
        self.roots.iter().any(below)
    }
}

/// Returns the concern of an entry of a watched folder for a graph. Auxiliary files that editors create beside a saved file have none.
fn concern_of(path: &Path, kind: EventKind) -> Option<Concern> {
    let name = path.file_name()?.to_string_lossy();
    // The rules of folders above a repository do not apply inside it.
    if name == ignored::FILE_NAME || name == ignored::REPOSITORY {
        return Some(Concern::Folder);
    }
    let is_hidden = loader::is_hidden(&name) || name.ends_with('~');
    let is_known = loader::is_graph_file(&name) && !is_hidden;
    match fs::symlink_metadata(path) {
        // Other paths may lead through a hidden link.
        Ok(about) if about.is_symlink() => Some(Concern::Folder),
        Ok(about) if about.is_dir() => (!is_hidden).then_some(Concern::Folder),
        Ok(_) => is_known.then_some(Concern::File),
        Err(_) if is_known => Some(Concern::File),
        Err(_) if is_hidden => None,
        Err(_) => match kind {
            EventKind::Create(CreateKind::File) | EventKind::Remove(RemoveKind::File) | EventKind::Access(_) => None,
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => None,
            // A folder that counted was known, or is about to be: its creation was reported before, its new place is reported next.
            EventKind::Modify(ModifyKind::Name(RenameMode::From | RenameMode::Both)) if EACH_FOLDER => None,
            _ => Some(Concern::Folder),
        },
    }
}
