//! Consolidation of the memory: moves old notes into `MEMORY.md` (orchestrator 5.4).
//!
//! **Invariant:** at every moment `MEMORY.md` has its old or its whole new text, and the previous one is in `memory/backup/`.

use std::{collections::BTreeMap, fmt::Write as _, fs, io, os::unix::fs::DirBuilderExt as _};

use jiff::{Timestamp, ToSpan as _, civil::Date};
use serde::{Deserialize, Serialize};

use super::{Memory, memory::fold_case, write_whole};
use crate::{fence::in_fence, seal::sha256};

/// The name of the long-term memory.
const LONG: &str = "MEMORY.md";
/// Days that stay as they are, before today.
const FRESH: i64 = 2;
/// Lines of a new memory.
const MAX_MEMORY_LINES: usize = 200;
/// Number of stored versions.
const BACKUPS: usize = 30;
/// The newest form of the list of days.
const CONSOLIDATION_VERSION: u32 = 1;

/// The memory was not replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsolidationError {
    /// Somebody wrote into it since it was read.
    #[error("the memory was changed meanwhile, so it stays as it is")]
    Changed,
    /// The new one says nothing.
    #[error("the new memory is empty, so the old one stays")]
    Empty,
    /// The new one is too long.
    #[error("the new memory has {0} lines, and at most {MAX_MEMORY_LINES} are taken, so the old one stays")]
    TooLong(usize),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Days that have not gone into the memory, with the memory as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldDays {
    memory: String,
    days: Vec<(Date, String)>,
}

/// The days that went into the memory, each as it was then.
#[derive(Default, Serialize, Deserialize)]
struct Taken {
    version: u32,
    days: BTreeMap<String, String>,
}

impl OldDays {
    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// A fingerprint of the memory and the days: it changes when one of them changes.
    pub fn fingerprint(&self) -> String {
        let days: String = self.days.iter().map(|(day, text)| format!("\0{day}\0{text}")).collect();
        sha256(&format!("{}{days}", self.memory))[..16].to_owned()
    }

    /// Memory and days for a model, as data.
    pub fn text(&self) -> String {
        let days = self.days.iter().map(|(day, text)| format!("# {day}\n\n{}", in_fence(text.trim())));
        let all: Vec<String> = std::iter::once(format!("# {LONG}\n\n{}", in_fence(self.memory.trim()))).chain(days).collect();
        all.join("\n\n")
    }
}

impl Memory {
    /// Days older than two that have not gone into the memory, oldest first, of about so many bytes together.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn old_days(&self, today: Date, bytes: usize) -> io::Result<OldDays> {
        let taken = self.taken_days();
        let until = today.saturating_sub(FRESH.days());
        let is_old = |day: &Date| *day < until;
        let names = fs::read_dir(&self.folder)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut old: Vec<Date> = names.filter_map(|name| name.strip_suffix(".md")?.parse().ok()).filter(is_old).collect();
        old.sort_unstable();
        let (mut days, mut size) = (Vec::new(), 0);
        for day in old {
            let text = self.day(day)?;
            if text.trim().is_empty() || taken.days.get(&day.to_string()).is_some_and(|known| *known == sha256(&text)[..16]) {
                continue;
            }
            size += text.len();
            if size > bytes && !days.is_empty() {
                break;
            }
            days.push((day, text));
        }
        Ok(OldDays { memory: self.long()?, days })
    }

    /// Adds the lines of the days that the memory does not have, and returns how many these are.
    ///
    /// # Errors
    /// A file cannot be written; the memory is as before then.
    pub fn merge(&self, old: &OldDays, now: Timestamp) -> Result<usize, ConsolidationError> {
        let mut known: Vec<String> = old.memory.lines().map(comparable).collect();
        let (mut merged, mut count) = (old.memory.trim_end().to_owned(), 0);
        for (day, text) in &old.days {
            let mut is_first = true;
            for line in text.lines().map(without_time).filter(|line| !line.is_empty()) {
                let form = comparable(line);
                if known.contains(&form) {
                    continue;
                }
                if std::mem::take(&mut is_first) {
                    let _ = write!(merged, "{}## {day}\n\n", if merged.is_empty() { "" } else { "\n\n" });
                }
                let _ = writeln!(merged, "- {line}");
                known.push(form);
                count += 1;
            }
        }
        if count > 0 {
            self.put(&old.memory, &merged, now)?;
        }
        self.mark(old)?;
        Ok(count)
    }

    /// Puts a new text in the place of the memory.
    ///
    /// # Errors
    /// It is empty or too long, or a file cannot be written; the memory is as before then.
    pub fn replace(&self, old: &OldDays, text: &str, now: Timestamp) -> Result<(), ConsolidationError> {
        let text = text.trim();
        match text.lines().count() {
            0 => return Err(ConsolidationError::Empty),
            lines if lines > MAX_MEMORY_LINES => return Err(ConsolidationError::TooLong(lines)),
            _ => {}
        }
        // After a crash right behind the write, the text is there already.
        if old.memory.trim() != text {
            self.put(&old.memory, text, now)?;
        }
        Ok(self.mark(old)?)
    }

    /// Backs up the old version, and replaces it as a whole.
    fn put(&self, before: &str, text: &str, now: Timestamp) -> io::Result<()> {
        let backups = self.folder.join("backup");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&backups)?;
        write_whole(&backups.join(format!("{}.md", now.strftime("%Y-%m-%dT%H-%M-%S%.3fZ"))), before.as_bytes())?;
        write_whole(&self.folder.join(LONG), format!("{}\n", text.trim_end()).as_bytes())?;
        let mut backup_files: Vec<_> = fs::read_dir(&backups)?.flatten().map(|entry| entry.path()).collect();
        backup_files.sort_unstable();
        let more = backup_files.len().saturating_sub(BACKUPS);
        backup_files.iter().take(more).try_for_each(fs::remove_file)
    }

    /// Notes that days have gone into the memory.
    fn mark(&self, old: &OldDays) -> io::Result<()> {
        let mut taken = self.taken_days();
        taken.version = CONSOLIDATION_VERSION;
        taken.days.extend(old.days.iter().map(|(day, text)| (day.to_string(), sha256(text)[..16].to_owned())));
        write_whole(&self.taken, &serde_json::to_vec_pretty(&taken)?)
    }

    /// The days that went into the memory. If that is not known, they go there again, which adds no line twice.
    fn taken_days(&self) -> Taken {
        fs::read(&self.taken).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// A line of a day without its mark and its time: `- HH:MM text`.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    let text = line.strip_prefix("- ").unwrap_or(line).trim();
    match text.split_once(' ') {
        Some((time, rest)) if time.len() == 5 && time.as_bytes()[2] == b':' => rest.trim(),
        _ => text,
    }
}

/// A line for comparison: without its mark, with letters of one form, in lower case, with one blank between words.
fn comparable(line: &str) -> String {
    fold_case(without_time(line)).split_whitespace().collect::<Vec<_>>().join(" ")
}
