//! A folder whose files are read again only when they may have changed.
//!
//! A watched graph is loaded at many saves. Reading thousands of files each time would cost more than the save may take, and would raise as many
//! events as a watcher can queue.
//!
//! **Invariant:** each text equals that of a fresh read: a file whose stamp is not settled is read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use trellis_core::{Document, Source, diagnostic::FilePath, syntax::document::Bytes};

use super::file_stamp::Stamp;
use crate::{Directory, GraphLoader, LoadError};

/// A loader over a path that may lead to another folder later.
#[derive(Clone)]
pub(super) struct Remembered(Arc<Mutex<Inner>>);

struct Inner {
    directory: Arc<Directory>,
    /// True if each file of the last listing is at the path that names it, and has no other path.
    is_plain: bool,
    files: BTreeMap<FilePath, (Stamp, Arc<[u8]>)>,
}

impl Remembered {
    pub(super) fn new(path: &Path) -> Result<Self, LoadError> {
        Ok(Self(Arc::new(Mutex::new(Inner { directory: Arc::new(Directory::new(path)?), is_plain: false, files: BTreeMap::new() }))))
    }

    /// Opens `path` again, since its target may have been replaced.
    pub(super) fn renew(&self, path: &Path) -> Result<(), LoadError> {
        let directory = Arc::new(Directory::new(path)?);
        self.with(|inner| inner.directory = directory);
        Ok(())
    }

    /// The folder that the graph's paths are below.
    pub(super) fn root(&self) -> PathBuf {
        self.with(|inner| inner.directory.root().to_owned())
    }

    /// The paths of these files in the graph, without files elsewhere. `None` if files of the graph have other paths too.
    pub(super) fn paths_of(&self, files: &BTreeSet<PathBuf>) -> Option<Vec<FilePath>> {
        let (root, is_plain) = self.with(|inner| (inner.directory.root().to_owned(), inner.is_plain));
        let below = files.iter().filter_map(|file| file.strip_prefix(&root).ok());
        below.map(|path| path.to_str().map(FilePath::from)).collect::<Option<_>>().filter(|_| is_plain)
    }

    /// Shares the texts of these documents, as [`Remembered::share`] does for all.
    pub(super) fn share_some(&self, documents: &[Arc<Document>]) {
        self.with(|inner| {
            for document in documents {
                if let Some((_, bytes)) = inner.files.get_mut(&document.path) {
                    *bytes = shared(document, bytes);
                }
            }
        });
    }

    /// Drops removed files, and shares the text of each other file with its document.
    pub(super) fn share(&self, documents: &[Arc<Document>]) {
        self.with(|inner| {
            let mut files = BTreeMap::new();
            for document in documents {
                if let Some((stamp, bytes)) = inner.files.remove(&document.path) {
                    files.insert(FilePath::clone(&document.path), (stamp, shared(document, &bytes)));
                }
            }
            inner.files = files;
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The bytes of a file, as its document has them if they are its text.
fn shared(document: &Document, bytes: &Arc<[u8]>) -> Arc<[u8]> {
    let is_text = **bytes == *document.text.as_bytes();
    if is_text { Arc::from(Arc::clone(&document.text)) } else { Arc::clone(bytes) }
}

impl GraphLoader for Remembered {
    fn list_files(&self) -> Result<Vec<FilePath>, LoadError> {
        let (files, is_plain) = self.with(|inner| Arc::clone(&inner.directory)).list_and_tell_links()?;
        self.with(|inner| inner.is_plain = is_plain);
        Ok(files)
    }

    fn read_file(&self, path: &str) -> Result<Source, LoadError> {
        let (directory, known) = self.with(|inner| (Arc::clone(&inner.directory), inner.files.get(path).cloned()));
        // Before reading: a file that changes in between then differs from its stamp the next time.
        let stamp = Stamp::of(&directory.root().join(path)).ok();
        if let (Some(stamp), Some((known, bytes))) = (&stamp, known)
            && *stamp == known
        {
            return Ok(Source { path: path.into(), bytes: Bytes::Read(bytes) });
        }
        let source = directory.read_file(path)?;
        let trusted = stamp.filter(|stamp| stamp.is_settled(SystemTime::now()));
        self.with(|inner| match (trusted, &source.bytes) {
            (Some(stamp), Bytes::Read(bytes)) => inner.files.insert(path.into(), (stamp, Arc::clone(bytes))),
            _ => inner.files.remove(path),
        });
        Ok(source)
    }

    fn is_file(&self) -> bool {
        self.with(|inner| inner.directory.is_file())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    fn text(loader: &Remembered, path: &str) -> String {
        match loader.read_file(path).unwrap().bytes {
            Bytes::Read(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            large @ Bytes::TooLarge { .. } => panic!("{large:?}"),
        }
    }

    #[test]
    fn what_is_remembered_is_what_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("start.md");
        let loader = Remembered::new(folder.path()).unwrap();
        // Fresh files are never remembered, so writing as fast as can be loses nothing.
        for round in 0..200 {
            fs::write(&file, format!("{:03}", round % 7)).unwrap();
            assert_eq!(text(&loader, "start.md"), format!("{:03}", round % 7));
        }
        fs::remove_file(&file).unwrap();
        assert!(matches!(loader.read_file("start.md"), Err(LoadError::NotFound { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_leads_elsewhere_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("start.md"), name).unwrap();
        }
        let link = folder.path().join("current");
        std::os::unix::fs::symlink("one", &link).unwrap();
        let loader = Remembered::new(&link).unwrap();
        assert_eq!(text(&loader, "start.md"), "one");
        fs::remove_file(&link).unwrap();
        assert!(loader.renew(&link).is_err());
        std::os::unix::fs::symlink("two", &link).unwrap();
        loader.renew(&link).unwrap();
        assert_eq!(text(&loader, "start.md"), "two");
        assert!(loader.root().ends_with("two"));
    }

    #[cfg(unix)]
    #[test]
    fn a_settled_file_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("start.md");
        fs::write(&file, "one").unwrap();
        let loader = Remembered::new(folder.path()).unwrap();
        let stamp = Stamp::of(&file).unwrap();
        // Time is not waited for here: the memory is filled as if the file had settled.
        loader.with(|inner| inner.files.insert("start.md".into(), (stamp, Arc::from(*b"remembered"))));
        assert_eq!(text(&loader, "start.md"), "remembered");
        let later = SystemTime::now() + Duration::from_secs(1);
        fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        assert_eq!(text(&loader, "start.md"), "one", "until its stamp differs");
    }
}
