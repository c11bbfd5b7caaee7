//! `dlq/outbound.jsonl`: messages that cannot be sent, read off the outbox; the last line of an id counts (orchestrator 7.3, 9).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    queue::{OutboxRow, Queue, QueueError, RowState},
    seal::sha256,
    workspace::append_lines,
};

/// The state of a message that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LetterState {
    /// Nobody has decided about it.
    Dead,
    /// Somebody queued it again.
    Retried,
    /// Somebody gave it up.
    Dropped,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LetterLine {
    pub(super) id: String,
    at: u64,
    provider: String,
    chat: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    text: String,
    #[serde(default)]
    files: Vec<String>,
    attempts: u32,
    error: LetterFault,
    key: String,
    pub(super) state: LetterState,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LetterFault {
    code: String,
    message: String,
}

impl LetterLine {
    fn of(row: &OutboxRow, at: u64, state: LetterState) -> Self {
        let place = row.message.place.clone();
        let (code, message) = row.error.clone().unwrap_or_default();
        Self {
            id: id_of(row),
            at,
            provider: place.provider,
            chat: place.chat,
            thread: place.thread,
            text: row.message.text.clone(),
            files: row.message.file.iter().cloned().collect(),
            attempts: row.attempts,
            error: LetterFault { code, message },
            key: row.message.key.clone(),
            state,
        }
    }
}

fn id_of(row: &OutboxRow) -> String {
    sha256(&row.message.key)[..16].to_owned()
}

/// The file, and the last line of each id.
#[derive(Debug)]
pub(super) struct LetterFile {
    file: PathBuf,
    last: BTreeMap<String, LetterLine>,
}

impl LetterFile {
    /// Opens the file; returns warnings about unreadable lines, too.
    pub(super) fn open(file: &Path) -> io::Result<(Self, Vec<String>)> {
        let bytes = match fs::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let (mut last, mut warnings) = (BTreeMap::new(), Vec::new());
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            match serde_json::from_slice::<LetterLine>(line) {
                Ok(line) => drop(last.insert(line.id.clone(), line)),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(error) => warnings.push(format!("`{}` line {number} cannot be read and is left out: {error}", file.display())),
            }
        }
        Ok((Self { file: file.to_owned(), last }, warnings))
    }

    /// Brings the file up to date with the outbox; returns the messages that are dead since the last time.
    pub(super) async fn catch_up(&mut self, queue: &Queue, now: u64) -> Result<Vec<OutboxRow>, LetterFileError> {
        let dead = queue.in_state(RowState::Dead).await?;
        let keys: BTreeSet<&str> = dead.iter().map(|row| &*row.message.key).collect();
        let mut lines = Vec::new();
        for line in self.last.values().filter(|line| line.state == LetterState::Dead && !keys.contains(&*line.key)) {
            let row = queue.row_by_key(&line.key).await?;
            let state = if row.is_none_or(|row| row.state == RowState::Dropped) { LetterState::Dropped } else { LetterState::Retried };
            lines.push(LetterLine { at: now, state, ..line.clone() });
        }
        let is_known = |row: &OutboxRow| self.last.get(&id_of(row)).is_some_and(|line| line.state == LetterState::Dead);
        let new: Vec<OutboxRow> = dead.iter().filter(|row| !is_known(row)).cloned().collect();
        lines.extend(new.iter().map(|row| LetterLine::of(row, now, LetterState::Dead)));
        if !lines.is_empty() {
            let texts = lines.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
            append_lines(&self.file, &texts)?;
            self.last.extend(lines.into_iter().map(|line| (line.id.clone(), line)));
        }
        Ok(new)
    }
}

/// The dead letters cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum LetterFileError {
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error("the dead letters cannot be written: {0}")]
    Io(#[from] io::Error),
}
