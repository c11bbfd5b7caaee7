//! Room in the write-ahead log, made before commits need it.
//!
//! A commit that makes the log longer costs two to three times as much as one that overwrites existing space: the disk has to store the new length
//! too. SQLite extends it with every commit until it is copied to the file for the first time, so the log is filled up with zeros, ever more of them
//! at once. Space that is only reserved would not do: the first write into it changes metadata of the file system.
//!
//! **Invariant:** zeros are written only behind the end of the log, and only while this process is the one that may write. SQLite stops reading a log
//! at the first frame that is none, and zeros are none.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
};

use rusqlite::Connection;

/// The number of bytes that are added at once: as many as there are, within these bounds.
const MIN_GROWTH: u64 = 64 << 10;
const MAX_GROWTH: u64 = 1 << 20;

/// The log beside a file, and its extended length.
#[derive(Debug, Default)]
pub(super) struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    length: u64,
}

impl Log {
    pub(super) fn of(connection: &Connection) -> Self {
        let path = connection.path().filter(|path| !path.is_empty()).map(|path| PathBuf::from(format!("{path}-wal")));
        Self { path, ..Self::default() }
    }

    /// Makes room if there is none left. Only a writer may call this. If it fails, commits make the log longer themselves.
    pub(super) fn make_room(&mut self) {
        self.length = self.lengthened().unwrap_or(self.length);
    }

    /// Returns the present length of the log.
    fn lengthened(&mut self) -> io::Result<u64> {
        let file = match (&self.file, &self.path) {
            (Some(file), _) => file,
            (None, Some(path)) => self.file.insert(OpenOptions::new().write(true).open(path)?),
            (None, None) => return Ok(0),
        };
        let length = file.metadata()?.len();
        if length <= self.length {
            return Ok(length);
        }
        let added = length.clamp(MIN_GROWTH, MAX_GROWTH);
        match file.write_all_at(&vec![0; usize::try_from(added).map_err(io::Error::other)?], length) {
            Ok(()) => Ok(length + added),
            // The rest of the disk is for commits.
            Err(_) => file.set_len(length).map(|()| length),
        }
    }
}
