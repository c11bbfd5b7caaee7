//! Writing: appends, snapshots, and taking out.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use trellis_core::SessionId;

use super::{
    Folder,
    journal::{FileLock, First, Journal, JournalEnd},
    line::{self, Beside, FirstLine, Mark},
    opened,
    scan::Scan,
};
use crate::store::{Append, Removal, StoreError};

/// A journal that stays open between appends, and where it ended.
#[derive(Debug, Default)]
pub(super) struct OpenJournal {
    open: Option<OpenJournals>,
}

#[derive(Debug)]
struct OpenJournals {
    file: File,
    length: u64,
    /// The number that comes next.
    next: u64,
    /// The checksum of the first line, where it can be read.
    sum: Option<String>,
}

impl OpenJournal {
    /// Returns whether it is open and no other process holds it; from now on this one does, until its work on it is done.
    pub(super) fn is_free(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.file.try_lock().is_ok())
    }
}

/// Appends, if the next number of the session is the expected one.
pub(super) fn append(folder: &Folder, held: &mut OpenJournal, append: &Append) -> Result<(), StoreError> {
    for (text, seq) in append.records.iter().zip(append.expected..) {
        one_line(&append.session, text, &format!("record {seq}"))?;
    }
    let conflict =
        |found| -> Result<u64, _> { Err(StoreError::Conflict { session: append.session.clone(), expected: append.expected, found }) };
    loop {
        let Some(open) = reopen(folder, held, &append.session, append.expected == 0)? else { return conflict(0).map(drop) };
        let Some(journal) = Journal::lock(folder, &append.session, &open.file, FileLock::ToWrite)? else {
            held.open = None;
            continue;
        };
        let mut length = open.length;
        let outcome =
            if journal.length == length && length > 0 { Ok(()) } else { renew(&journal, &mut open.next, &mut length, &mut open.sum) };
        let outcome = outcome.and_then(|()| match open.next == append.expected {
            true => write(&journal, append, length, &mut open.sum),
            false => conflict(open.next),
        });
        drop(journal);
        match &outcome {
            Ok(written) => (open.length, open.next) = (length + written, open.next + append.records.len() as u64),
            Err(StoreError::Conflict { .. }) => open.length = length,
            Err(_) => held.open = None,
        }
        return outcome.map(drop);
    }
}

/// Returns the session's file, opened if it is not open yet; `None` if there is none.
fn reopen<'a>(
    folder: &Folder,
    held: &'a mut OpenJournal,
    session: &SessionId,
    begins: bool,
) -> Result<Option<&'a mut OpenJournals>, StoreError> {
    if held.open.is_none() {
        let path = folder.journal(session);
        match opened(OpenOptions::new().read(true).write(true).create(begins).mode(0o600), &path) {
            Ok(file) => held.open = Some(OpenJournals { file, length: 0, next: 0, sum: None }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !begins => return folder.is_there().map(|()| None),
            Err(error) => return Err(folder.unwritable(&path, &error)),
        }
    }
    Ok(held.open.as_mut())
}

/// Finds the end of a journal, and cuts off the rest of a crash behind it.
fn renew(journal: &Journal<'_>, next: &mut u64, length: &mut u64, sum: &mut Option<String>) -> Result<(), StoreError> {
    let (end, found) = match journal.first()? {
        Some(first) => (journal.end(&first)?, first.sum),
        None => (None, None),
    };
    (*next, *length, *sum) = end.map_or((0, 0, None), |JournalEnd { head, offset }| (head.next, offset, found));
    if *length < journal.length {
        journal.file.set_len(*length).map_err(|error| journal.folder.unwritable(&journal.path, &error))?;
    }
    Ok(())
}

/// Writes an append behind `length`, and returns its length. It is stored when this returns; if it fails, nothing of it is.
fn write(journal: &Journal<'_>, append: &Append, length: u64, sum: &mut Option<String>) -> Result<u64, StoreError> {
    let mut text = String::with_capacity(append.records.iter().map(|record| record.len() + 64).sum::<usize>() + 512);
    if length == 0 {
        *sum = Some(line::write_opening(&FirstLine { session: append.session.clone(), first: 0 }, &mut text));
    }
    let mark = Mark::of(&append.head);
    let next = append.expected + append.records.len() as u64;
    for (record, seq) in append.records.iter().zip(append.expected..) {
        line::write_record(seq, (seq + 1 == next).then_some(&mark), record, &mut text);
    }
    let stored = put(journal.file, length, text.as_bytes());
    if let Err(error) = stored {
        // A rest without a last line is ignored by readers, but it must not stay either.
        return Err(match journal.file.set_len(length).and_then(|()| journal.file.sync_data()) {
            Ok(()) => journal.folder.unwritable(&journal.path, &error),
            Err(_) => journal.folder.unavailable(&error.to_string(), &journal.path),
        });
    }
    if length == 0 {
        journal.folder.sync().map_err(|error| journal.folder.unavailable(&error.to_string(), &journal.path))?;
    }
    if let (Some(snapshot), Some(sum)) = (&append.snapshot, sum) {
        let beside = Beside { journal: sum.clone(), offset: length + text.len() as u64 };
        // Without it the next load reads more of the journal: no reason to refuse the stored append.
        let _ = beside_it(journal, next, &mark, &beside, snapshot);
    }
    Ok(text.len() as u64)
}

fn put(file: &File, at: u64, text: &[u8]) -> io::Result<()> {
    file.write_all_at(text, at)?;
    file.sync_data()
}

/// Writes a snapshot beside the journal, whole or not at all. It is not forced to the disk: a torn one is noticed, and the journal has all of it.
fn beside_it(journal: &Journal<'_>, next: u64, mark: &Mark, beside: &Beside, text: &str) -> Result<(), StoreError> {
    one_line(journal.session, text, "the snapshot")?;
    let mut line = String::with_capacity(text.len() + 512);
    line::write_snapshot(next, mark, Some(beside), text, &mut line);
    let path = journal.folder.snapshot(journal.session);
    replace(&path, |file| file.write_all(line.as_bytes())).map_err(|error| journal.folder.unwritable(&path, &error))
}

/// Writes a file beside the old one, and then replaces that.
fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let run_blocking = path.with_added_extension("new");
    let mut file = opened(OpenOptions::new().write(true).create(true).truncate(true).mode(0o600), &run_blocking)?;
    let written = write(&mut file).and_then(|()| fs::rename(&run_blocking, path));
    if written.is_err() {
        let _ = fs::remove_file(&run_blocking);
    }
    written
}

/// Takes a session out, or the oldest part of its history.
pub(super) fn remove(folder: &Folder, held: &mut OpenJournal, session: &SessionId, removal: Removal) -> Result<(), StoreError> {
    loop {
        let Some(open) = reopen(folder, held, session, false)? else { return Ok(()) };
        let Some(journal) = Journal::lock(folder, session, &open.file, FileLock::ToWrite)? else {
            held.open = None;
            continue;
        };
        let outcome = take_out(&journal, removal);
        drop(journal);
        held.open = None;
        return outcome;
    }
}

fn take_out(journal: &Journal<'_>, removal: Removal) -> Result<(), StoreError> {
    let end = journal.first().and_then(|first| match first {
        Some(first) => Ok(journal.end(&first)?.map(|end| (first, end))),
        None => Ok(None),
    });
    let end = match (removal, end) {
        // The next number is unknown.
        (Removal::Session { expected: 0 }, Err(StoreError::Corrupt { .. })) => None,
        (_, end) => end?,
    };
    match removal {
        Removal::Session { expected } => match end {
            Some((_, end)) if end.head.next != expected => {
                Err(StoreError::Conflict { session: journal.session.clone(), expected, found: end.head.next })
            }
            _ => delete(journal).map_err(|error| journal.folder.unwritable(&journal.path, &error)),
        },
        Removal::Before(seq) => match end {
            Some((first, end)) => cut(journal, &first, &end, seq),
            None => Ok(()),
        },
    }
}

/// Removes the snapshot first: without its journal it would belong to no session.
fn delete(journal: &Journal<'_>) -> io::Result<()> {
    match fs::remove_file(journal.folder.snapshot(journal.session)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::remove_file(&journal.path)?,
    }
    journal.folder.sync()
}

/// Rewrites the journal without the records before `seq`, as far as the snapshot covers them; the snapshot is in the journal then.
fn cut(journal: &Journal<'_>, first: &First, end: &JournalEnd, seq: u64) -> Result<(), StoreError> {
    let Some(snapshot) = journal.snapshot(first) else { return Ok(()) };
    let until = seq.min(snapshot.next);
    if until <= first.number {
        return Ok(());
    }
    let from = end_of(journal, first, until)?;
    let mut text = String::with_capacity(snapshot.text.len() + 1024);
    let sum = line::write_opening(&FirstLine { session: journal.session.clone(), first: until }, &mut text);
    line::write_snapshot(snapshot.next, &snapshot.mark, None, &snapshot.text, &mut text);
    let write = |file: &mut File| {
        file.write_all(text.as_bytes())?;
        let mut rest = journal.file;
        rest.seek(SeekFrom::Start(from))?;
        io::copy(&mut rest.take(end.offset - from), file)?;
        file.sync_all()
    };
    replace(&journal.path, write).map_err(|error| journal.folder.unwritable(&journal.path, &error))?;
    journal.folder.sync().map_err(|error| journal.folder.unavailable(&error.to_string(), &journal.path))?;
    let beside = Beside { journal: sum, offset: text.len() as u64 + snapshot.offset - from };
    // If it fails, the snapshot in the journal is the newest.
    let _ = beside_it(journal, snapshot.next, &snapshot.mark, &beside, &snapshot.text);
    Ok(())
}

/// Returns the end of the lines of records before `until`.
fn end_of(journal: &Journal<'_>, first: &First, until: u64) -> Result<u64, StoreError> {
    let (mut from, mut expected) = journal.place(until, first)?;
    loop {
        let scan = journal.scan(Scan::new(from, Some(expected), 0), from, 1024)?;
        if let Some(record) = scan.rows.iter().find(|record| record.seq >= until) {
            return Ok(record.offset);
        }
        match scan.rows.last() {
            Some(last) if scan.rows.len() == 1024 => (from, expected) = (last.offset, last.seq),
            _ => return Ok(scan.end),
        }
    }
}

/// Refuses text that would not be read back.
fn one_line(session: &SessionId, text: &str, what: &str) -> Result<(), StoreError> {
    if text.contains('\n') {
        let place = format!("session `{session}`");
        return Err(StoreError::Corrupt { place, message: format!("{what} is not on one line") });
    }
    Ok(())
}
