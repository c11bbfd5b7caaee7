//! A store in a folder: each session is a file of JSON Lines, with its newest snapshot beside it.
//!
//! Several processes and threads may use one folder: each file is locked while it is read or written. An append is forced to the disk before it
//! returns. A damaged line is reported: each has a checksum.
//!
//! **Invariant:** no id leads out of the folder; an append is whole or absent, after a crash too; a snapshot can always be lost.

mod heads;
mod journal;
mod line;
mod name;
mod scan;
mod write;

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{fs::OFlags, io::Errno};
use tokio::{sync::Mutex as AsyncMutex, task::yield_now};
use trellis_core::SessionId;

use self::{
    heads::Heads,
    journal::{FileLock, Journal},
    scan::Scan,
    write::OpenJournal,
};
use super::{
    Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored,
    blocking::{Pace, run_blocking},
};

/// The number of journals that stay open.
const MAX_OPEN_JOURNALS: usize = 128;

/// Stores sessions in a folder. It works on the threads of tokio that may block; if the disk is quick, one append is written in place.
///
/// ```
/// use std::sync::Arc;
///
/// use trellis_host::store::{FilesStore, SessionStore};
///
/// # let folder = tempfile::tempdir()?;
/// let store: Arc<dyn SessionStore> = Arc::new(FilesStore::open(folder.path().join("sessions"))?);
/// assert!(folder.path().join("sessions").is_dir());
/// # drop(store);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FilesStore {
    files: Arc<OpenFiles>,
}

#[derive(Debug)]
struct OpenFiles {
    folder: Folder,
    /// Journals that were written lately. A writer holds its lock here, and then that of the file.
    open: Mutex<BTreeMap<SessionId, Arc<Mutex<OpenJournal>>>>,
    heads: Mutex<Heads>,
    /// The number of writes by this store.
    writes: AtomicU64,
    pace: Pace,
    /// Held by the caller that may append in place.
    here: AsyncMutex<()>,
}

/// The folder of the files.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    name: Arc<str>,
}

impl FilesStore {
    /// Opens a folder, and makes it where it is not there. A folder that it makes is ignored by version control, and so by the reader of a graph around
    /// it, to whom a snapshot would be a node.
    ///
    /// # Errors
    /// There is no such folder and it cannot be made.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let name = format!("`files:{}`", path.display()).into();
        let folder = Folder { path, name };
        if !folder.path.is_dir() {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder.path);
            let ignored = made.and_then(|()| fs::write(folder.path.join(".gitignore"), "*\n"));
            ignored.and_then(|()| folder.sync()).map_err(|error| folder.unwritable(&folder.path, &error))?;
        }
        let (open, heads, writes) = (Mutex::default(), Mutex::default(), AtomicU64::default());
        let files = OpenFiles { folder, open, heads, writes, pace: Pace::default(), here: AsyncMutex::default() };
        Ok(Self { files: Arc::new(files) })
    }

    /// Does work that may wait for a disk on a thread where it blocks no other.
    fn run_blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&OpenFiles) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'static, T> {
        let files = Arc::clone(&self.files);
        Box::pin(async move {
            let name = Arc::clone(&files.folder.name);
            run_blocking(name, move || act(&files)).await
        })
    }
}

impl Folder {
    fn journal(&self, session: &SessionId) -> PathBuf {
        self.path.join(format!("{}.jsonl", name::of(session)))
    }

    fn snapshot(&self, session: &SessionId) -> PathBuf {
        self.path.join(format!("{}.snapshot.json", name::of(session)))
    }

    /// Forces the names of files to the disk.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Checks that the folder itself still exists: without it, nothing is known about a session.
    fn is_there(&self) -> Result<(), StoreError> {
        match self.path.is_dir() {
            true => Ok(()),
            false => Err(StoreError::Unavailable { store: Arc::clone(&self.name), message: "the folder is gone".to_owned() }),
        }
    }

    fn unwritable(&self, path: &Path, error: &io::Error) -> StoreError {
        if error.kind() == io::ErrorKind::NotFound
            && let Err(gone) = self.is_there()
        {
            return gone;
        }
        if is_passing(error) {
            return self.unavailable(&error.to_string(), path);
        }
        StoreError::Unwritable { store: Arc::clone(&self.name), message: self.about(&error.to_string(), path) }
    }

    fn unavailable(&self, message: &str, path: &Path) -> StoreError {
        StoreError::Unavailable { store: Arc::clone(&self.name), message: self.about(message, path) }
    }

    fn unreadable(&self, path: &Path, error: &io::Error) -> StoreError {
        match is_passing(error) {
            true => self.unavailable(&error.to_string(), path),
            false => StoreError::Corrupt { place: path.display().to_string(), message: error.to_string() },
        }
    }

    /// A message, with the file where it is about one.
    fn about(&self, message: &str, path: &Path) -> String {
        match path.strip_prefix(&self.path).ok().filter(|file| !file.as_os_str().is_empty()) {
            Some(file) => format!("{}: {message}", file.display()),
            None => message.to_owned(),
        }
    }

    /// Opens and locks a journal to read it. Nothing: there is none.
    fn reading<T>(&self, session: &SessionId, read: impl FnOnce(&Journal<'_>) -> Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        let path = self.journal(session);
        loop {
            let file = match opened(OpenOptions::new().read(true), &path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return self.is_there().map(|()| None),
                Err(error) => return Err(self.unreadable(&path, &error)),
            };
            if let Some(journal) = Journal::lock(self, session, &file, FileLock::ToRead)? {
                return read(&journal).map(Some);
            }
        }
    }

    fn load(&self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        let stored = self.reading(session, |journal| {
            let Some(first) = journal.first()? else { return Ok(None) };
            let stored = |mark: line::Mark, next, snapshot, rows| {
                let head = mark.head(session.clone(), next);
                Ok(Some(Stored { head, snapshot, records: journal.rows(rows)? }))
            };
            if let Some(held) = journal.snapshot(&first) {
                let scan = journal.scan(Scan::new(held.offset, Some(held.next), 0), held.offset, usize::MAX)?;
                return stored(scan.mark.unwrap_or(held.mark), scan.next, Some((held.next, held.text)), scan.rows);
            }
            let mut scan = journal.scan(Scan::new(first.end, Some(first.number), 0), first.end, usize::MAX)?;
            let since = scan.snapshot.as_ref().map_or(0, |(next, _)| *next);
            scan.rows.retain(|row| row.seq >= since);
            match scan.mark {
                Some(mark) => stored(mark, scan.next, scan.snapshot, scan.rows),
                None => journal.end(&first).map(|_| None),
            }
        })?;
        Ok(stored.flatten())
    }

    fn records(&self, session: &SessionId, from: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        let rows = self.reading(session, |journal| {
            let Some(first) = journal.first()? else { return Ok(Vec::new()) };
            let (begins, expected) = journal.place(from, &first)?;
            journal.rows(journal.scan(Scan::new(begins, Some(expected), from), begins, limit)?.rows)
        })?;
        Ok(rows.unwrap_or_default())
    }
}

impl OpenFiles {
    /// Returns the journal of a session, which stays open, for its writer.
    fn held(&self, session: &SessionId) -> Arc<Mutex<OpenJournal>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_OPEN_JOURNALS && !open.contains_key(session) {
            open.retain(|_, held| Arc::strong_count(held) > 1);
        }
        Arc::clone(open.entry(session.clone()).or_default())
    }

    /// Works on a journal, once no other caller does.
    fn writing<T>(
        &self,
        session: &SessionId,
        write: impl FnOnce(&Folder, &mut OpenJournal) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let held = self.held(session);
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        write(&self.folder, &mut held)
    }

    /// Appends in place, unless the disk is slow, there are other appends, or another caller holds the journal.
    async fn append_here(&self, append: &Append) -> Option<Result<(), StoreError>> {
        if !self.pace.is_quick() {
            return None;
        }
        let _here = self.here.try_lock().ok()?;
        // Other appends meanwhile have threads, and wait for the disk at the same time.
        yield_now().await;
        let held = self.held(&append.session);
        let mut held = held.try_lock().ok()?;
        held.is_free().then(|| self.pace.timed(|| write::append(&self.folder, &mut held, append)))
    }
}

impl SessionStore for FilesStore {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        Box::pin(async move {
            match self.files.append_here(&append).await {
                Some(done) => done,
                None => {
                    let write = move |files: &OpenFiles| {
                        files.writing(&append.session, |folder, held| files.pace.timed(|| write::append(folder, held, &append)))
                    };
                    self.run_blocking(write).await
                }
            }
        })
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        let sessions = sessions.to_vec();
        self.run_blocking(move |files| sessions.iter().map(|session| files.folder.load(session)).collect())
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        let session = session.clone();
        self.run_blocking(move |files| files.folder.records(&session, from, limit))
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.run_blocking(move |files| {
            let mut heads = files.heads.lock().unwrap_or_else(PoisonError::into_inner);
            heads.page(&files.folder, query, files.writes.load(Ordering::Relaxed))
        })
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        let session = session.clone();
        self.run_blocking(move |files| files.writing(&session, |folder, held| write::remove(folder, held, &session, removal)))
    }
}

/// Opens a regular file. Any other is refused: a pipe would block until it is written to.
fn opened(how: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = how.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file; take it out of the folder")),
    }
}

/// Returns whether it may succeed a moment later.
fn is_passing(error: &io::Error) -> bool {
    let too_many_open = [Errno::MFILE, Errno::NFILE].map(|code| Some(code.raw_os_error())).contains(&error.raw_os_error());
    too_many_open || matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::TimedOut | io::ErrorKind::OutOfMemory)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::SessionStatus;

    #[test]
    fn a_journal_that_another_process_holds_keeps_nobody_else_waiting() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let append = |seq: u64| {
            let (session, graph, program, node) = (SessionId::from("one"), "orders".into(), "".into(), "start".into());
            let head = Head { session, graph, program, next: seq + 1, began: 0, at: 0, node, standing: SessionStatus::Active, due: None };
            Append { session: "one".into(), expected: seq, records: vec!["{}".into()], head, snapshot: None }
        };
        for is_quick in [false, true] {
            let folder = tempfile::TempDir::new().unwrap();
            let store = FilesStore::open(folder.path()).unwrap();
            runtime.block_on(async {
                store.append(append(0)).await.unwrap();
                store.files.pace.set(is_quick);
                let other = File::open(folder.path().join("one.jsonl")).unwrap();
                other.lock().unwrap();
                let mut appended = std::pin::pin!(store.append(append(1)));
                // The only thread is free meanwhile.
                assert!(tokio::time::timeout(Duration::from_millis(50), &mut appended).await.is_err());
                other.unlock().unwrap();
                assert_eq!(appended.await, Ok(()));
                assert_eq!(store.load(&["one".into()]).await.unwrap()[0].as_ref().unwrap().head.next, 2);
            });
        }
    }
}
