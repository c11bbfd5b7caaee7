//! One session's journal, open and locked: its end, its records, and the files beside it.
//!
//! **Invariant:** nothing is read or written without the lock of the file, so no other process is halfway through an append.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take},
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use trellis_core::SessionId;

use super::{
    Folder,
    line::{self, FirstLine, LINE_FORMAT},
    opened,
    scan::{Scan, Scanned, is_torn},
};
use crate::store::{Head, LOCK_TIMEOUT, Row, StoreError};

/// The part of a journal that is searched for its end first, in bytes from there.
const TAIL: u64 = 8 * 1024;

/// A journal that is locked; the lock ends with it.
pub(super) struct Journal<'a> {
    pub(super) folder: &'a Folder,
    pub(super) session: &'a SessionId,
    pub(super) path: PathBuf,
    pub(super) file: &'a File,
    /// The length of the file, in bytes.
    pub(super) length: u64,
}

/// The content of the first line.
pub(super) struct First {
    /// Its checksum; `None` if it cannot be read.
    pub(super) sum: Option<String>,
    /// True if it looks as if it was never written: then nothing may ever have been appended.
    is_torn: bool,
    /// The number of the first record.
    pub(super) number: u64,
    /// The number behind the snapshot in the journal.
    held: u64,
    /// Its end.
    pub(super) end: u64,
}

/// The end of a journal.
pub(super) struct JournalEnd {
    pub(super) head: Head,
    /// Behind the last append, in bytes.
    pub(super) offset: u64,
}

/// The newest snapshot, and the place where the journal continues after it.
pub(super) struct NewestSnapshot {
    pub(super) next: u64,
    pub(super) text: Arc<str>,
    pub(super) mark: line::Mark,
    pub(super) offset: u64,
}

/// The mode of locking a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileLock {
    ToRead,
    ToWrite,
}

impl<'a> Journal<'a> {
    /// Locks a file that was opened at the session's path. Nothing: it does not lie there any more.
    pub(super) fn lock(folder: &'a Folder, session: &'a SessionId, file: &'a File, lock: FileLock) -> Result<Option<Self>, StoreError> {
        let path = folder.journal(session);
        let give_up = Instant::now() + LOCK_TIMEOUT;
        let mut pause = Duration::from_micros(50);
        loop {
            let locked = if lock == FileLock::ToRead { file.try_lock_shared() } else { file.try_lock() };
            match locked {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < give_up => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(folder.unavailable("another process holds the session", &path)),
                Err(TryLockError::Error(error)) => return Err(folder.unavailable(&error.to_string(), &path)),
            }
        }
        let mut journal = Self { folder, session, path, file, length: 0 };
        let about = file.metadata().map_err(|error| journal.unreadable(&error))?;
        journal.length = about.len();
        // Meanwhile it may have been removed, or replaced.
        match fs::metadata(&journal.path) {
            Ok(there) => Ok(((there.dev(), there.ino()) == (about.dev(), about.ino())).then_some(journal)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(journal.unreadable(&error)),
        }
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> StoreError {
        self.folder.unreadable(&self.path, error)
    }

    pub(super) fn corrupt(&self, message: &str) -> StoreError {
        StoreError::Corrupt { place: self.path.display().to_string(), message: message.to_owned() }
    }

    /// The lines from a place on.
    pub(super) fn lines(&self, from: u64) -> io::Result<BufReader<Take<&'a File>>> {
        self.some(from, 64 * 1024)
    }

    /// Returns a reader from an offset of which only some bytes are wanted at first.
    fn some(&self, from: u64, wanted: u64) -> io::Result<BufReader<Take<&'a File>>> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(from))?;
        let left = self.length.saturating_sub(from);
        Ok(BufReader::with_capacity(usize::try_from(left.min(wanted)).unwrap_or_default(), file.take(left)))
    }

    /// The first line. Nothing: it was never written whole, so no append was.
    pub(super) fn first(&self) -> Result<Option<First>, StoreError> {
        let mut text = Vec::new();
        let mut lines = self.some(0, 512).map_err(|error| self.unreadable(&error))?;
        let end = lines.read_until(b'\n', &mut text).map_err(|error| self.unreadable(&error))? as u64;
        if text.pop_if(|byte| *byte == b'\n').is_none() {
            return Ok(None);
        }
        let mut next = Vec::new();
        lines.take(64).read_to_end(&mut next).map_err(|error| self.unreadable(&error))?;
        let held = line::held(&next);
        if let Some(found) = line::format(&text).filter(|found| *found > LINE_FORMAT) {
            let store = format!("`{}`", self.path.display()).into();
            return Err(StoreError::Newer { store, found, known: LINE_FORMAT });
        }
        let Some((sum, FirstLine { session, first })) =
            line::read(&text).ok().and_then(|line| Some((line.sum.to_owned(), line.opening()?)))
        else {
            return Ok(Some(First { sum: None, is_torn: is_torn(&text), number: 0, held, end }));
        };
        if session != *self.session {
            return Err(self.corrupt(&format!("it is the journal of session `{session}`: give the file its name back")));
        }
        Ok(Some(First { sum: Some(sum), is_torn: false, number: first, held, end }))
    }

    /// Reads the whole journal, or from a place on.
    pub(super) fn scan(&self, mut scan: Scan, from: u64, limit: usize) -> Result<Scan, StoreError> {
        let lines = self.lines(from).map_err(|error| self.unreadable(&error))?;
        scan.read(lines, limit).map_err(|error| self.unreadable(&error))?;
        Ok(scan)
    }

    /// Returns its end; `None` if no append happened.
    pub(super) fn end(&self, first: &First) -> Result<Option<JournalEnd>, StoreError> {
        let mut tail = TAIL;
        loop {
            let from = self.length.saturating_sub(tail).max(first.end);
            let whole = from == first.end;
            let begins = if whole { from } else { from + self.rest_of_line(from)? };
            let expected = whole.then_some(first.number);
            let scan = self.scan(Scan::new(begins, expected, u64::MAX), begins, usize::MAX)?;
            match scan.mark {
                // A tail that ends before the records that the snapshot covers is incomplete.
                Some(_) if scan.next < first.held && !whole => tail = self.length,
                Some(mark) => return Ok(Some(JournalEnd { head: mark.head(self.session.clone(), scan.next), offset: scan.end })),
                None if whole && (scan.end > begins || first.sum.is_none() && !first.is_torn) => {
                    return Err(self.corrupt("none of its lines says where the session stands"));
                }
                None if whole => return Ok(None),
                None => tail *= 8,
            }
        }
    }

    /// Returns the distance from a place to the beginning of the next line.
    fn rest_of_line(&self, from: u64) -> Result<u64, StoreError> {
        let lines = self.some(from, 2048).map_err(|error| self.unreadable(&error))?;
        skip_line(lines).map_err(|error| self.unreadable(&error))
    }

    /// A place where a line begins, not far before record `seq`, and the number of the record there.
    pub(super) fn place(&self, seq: u64, first: &First) -> Result<(u64, u64), StoreError> {
        let (mut low, mut found, mut high) = (first.end, first.number, self.length);
        while high - low > 8 * TAIL {
            let middle = low + (high - low) / 2;
            let begins = middle + self.rest_of_line(middle)?;
            let scan = if begins < high { Some(self.number(begins)?) } else { None };
            match scan.flatten() {
                Some(number) if number <= seq => (low, found) = (begins, number),
                _ => high = middle,
            }
        }
        Ok((low, found))
    }

    /// The number of the record at a place, if a good line begins there.
    fn number(&self, offset: u64) -> Result<Option<u64>, StoreError> {
        let mut text = Vec::new();
        let mut lines = self.some(offset, 2048).map_err(|error| self.unreadable(&error))?;
        lines.read_until(b'\n', &mut text).map_err(|error| self.unreadable(&error))?;
        let line = text.strip_suffix(b"\n").and_then(|text| line::read(text).ok());
        Ok(line.filter(|line| line.kind == line::LineKind::Seq).map(|line| line.number))
    }

    /// Returns the newest snapshot beside the journal, if it is whole and belongs to it.
    pub(super) fn snapshot(&self, first: &First) -> Option<NewestSnapshot> {
        let mut text = Vec::new();
        opened(OpenOptions::new().read(true), &self.folder.snapshot(self.session)).ok()?.read_to_end(&mut text).ok()?;
        let line = line::read(text.strip_suffix(b"\n")?).ok()?;
        let beside = line.beside()?;
        let next = match beside.offset {
            end if end == self.length => line.number,
            offset => self.number(offset).ok()??,
        };
        let belongs = first.sum.as_ref() == Some(&beside.journal) && next == line.number && beside.offset <= self.length;
        belongs.then_some(NewestSnapshot { next, text: line.text()?.into(), mark: line.mark()?, offset: beside.offset })
    }

    /// Returns records as they are handed out: an unreadable one has its line.
    pub(super) fn rows(&self, records: Vec<Scanned>) -> Result<Vec<Row>, StoreError> {
        let (mut counted, mut number) = (0, 1);
        let row = |Scanned { seq, offset, text }| {
            let text = match text {
                Ok(text) => Ok(text),
                Err(why) => {
                    let mut lines = self.lines(counted)?;
                    while counted < offset {
                        counted += skip_line(&mut lines)?;
                        number += 1;
                    }
                    Err(format!("{}:{number}: {why}", self.path.display()).into())
                }
            };
            Ok(Row { seq, text })
        };
        records.into_iter().map(row).collect::<io::Result<_>>().map_err(|error| self.unreadable(&error))
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        // If it cannot be unlocked, closing the file unlocks it.
        let _ = self.file.unlock();
    }
}

/// Skips the rest of a line, and returns its length.
fn skip_line(mut lines: impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = lines.fill_buf()?;
        let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        lines.consume(used);
        skipped += used as u64;
        if done {
            return Ok(skipped);
        }
    }
}
