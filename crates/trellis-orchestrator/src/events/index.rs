//! `events/index.json`: the offsets of each event and of those of each task in `events.jsonl`; it is rebuilt whenever it is not sound.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The newest form of the file.
pub(super) const EVENTS_VERSION: u32 = 1;
/// Events that are known by their ids.
pub(super) const MAX_IDS: usize = 50_000;

/// The index of the events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventIndex {
    /// The form of the file.
    pub version: u32,
    /// The bytes of `events.jsonl` that it covers.
    pub bytes: u64,
    /// The offsets of the newest events.
    pub ids: BTreeMap<String, u64>,
    /// The offsets of the events of each task.
    pub tasks: BTreeMap<String, Vec<u64>>,
}

impl EventIndex {
    /// Notes an event that stands at an offset; `end` is the offset behind it.
    pub(super) fn note(&mut self, id: &str, task: Option<&str>, offset: u64, end: u64) {
        self.ids.insert(id.to_owned(), offset);
        if let Some(task) = task {
            self.tasks.entry(task.to_owned()).or_default().push(offset);
        }
        self.bytes = end;
    }

    /// Forgets the oldest events beyond the bound, in large steps.
    pub(super) fn trim(&mut self) {
        if self.ids.len() < MAX_IDS + MAX_IDS / 10 {
            return;
        }
        let mut offsets: Vec<u64> = self.ids.values().copied().collect();
        let oldest = *offsets.select_nth_unstable(self.ids.len() - MAX_IDS).1;
        self.ids.retain(|_, offset| *offset >= oldest);
    }

    /// The newest offset of an event.
    pub(super) fn newest(&self) -> Option<u64> {
        self.ids.values().max().copied()
    }
}
