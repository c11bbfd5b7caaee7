//! `events/events.jsonl`: the events, a line each, appended and never changed (orchestrator 9, 9.1, 9.2).
//!
//! **Invariant:** an id stands there once, as far as the newest 50,000 are known; a line that cannot be read hides no other.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    WorkflowEvent,
    index::{EVENTS_VERSION, EventIndex, MAX_IDS},
};
use crate::workspace::{ObjectFileError, append_lines, read_projection, rotate, rotated_path, write_object};

/// Bytes at which the file is rotated.
const MAX_LOG_BYTES: u64 = 64 << 20;
/// The longest time for which the index on the disk may be stale.
const INDEX_EVERY: Duration = Duration::from_secs(10);

/// The events of a workspace.
#[derive(Debug)]
pub struct EventLog {
    file: PathBuf,
    index_file: PathBuf,
    index: EventIndex,
    /// Ids in the file that was rotated last.
    before: BTreeSet<String>,
    /// The time of the newest event.
    newest: u64,
    written: Option<Instant>,
    is_dirty: bool,
    max_bytes: u64,
}

impl EventLog {
    /// Opens the events in a folder, and brings their index up to date; returns warnings about unreadable lines, too.
    ///
    /// # Errors
    /// A file cannot be used, or a newer program wrote the index.
    pub fn open(folder: &Path) -> Result<(Self, Vec<String>), ObjectFileError> {
        let (file, index_file) = (folder.join("events.jsonl"), folder.join("index.json"));
        let fails = |why| ObjectFileError::Io { file: file.clone(), why };
        let known = read_projection::<EventIndex>(&index_file, EVENTS_VERSION)?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let index = known.filter(|index| index.version == EVENTS_VERSION && index.bytes <= length).unwrap_or_default();
        let is_dirty = index.bytes < length || index.version == 0;
        let mut log = Self {
            before: ids_before(&rotated_path(&file, 1)).map_err(fails)?,
            index: EventIndex { version: EVENTS_VERSION, ..index },
            newest: 0,
            written: None,
            is_dirty,
            max_bytes: MAX_LOG_BYTES,
            file: file.clone(),
            index_file,
        };
        let warnings = log.catch_up().map_err(fails)?;
        log.newest = log.newest.max(log.last_moment());
        Ok((log, warnings))
    }

    /// Returns the time of the newest event, in milliseconds since 1970; 0 if there is none.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The index as it is now.
    pub fn index(&self) -> &EventIndex {
        &self.index
    }

    /// Appends the events that are not there yet, forced to the disk together; returns these.
    ///
    /// # Errors
    /// The file cannot be written; none of them is stored then.
    pub fn append(&mut self, events: Vec<WorkflowEvent>) -> io::Result<Vec<WorkflowEvent>> {
        let mut own = BTreeSet::new();
        let is_new = |event: &WorkflowEvent| !self.index.ids.contains_key(&event.id) && !self.before.contains(&event.id);
        let events: Vec<WorkflowEvent> = events.into_iter().filter(|event| is_new(event) && own.insert(event.id.clone())).collect();
        if events.is_empty() {
            return Ok(events);
        }
        if self.index.bytes >= self.max_bytes {
            self.rotate()?;
        }
        let lines = events.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let mut offset = append_lines(&self.file, &lines)?;
        for (event, line) in events.iter().zip(&lines) {
            let end = offset + line.len() as u64 + 1;
            self.index.note(&event.id, event.task.as_deref(), offset, end);
            self.newest = self.newest.max(event.at);
            offset = end;
        }
        self.index.trim();
        self.is_dirty = true;
        if self.written.is_none_or(|written| written.elapsed() >= INDEX_EVERY) {
            self.write_index()?;
        }
        Ok(events)
    }

    /// Writes the index, if it is stale.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_index(&mut self) -> io::Result<()> {
        if self.is_dirty {
            write_object(&self.index_file, &self.index).map_err(io::Error::other)?;
            (self.written, self.is_dirty) = (Some(Instant::now()), false);
        }
        Ok(())
    }

    /// The events of a task, also those in rotated files, oldest first.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of_task(&self, task: &str) -> io::Result<Vec<WorkflowEvent>> {
        let mut events = Vec::new();
        for number in (1..).take_while(|number| rotated_path(&self.file, *number).exists()).collect::<Vec<_>>().into_iter().rev() {
            let text = fs::read(rotated_path(&self.file, number))?;
            let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<WorkflowEvent>(line).ok());
            events.extend(lines.filter(|event| event.task.as_deref() == Some(task)));
        }
        for offset in self.index.tasks.get(task).into_iter().flatten() {
            events.extend(self.at(*offset)?);
        }
        Ok(events)
    }

    /// The event at an offset.
    fn at(&self, offset: u64) -> io::Result<Option<WorkflowEvent>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut line = Vec::new();
        BufReader::new(file).read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line).ok())
    }

    fn last_moment(&self) -> u64 {
        let last = self.index.newest().and_then(|offset| self.at(offset).ok().flatten());
        last.map_or(0, |event| event.at)
    }

    /// Reads the lines after the index.
    fn catch_up(&mut self) -> io::Result<Vec<String>> {
        let mut warnings = Vec::new();
        let mut file = match File::open(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(warnings),
            opened => opened?,
        };
        let mut offset = self.index.bytes;
        let mut number = lines_in(&mut file, offset)?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)? as u64;
            if length == 0 {
                break;
            }
            number += 1;
            match serde_json::from_slice::<WorkflowEvent>(&line) {
                Ok(event) => {
                    self.newest = self.newest.max(event.at);
                    self.index.note(&event.id, event.task.as_deref(), offset, offset + length);
                }
                Err(error) => {
                    if !line.trim_ascii().is_empty() {
                        warnings.push(format!("`{}` line {number} cannot be read and is left out: {error}", self.file.display()));
                    }
                    self.index.bytes = offset + length;
                }
            }
            offset += length;
        }
        self.index.trim();
        Ok(warnings)
    }

    /// Rotates the file, and begins another one.
    fn rotate(&mut self) -> io::Result<()> {
        rotate(&self.file)?;
        self.before = std::mem::take(&mut self.index.ids).into_keys().collect();
        self.index = EventIndex { version: EVENTS_VERSION, ..EventIndex::default() };
        self.is_dirty = true;
        self.write_index()
    }

    #[cfg(test)]
    pub(super) fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }
}

/// The number of lines before an offset.
fn lines_in(file: &mut File, offset: u64) -> io::Result<usize> {
    file.seek(SeekFrom::Start(0))?;
    let (mut rest, mut lines, mut buffer) = (offset, 0, vec![0_u8; 1 << 16]);
    while rest > 0 {
        let part = buffer.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        file.read_exact(&mut buffer[..part])?;
        lines += buffer[..part].iter().filter(|byte| **byte == b'\n').count();
        rest -= part as u64;
    }
    Ok(lines)
}

/// The newest ids of a rotated file. Each line begins with its id.
fn ids_before(file: &Path) -> io::Result<BTreeSet<String>> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        read => read?,
    };
    let id_of = |line: &[u8]| {
        let rest = line.strip_prefix(b"{\"id\":\"")?;
        std::str::from_utf8(rest.split(|byte| *byte == b'"').next()?).ok().map(str::to_owned)
    };
    Ok(text.rsplit(|byte| *byte == b'\n').filter_map(id_of).take(MAX_IDS).collect())
}
