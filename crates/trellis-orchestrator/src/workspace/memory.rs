//! The memory: `memory/MEMORY.md` and a file for each day, which people edit too (orchestrator 5.4).

use std::{fs, io, path::PathBuf, sync::Arc};

use jiff::{Zoned, civil::Date};
use tokio::sync::Mutex;
use unicode_normalization::UnicodeNormalization as _;

use super::{Workspace, append_line};

/// Lines that a search returns.
const MAX_FOUND: usize = 20;

/// A line for the file of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLine {
    /// The day, which names the file.
    pub day: String,
    /// The line.
    pub text: String,
    /// Equal lines that stood in the file before.
    pub equal: u32,
}

/// The memory of a workspace.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(super) folder: PathBuf,
    /// The list of the days that went into the long-term memory.
    pub(super) taken: PathBuf,
    /// Held by whoever writes a line.
    pub(crate) writing: Arc<Mutex<()>>,
}

impl Memory {
    /// The memory of this workspace.
    pub fn of(workspace: &Workspace) -> Self {
        Self { folder: workspace.path("memory"), taken: workspace.path("runtime/consolidated.json"), writing: Arc::default() }
    }

    /// Returns the long-term memory.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn long(&self) -> io::Result<String> {
        self.read("MEMORY.md")
    }

    /// Returns the notes of a day.
    ///
    /// # Errors
    /// As [`Memory::long`].
    pub fn day(&self, day: Date) -> io::Result<String> {
        self.read(&format!("{day}.md"))
    }

    /// The line `- HH:MM text` of a moment, for [`Memory::write`]. Line breaks become blanks: it is one line.
    ///
    /// # Errors
    /// As [`Memory::long`].
    pub fn line(&self, text: &str, now: &Zoned) -> io::Result<MemoryLine> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = format!("- {} {}", now.strftime("%H:%M"), words.join(" "));
        let day = now.date().to_string();
        Ok(MemoryLine { equal: self.equal(&day, &text)?, day, text })
    }

    /// Writes a line into the file of its day, unless it stands there already since [`Memory::line`] made it.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn write(&self, line: &MemoryLine) -> io::Result<()> {
        if self.equal(&line.day, &line.text)? > line.equal {
            return Ok(());
        }
        append_line(&self.folder.join(format!("{}.md", line.day)), &line.text)
    }

    /// The number of lines of a day that are this one.
    fn equal(&self, day: &str, text: &str) -> io::Result<u32> {
        let count = self.read(&format!("{day}.md"))?.lines().filter(|line| *line == text).count();
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The lines that have all words of a query, or else those that have most of them, with their files; the newest days first.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn search(&self, query: &str) -> io::Result<Vec<(String, String)>> {
        let words: Vec<String> = fold_case(query).split_whitespace().map(str::to_owned).collect();
        let mut files: Vec<String> =
            fs::read_dir(&self.folder)?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        files.retain(|name| name.ends_with(".md"));
        files.sort_unstable_by(|one, other| other.cmp(one));
        let mut found = Vec::new();
        for file in files {
            for line in self.read(&file)?.lines().rev().filter(|line| !line.trim().is_empty()) {
                let text = fold_case(line);
                let hits = words.iter().filter(|word| text.contains(&***word)).count();
                if hits > 0 {
                    found.push((words.len() - hits, file.clone(), line.trim().to_owned()));
                }
            }
        }
        found.sort_by_key(|(missing, ..)| *missing);
        Ok(found.into_iter().take(MAX_FOUND).map(|(_, file, line)| (file, line)).collect())
    }

    /// The bytes of all files, and the number of days that have one.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn size(&self) -> io::Result<(u64, u64)> {
        let (mut bytes, mut days) = (0, 0);
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".md")) else { continue };
            bytes += entry.metadata().map_or(0, |metadata| metadata.len());
            days += u64::from(name.parse::<Date>().is_ok());
        }
        Ok((bytes, days))
    }

    fn read(&self, name: &str) -> io::Result<String> {
        match fs::read(self.folder.join(name)) {
            // People write these files with programs of all kinds.
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        }
    }
}

/// A text for comparison: letters of one form, in lower case.
pub(super) fn fold_case(text: &str) -> String {
    text.nfkc().collect::<String>().to_lowercase()
}
