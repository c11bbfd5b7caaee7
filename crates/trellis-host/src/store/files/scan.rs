//! Reading a journal line by line: its records, and the end of its appends.
//!
//! An append happened when its last line is whole. After it there may be the rest of another append after a crash, which is left out. A line that
//! cannot be read and is not such a rest is a stored record that was damaged: it keeps its number.

use std::{
    io::{self, BufRead},
    sync::Arc,
};

use super::line::{self, CheckedLine, LineKind, Mark};

/// The lines read so far.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The records, without those of an append that did not happen.
    pub(super) rows: Vec<Scanned>,
    /// The head of the last append.
    pub(super) mark: Option<Mark>,
    /// The number behind the last append.
    pub(super) next: u64,
    /// The end of the last append, in bytes.
    pub(super) end: u64,
    /// The snapshot in the journal.
    pub(super) snapshot: Option<(u64, Arc<str>)>,
    /// Records before this number are left out.
    from: u64,
    /// The beginning of the next line.
    offset: u64,
    /// The number that the next line should have; `None` if the first record has it.
    expected: Option<u64>,
    /// Records of an append whose last line did not come yet.
    pending: Vec<Scanned>,
    /// Lines since the last good one that could not be read: where they begin, where they end, and why.
    damaged: Vec<(u64, u64, &'static str)>,
}

/// A record, and where its line begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) seq: u64,
    pub(super) offset: u64,
    pub(super) text: Result<Arc<str>, String>,
}

impl Scan {
    /// Begins at `offset`, where a line begins: that of record `expected`, where that is known. Records before `from` are left out.
    pub(super) fn new(offset: u64, expected: Option<u64>, from: u64) -> Self {
        Self { next: expected.unwrap_or_default(), end: offset, from, offset, expected, ..Self::default() }
    }

    /// Reads until the end, or until the number of records is reached.
    pub(super) fn read(&mut self, mut lines: impl BufRead, limit: usize) -> io::Result<()> {
        let mut line = Vec::new();
        while self.rows.len() < limit {
            line.clear();
            let length = lines.read_until(b'\n', &mut line)? as u64;
            if length == 0 {
                self.finish();
                break;
            }
            if line.pop_if(|byte| *byte == b'\n').is_some() && !is_torn(&line) {
                self.take(&line, self.offset + length);
            }
            self.offset += length;
        }
        self.rows.truncate(limit);
        Ok(())
    }

    fn take(&mut self, text: &[u8], end_offset: u64) {
        match line::read(text) {
            Ok(line) if line.kind == LineKind::Seq => self.record(&line, end_offset),
            Ok(line) if line.kind == LineKind::Snapshot => self.held(&line, end_offset),
            Ok(_) => {}
            Err(_) if text.trim_ascii().is_empty() => {}
            Err(why) => {
                self.damaged.push((self.offset, end_offset, why));
                // If its line break was damaged, a good line follows at once.
                if let Some(line) = follows(text) {
                    self.record(&line, end_offset);
                }
            }
        }
    }

    fn held(&mut self, line: &CheckedLine<'_>, end_offset: u64) {
        self.snapshot = line.text().map(|text| (line.number, text.into()));
        (self.mark, self.next, self.end) = (line.mark(), line.number, end_offset);
        // If records were removed and the first line cannot be read, the first remaining one has its number.
        self.expected = self.expected.filter(|expected| *expected > 0);
    }

    fn record(&mut self, line: &CheckedLine<'_>, end_offset: u64) {
        let mut expected = self.expected.unwrap_or(line.number);
        // A line after its place is reported there as missing.
        if line.number < expected {
            return;
        }
        if self.expected.is_none() {
            self.damaged.clear();
        }
        expected = self.lost(expected, line.number);
        for seq in expected..line.number {
            let why = format!("record {seq} is missing: record {} stands in its place", line.number);
            self.push(seq, self.offset, Err(why));
        }
        let text = line.text().map(Arc::from).ok_or_else(|| "it holds no record".to_owned());
        self.push(line.number, self.offset, text);
        self.expected = Some(line.number + 1);
        if line.is_marked() {
            if self.snapshot.as_ref().is_none_or(|(held, _)| line.number >= *held) {
                self.mark = line.mark();
            }
            self.commit(line.number + 1, end_offset);
        }
    }

    /// Gives damaged lines the numbers from `expected` on, as far as `until`; a line too many is foreign. They were stored, so all before them was.
    fn lost(&mut self, mut expected: u64, until: u64) -> u64 {
        let mut end_offset = None;
        for (offset, end, why) in std::mem::take(&mut self.damaged) {
            if expected < until {
                self.push(expected, offset, Err(why.to_owned()));
                (expected, end_offset) = (expected + 1, Some(end));
            }
        }
        if let Some(end_offset) = end_offset {
            self.commit(expected, end_offset);
        }
        expected
    }

    fn finish(&mut self) {
        if let Some(expected) = self.expected {
            self.expected = Some(self.lost(expected, u64::MAX));
        }
    }

    fn push(&mut self, seq: u64, offset: u64, text: Result<Arc<str>, String>) {
        if seq >= self.from {
            self.pending.push(Scanned { seq, offset, text });
        }
    }

    fn commit(&mut self, next: u64, end: u64) {
        self.rows.append(&mut self.pending);
        // The records that the snapshot covers were stored, even if they are damaged now.
        (self.next, self.end) = (next.max(self.snapshot.as_ref().map_or(0, |(held, _)| *held)), end);
    }
}

/// Returns the record at the end of a damaged line.
fn follows(text: &[u8]) -> Option<CheckedLine<'_>> {
    let begins = LineKind::Seq.begins().as_bytes();
    let places = text.windows(begins.len()).enumerate().skip(1).filter(|(_, part)| *part == begins);
    places.filter_map(|(place, _)| line::read(&text[place..]).ok()).next()
}

/// Returns whether a part of a line was never written: its place on the disk holds zeros. A single one may as well be another byte that was damaged.
pub(super) fn is_torn(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == 0).nth(1).is_some()
}
