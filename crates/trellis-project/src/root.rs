//! The root folder of a graph, and reading files below it.
//!
//! **Invariant:** no file outside the root becomes a source, also through links on its path; only regular files are read.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};
#[cfg(target_os = "linux")]
use std::{os::fd::OwnedFd, sync::RwLock};

use trellis_core::syntax::document::Bytes;

use crate::{
    LoadError,
    loader::{is_below_root, is_graph_file},
};

/// A root folder.
#[derive(Debug)]
pub(crate) struct Root {
    /// The path as given, for errors.
    given: PathBuf,
    /// Absolute, without links.
    real: PathBuf,
    #[cfg(target_os = "linux")]
    handle: RwLock<Option<Arc<OwnedFd>>>,
}

impl Root {
    pub(crate) fn new(given: PathBuf, real: PathBuf) -> Self {
        Self {
            given,
            real,
            #[cfg(target_os = "linux")]
            handle: RwLock::new(None),
        }
    }

    /// Absolute, without links.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// Returns a path below the root as errors call it.
    pub(crate) fn shown(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.given.clone() } else { self.given.join(path) }
    }

    /// Reads a file of the graph.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Result<Bytes, LoadError> {
        if !is_below_root(path) || path.contains('\0') {
            return Err(LoadError::NotFound { path: self.shown(path) });
        }
        // The fast path opens only files below the root; the slow one decides about the files that it rejects.
        let unreadable = |cause| LoadError::Unreadable { path: self.shown(path), cause };
        if is_graph_file(path)
            && let Some(file) = self.open_below(path)
            && let Some(bytes) = read_file(file, limit).map_err(unreadable)?
        {
            return Ok(bytes);
        }
        self.read_closely(path, limit)
    }

    /// Opens a file whose path holds no link that leaves the root. Links that are absolute are refused here too.
    #[cfg(target_os = "linux")]
    fn open_below(&self, path: &str) -> Option<File> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        // A statement of its own, so that the lock is free when the root is opened again.
        let handle = self.handle.read().ok()?.clone();
        let handle = handle.or_else(|| self.reopen())?;
        // Without `NONBLOCK` opening a pipe that took the place of a file would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        openat2(&*handle, path, flags, Mode::empty(), ResolveFlags::BENEATH).ok().map(File::from)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_below(&self, _: &str) -> Option<File> {
        None
    }

    /// Opens the root again: since the last listing another folder may have taken its name.
    #[cfg(target_os = "linux")]
    pub(crate) fn reopen(&self) -> Option<Arc<OwnedFd>> {
        use rustix::fs::{CWD, Mode, OFlags, openat};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, &self.real, flags, Mode::empty()).ok().map(Arc::new);
        self.handle.write().ok()?.clone_from(&handle);
        handle
    }

    /// Reads a file after following all links step by step, and returns the reason if it fails.
    fn read_closely(&self, path: &str, limit: u64) -> Result<Bytes, LoadError> {
        let target = self.follow(path)?;
        if target.starts_with(&self.real) {
            self.read_target(path, &target, limit)
        } else {
            Err(LoadError::Outside { path: self.shown(path), target })
        }
    }

    /// Reads the one file of a graph, which its author named: wherever it leads.
    pub(crate) fn read_named(&self, path: &str, limit: u64) -> Result<Bytes, LoadError> {
        let target = self.follow(path)?;
        self.read_target(path, &target, limit)
    }

    /// Returns the target of a path.
    fn follow(&self, path: &str) -> Result<PathBuf, LoadError> {
        let full = self.real.join(path);
        fs::canonicalize(&full).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => self.explain_absence(path, &full),
            _ => LoadError::Unreadable { path: self.shown(path), cause: error },
        })
    }

    fn read_target(&self, path: &str, target: &Path, limit: u64) -> Result<Bytes, LoadError> {
        let unreadable = |cause| LoadError::Unreadable { path: self.shown(path), cause };
        let not_a_file = || LoadError::NotAFile { path: self.shown(path) };
        let kind = fs::metadata(target).map_err(unreadable)?;
        if kind.is_dir() {
            // A folder is only ever asked for because the listing could not look into it.
            return Err(fs::read_dir(target).map_or_else(unreadable, |_| not_a_file()));
        }
        if !is_graph_file(path) {
            return Err(LoadError::NotFound { path: self.shown(path) });
        }
        if !kind.is_file() {
            return Err(not_a_file());
        }
        let file = File::open(target).map_err(unreadable)?;
        read_file(file, limit).map_err(unreadable)?.ok_or_else(not_a_file)
    }

    /// Returns the reason why there is no file at `path`.
    fn explain_absence(&self, path: &str, full: &Path) -> LoadError {
        let shown = self.shown(path);
        match fs::read_link(full) {
            Ok(target) => LoadError::Dangling { path: shown, target },
            // The listing replaces bytes of a name that are no text by this character.
            Err(_) if path.contains(char::REPLACEMENT_CHARACTER) => LoadError::NotUtf8 { path: shown },
            Err(_) => LoadError::NotFound { path: shown },
        }
    }
}

/// Bytes of the first read of a file of unknown size.
#[cfg(unix)]
const SMALL: usize = 4096;

/// Reads an open file to its end, unless it is larger than `limit`; `None` if it is no regular file.
pub(crate) fn read_file(mut file: File, limit: u64) -> io::Result<Option<Bytes>> {
    if let Some(bytes) = read_small(&file, limit) {
        return Ok(Some(bytes));
    }
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(None);
    }
    let size = about.len();
    if size > limit {
        return Ok(Some(Bytes::TooLarge { size, limit }));
    }
    // One byte more than expected: a read that leaves it free has met the end, and no second read is needed to learn so.
    let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)? + 1];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if filled as u64 == size {
            break;
        }
        if filled as u64 > limit {
            return Ok(Some(Bytes::TooLarge { size: filled as u64, limit }));
        }
        if filled == bytes.len() {
            bytes.resize(bytes.len() * 2, 0);
        }
    }
    Ok(Some(Bytes::Read(Arc::from(&bytes[..filled]))))
}

/// Reads a small file with one call, as most nodes are: a read that leaves room has met the end. Only regular files can be read at an offset,
/// which excludes pipes, sockets and folders; an empty result may come from something that is no file.
#[cfg(unix)]
fn read_small(file: &File, limit: u64) -> Option<Bytes> {
    let mut small = [0; SMALL];
    let filled = std::os::unix::fs::FileExt::read_at(file, &mut small, 0).ok()?;
    ((1..SMALL).contains(&filled) && filled as u64 <= limit).then(|| Bytes::Read(Arc::from(&small[..filled])))
}

#[cfg(not(unix))]
fn read_small(_: &File, _: u64) -> Option<Bytes> {
    None
}
