//! What was said in a chat: `runtime/sessions/<provider>-<hash>.jsonl`, a line a message (orchestrator 9).
//!
//! **Invariant:** a line that cannot be read hides no other; a message that was noted twice is read once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Workspace, append_line};
use crate::message::ChatPlace;

/// Bytes that are read at a time.
const PART: u64 = 1 << 16;

/// Who said something.
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
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Who said it.
    pub role: Speaker,
    /// Their name.
    pub sender: String,
    /// What.
    pub text: String,
    /// The session that it belongs to.
    pub run: String,
    /// Whether it says what the message of this id says since it was edited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

/// The histories of a workspace.
#[derive(Clone, Debug)]
pub struct History {
    folder: PathBuf,
}

impl History {
    /// The histories of this workspace.
    pub fn of(workspace: &Workspace) -> Self {
        Self { folder: workspace.path("runtime/sessions") }
    }

    fn file(&self, place: &ChatPlace) -> PathBuf {
        self.folder.join(format!("{}.jsonl", place.file_name()))
    }

    /// Notes what was said. It waits for the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&self, place: &ChatPlace, said: &Said) -> io::Result<()> {
        let line = serde_json::to_string(said).map_err(io::Error::other)?;
        append_line(&self.file(place), &line)
    }

    /// What was said last, as far as `counts` says that it counts: so many messages at most, oldest first. Lines that cannot be read are left out. No more
    /// of the file is read than that takes.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn newest(&self, place: &ChatPlace, count: usize, counts: impl Fn(&Said) -> bool) -> io::Result<Vec<Said>> {
        let (mut said, mut known): (Vec<Said>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        let mut edits: BTreeMap<String, String> = BTreeMap::new();
        let mut lines = LinesFromEnd::open(&self.file(place))?;
        while said.len() < count
            && let Some(line) = lines.next_line()?
        {
            let Ok(mut line) = serde_json::from_slice::<Said>(&line) else { continue };
            if line.edited {
                // Read from the end, the newest edit comes first.
                edits.entry(line.id).or_insert(line.text);
            } else if counts(&line) && known.insert(line.id.clone()) {
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

/// The lines of a file from its end, read a part at a time.
struct LinesFromEnd {
    /// Nothing where there is no file.
    file: Option<File>,
    /// Where what was read begins.
    start: u64,
    /// What was read and not handed out: the end of a line, and whole lines behind it.
    read: Vec<u8>,
}

impl LinesFromEnd {
    fn open(path: &Path) -> io::Result<Self> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        let start = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len()))?;
        Ok(Self { file, start, read: Vec::new() })
    }

    /// The line before the last one that was handed out.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            // What was searched lies at the end.
            let place = self.read[..self.read.len() - searched].iter().rposition(|byte| *byte == b'\n');
            if let Some(place) = place {
                let line = self.read.split_off(place + 1);
                self.read.truncate(place);
                return Ok(Some(line));
            }
            searched = self.read.len();
            let Some(file) = self.file.as_mut().filter(|_| self.start > 0) else {
                let is_over = std::mem::take(&mut self.file).is_none();
                return Ok((!is_over).then(|| std::mem::take(&mut self.read)));
            };
            // Of a long line always more, so that it is moved a few times only.
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
