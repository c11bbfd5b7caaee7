//! The messages of a chat: `runtime/sessions/<provider>-<hash>.jsonl`, one per line (orchestrator 9).
//!
//! **Invariant:** an unreadable line hides no other line; a message that was written twice is read once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Workspace, append_line, rotate, rotated_path};
use crate::message::{ChatPlace, Incoming};

/// Bytes that are read at a time.
const PART: u64 = 1 << 16;

/// Bytes at which a history is rotated (orchestrator 9.2).
const MAX_HISTORY_BYTES: u64 = 64 << 20;

/// The role of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person.
    User,
    /// The agent.
    Assistant,
}

/// A message as it is noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Its id.
    pub id: String,
    /// Its time, in milliseconds since 1970.
    pub at: u64,
    /// The role of its sender.
    pub role: Speaker,
    /// Their name.
    pub sender: String,
    /// Its text.
    pub text: String,
    /// The session that it belongs to.
    pub run: String,
    /// The thread in which it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The files that came with it, by their paths in the workspace.
    #[serde(default)]
    pub files: Vec<String>,
    /// True if it is an edit: its text replaces that of the message with this id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// True if the message of this id was deleted by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

impl Said {
    /// Creates the record of a person's message, as one of a session.
    pub fn by(message: Incoming, run: &str) -> Self {
        let (id, sender) = (message.key(), message.sender_name);
        let files = message.files.into_iter().filter_map(|file| file.path).collect();
        let (role, run) = (Speaker::User, run.to_owned());
        Self {
            id,
            at: message.at,
            role,
            sender,
            text: message.text,
            run,
            thread: message.place.thread,
            files,
            edited: false,
            deleted: false,
        }
    }
}

/// The histories of a workspace.
#[derive(Clone, Debug)]
pub struct History {
    folder: PathBuf,
    /// Bytes at which a file is rotated; it is still read.
    pub(super) max_bytes: u64,
}

impl History {
    /// The histories of this workspace.
    pub fn of(workspace: &Workspace) -> Self {
        Self { folder: workspace.path("runtime/sessions"), max_bytes: MAX_HISTORY_BYTES }
    }

    fn file(&self, place: &ChatPlace) -> PathBuf {
        self.folder.join(format!("{}.jsonl", place.file_name()))
    }

    /// Appends a message. It blocks on the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&self, place: &ChatPlace, said: &Said) -> io::Result<()> {
        let (file, line) = (self.file(place), serde_json::to_string(said).map_err(io::Error::other)?);
        if file.metadata().is_ok_and(|metadata| metadata.len() >= self.max_bytes) {
            rotate(&file)?;
        }
        append_line(&file, &line)
    }

    /// Returns the newest messages for which `counts` is true, at most `count`, oldest first. Deleted messages and unreadable lines are left out. No
    /// more of the file is read than necessary.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn newest(&self, place: &ChatPlace, count: usize, counts: impl Fn(&Said) -> bool) -> io::Result<Vec<Said>> {
        let (mut said, mut known): (Vec<Said>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        let (mut edits, mut deleted): (BTreeMap<String, String>, BTreeSet<String>) = Default::default();
        let mut lines = LinesFromEnd::open(&self.file(place))?;
        while said.len() < count
            && let Some(line) = lines.next_line()?
        {
            let Ok(mut line) = serde_json::from_slice::<Said>(&line) else { continue };
            if line.deleted {
                deleted.insert(line.id);
            } else if line.edited {
                // Read from the end, the newest edit comes first.
                edits.entry(line.id).or_insert(line.text);
            } else if !deleted.contains(&line.id) && counts(&line) && known.insert(line.id.clone()) {
                line.text = edits.remove(&line.id).unwrap_or(line.text);
                said.push(line);
            }
        }
        said.reverse();
        Ok(said)
    }

    /// The messages `from` to `to`, counted from the newest, which is 1; oldest first.
    ///
    /// # Errors
    /// As [`History::newest`].
    pub fn range(&self, place: &ChatPlace, from: usize, to: usize) -> io::Result<Vec<Said>> {
        let mut said = self.newest(place, to.max(from), |_| true)?;
        said.truncate((said.len() + 1).saturating_sub(from.max(1)));
        Ok(said)
    }
}

/// The lines of a file from its end, then of its rotated ones, read a part at a time.
struct LinesFromEnd {
    path: PathBuf,
    /// The number of the file that is read; 0 is the current one.
    number: u32,
    /// `None` if there is no file.
    file: Option<File>,
    /// The offset of the bytes that were read.
    start: u64,
    /// Bytes that were read and not returned yet: the end of a line, and whole lines after it.
    read: Vec<u8>,
}

impl LinesFromEnd {
    fn open(path: &Path) -> io::Result<Self> {
        let mut lines = Self { path: path.to_owned(), number: 0, file: None, start: 0, read: Vec::new() };
        lines.take_file(path)?;
        Ok(lines)
    }

    /// Opens a file, if it exists; returns whether it does.
    fn take_file(&mut self, path: &Path) -> io::Result<bool> {
        self.file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        self.start = self.file.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len()))?;
        Ok(self.file.is_some())
    }

    /// The line before the last returned one.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            // The searched bytes are at the end.
            let place = self.read[..self.read.len() - searched].iter().rposition(|byte| *byte == b'\n');
            if let Some(place) = place {
                let line = self.read.split_off(place + 1);
                self.read.truncate(place);
                return Ok(Some(line));
            }
            searched = self.read.len();
            let Some(file) = self.file.as_mut().filter(|_| self.start > 0) else {
                if std::mem::take(&mut self.file).is_some() {
                    return Ok(Some(std::mem::take(&mut self.read)));
                }
                self.number += 1;
                if self.take_file(&rotated_path(&self.path, self.number))? {
                    searched = 0;
                    continue;
                }
                return Ok(None);
            };
            // Reads of a long line grow, so that it is moved a few times only.
            let length = self.start.min(PART.max(searched as u64));
            self.start -= length;
            file.seek(io::SeekFrom::Start(self.start))?;
            let mut part = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            file.read_exact(&mut part)?;
            part.append(&mut self.read);
            self.read = part;
        }
    }
}
