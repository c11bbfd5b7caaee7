//! `tasks/details/<task>.md`: the events of a task for people, a section each; rebuilt from the events where some are missing.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, tz::TimeZone};

use super::{EventLog, WorkflowEvent};
use crate::workspace::{append_lines, write_whole};

/// The beginning of a section.
const HEAD: &str = "## ";

/// The folder of the files.
#[derive(Debug)]
pub(super) struct Details(pub(super) PathBuf);

impl Details {
    /// Appends events to the files of their tasks.
    pub(super) fn append(&self, events: &[WorkflowEvent]) -> io::Result<()> {
        for event in events {
            if let Some(task) = &event.task {
                append_lines(&self.file(task), &[section(event)])?;
            }
        }
        Ok(())
    }

    /// Rebuilds those files that have another number of sections than the log has events, such as after a crash in between.
    pub(super) fn catch_up(&self, log: &EventLog) -> io::Result<()> {
        for (task, offsets) in &log.index().tasks {
            let file = self.file(task);
            if sections(&file)? < offsets.len() {
                let text: Vec<String> = log.of_task(task)?.iter().map(section).collect();
                write_whole(&file, (text.join("\n") + "\n").as_bytes())?;
            }
        }
        Ok(())
    }

    fn file(&self, task: &str) -> PathBuf {
        // Names of tasks consist of letters and digits; a name by an operator cannot become a path either.
        let name: String = task.chars().map(|char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' }).collect();
        self.0.join(format!("{name}.md"))
    }
}

fn sections(file: &Path) -> io::Result<usize> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        // The whole file is rebuilt.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(0),
        text => Ok(text?.lines().filter(|line| line.starts_with(HEAD)).count()),
    }
}

/// An event as a section. A line of its text cannot be the head of another one, since the text is one line.
fn section(event: &WorkflowEvent) -> String {
    let at = i64::try_from(event.at).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or_default();
    let at = at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    format!("{HEAD}{at} {}\n\n> {}\n", event.kind.as_str(), event.summary)
}
