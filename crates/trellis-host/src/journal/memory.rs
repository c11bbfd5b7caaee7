//! Records in memory, until they are taken.

use super::Record;

/// Another writer appended first: reload the session and try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {offered} cannot be appended: the journal continues with {expected}")]
pub struct Conflict {
    /// The `seq` that comes next.
    pub expected: u64,
    /// The `seq` that was offered.
    pub offered: u64,
}

/// A journal in memory: records until they are taken.
///
/// Until records are taken for the first time, [`MemoryJournal::forget`] keeps the newest only, as a history to look at.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    first: u64,
    pub(super) records: Vec<Record>,
    /// True if records are taken, and none may be lost.
    is_taken: bool,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty journal whose first record will have the number `first`: a store has those before.
    pub fn since(first: u64) -> Self {
        Self { first, records: Vec::new(), is_taken: true }
    }

    /// The `seq` that comes next.
    pub fn next_seq(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Takes out all records; the numbers continue. From now on none is forgotten.
    pub fn take(&mut self) -> Vec<Record> {
        self.first = self.next_seq();
        self.is_taken = true;
        std::mem::take(&mut self.records)
    }

    /// Forgets all but the newest `count` records, unless records are taken or a store has those before. It waits until there are twice as many, so
    /// that the cost per record does not depend on their number.
    pub fn forget(&mut self, count: usize) {
        if !self.is_taken && self.records.len() >= count.saturating_mul(2) {
            let forgotten = self.records.len() - count;
            self.records.drain(..forgotten);
            self.first += forgotten as u64;
        }
    }

    /// Appends a record; its `seq` is the number that the writer expects to come next.
    ///
    /// # Errors
    /// Another record has that `seq` already, or one before it is missing; nothing was appended.
    pub fn append(&mut self, record: Record) -> Result<(), Conflict> {
        let expected = self.next_seq();
        if record.seq != expected {
            return Err(Conflict { expected, offered: record.seq });
        }
        self.records.push(record);
        Ok(())
    }

    /// Stores the checksum of the question after the last record with that record.
    pub(crate) fn note_question(&mut self, question: Option<u32>) {
        if let Some(last) = self.records.last_mut() {
            last.question = question;
        }
    }

    /// Returns all present records; the number of the first one shows how many are gone.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}
