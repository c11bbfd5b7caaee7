//! The files that were saved since the last step of a session: one of them has the edit that the session does not fit.

use std::{fs, time::UNIX_EPOCH};

use trellis_core::diagnostic::FilePath;
use trellis_orchestrator::visible::visible_line;

use super::format_time::date_time;
use crate::open::Opened;

/// The number of files that are named.
const MAX_NAMED_EDITS: usize = 3;

/// The times at which the files of the graph were saved, the oldest first.
#[derive(Default)]
pub(super) struct Edits(Vec<(u64, FilePath)>);

impl Edits {
    pub(super) fn of(opened: &Opened) -> Self {
        let saved = |path: &FilePath| {
            let saved = fs::metadata(opened.project.root()?.join(&**path)).ok()?.modified().ok()?;
            u64::try_from(saved.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
        };
        let files =
            opened.project.documents().iter().filter_map(|document| Some((saved(&document.path)?, FilePath::clone(&document.path))));
        let mut files: Vec<_> = files.collect();
        files.sort_unstable();
        Self(files)
    }

    /// The files that were saved after a moment.
    pub(super) fn since(&self, moment: u64) -> &[(u64, FilePath)] {
        &self.0[self.0.partition_point(|(saved, _)| *saved <= moment)..]
    }

    /// `` (`pay.md` 2026-11-21 14:02:10) ``: the first of them, where they are not too many to say anything.
    pub(super) fn description(&self, moment: u64) -> String {
        match self.since(moment) {
            [] => String::new(),
            files if files.len() > MAX_NAMED_EDITS => format!(" ({} files were saved since)", files.len()),
            files => {
                let files: Vec<_> = files.iter().map(|(saved, path)| format!("`{}` {}", visible_line(path), date_time(*saved))).collect();
                format!(" ({})", files.join(", "))
            }
        }
    }
}
