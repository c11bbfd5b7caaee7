//! `trellis test --watch`: after each save, runs the cases that the save affects.
//!
//! **Invariant:** it ends on an interrupt or when its output is closed, never because of a change of files.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use trellis_project::{Wake, Watch, default_path};

use super::{
    ResultFormat, Test,
    run::{Tested, expect_cases, play_all, suites},
};
use crate::{
    Exit,
    report::printable,
    terminal::{self, Closed, QUIET},
    watch::{READER_CHECK_INTERVAL, close_on_interrupt, warn_of_polling},
};

/// Runs all cases, and after each save those that it affects, until it is interrupted.
///
/// # Errors
/// There is no case to begin with, or standard output fails.
pub(super) fn stay(test: &Test) -> anyhow::Result<Exit> {
    let first = suites(test.path.as_deref())?;
    expect_cases(test, &first)?;
    let path = match &test.path {
        Some(path) if path.is_file() => first.iter().map(|tested| tested.suite.root().to_owned()).next(),
        path => path.clone(),
    };
    let tests = first.iter().map(|tested| tested.suite.sheets_folder());
    let paths: Vec<PathBuf> = std::iter::once(path.unwrap_or_else(default_path)).chain(tests).collect();
    let mut watch = if test.poll { Watch::polling(paths) } else { Watch::new(paths) };
    close_on_interrupt(watch.closer())?;
    warn_of_polling(watch.trouble());
    let mut round = Round { test, files: files(&first), trouble: None };
    watch.also(round.files.keys().map(PathBuf::as_path));
    round.play(&first)?;
    loop {
        match watch.next(Some(READER_CHECK_INTERVAL)) {
            Wake::Closed => break,
            Wake::Elapsed if terminal::is_closed() => return Err(Closed.into()),
            Wake::Elapsed => continue,
            Wake::Changed => round.again()?,
        }
        watch.also(round.files.keys().map(PathBuf::as_path));
    }
    if std::io::stdout().is_terminal() {
        terminal::print("\n")?;
    }
    Ok(Exit::Fine)
}

/// The files that cases depend on, with their bytes.
type FileBytes = BTreeMap<PathBuf, Vec<u8>>;

fn files(suites: &[Tested]) -> FileBytes {
    suites.iter().flat_map(|tested| tested.suite.files()).collect()
}

/// The last round: the files that were played.
struct Round<'t> {
    test: &'t Test,
    files: FileBytes,
    /// The reason, if nothing could be played.
    trouble: Option<String>,
}

impl Round<'_> {
    /// Plays what changed since the last time, if anything did.
    fn again(&mut self) -> anyhow::Result<()> {
        let mut suites = match suites(self.test.path.as_deref()) {
            Ok(suites) => suites,
            Err(error) => {
                let trouble = format!("error: {}\n", printable(&error.to_string()));
                if self.trouble.as_ref() != Some(&trouble) {
                    terminal::print_error(&trouble);
                }
                self.trouble = Some(trouble);
                return Ok(());
            }
        };
        let before = std::mem::replace(&mut self.files, files(&suites));
        let was_in_trouble = self.trouble.take().is_some();
        let paths: BTreeSet<&PathBuf> = before.keys().chain(self.files.keys()).collect();
        let changed: BTreeSet<PathBuf> = paths.into_iter().filter(|path| before.get(*path) != self.files.get(*path)).cloned().collect();
        if changed.is_empty() && !was_in_trouble {
            return Ok(());
        }
        // Only all cases together determine the coverage.
        if self.test.coverage.is_empty() && self.test.fail_under.is_empty() && !was_in_trouble {
            suites.iter_mut().for_each(|tested| affected(tested, &changed));
        }
        if self.test.format == ResultFormat::Human {
            let shown: Vec<_> = changed.iter().map(|path| shown(path)).collect();
            terminal::print(&format!("\n{QUIET}{} changed{QUIET:#}\n", shown.join(", ")))?;
        }
        self.play(&suites)
    }

    fn play(&self, suites: &[Tested]) -> anyhow::Result<()> {
        play_all(self.test, suites)?;
        if self.test.format == ResultFormat::Human && std::io::stdout().is_terminal() {
            terminal::print(&format!("{QUIET}waiting for changes; Ctrl-C ends it{QUIET:#}\n"))?;
        }
        Ok(())
    }
}

/// A path without the folder where everything is.
fn shown(path: &Path) -> String {
    let shown = path.display().to_string();
    printable(shown.strip_prefix("./").unwrap_or(&shown)).into_owned()
}

/// Leaves out the sheets that a change does not affect: where only sheets changed, the others.
fn affected(tested: &mut Tested, changed: &BTreeSet<PathBuf>) {
    let suite = &mut tested.suite;
    let files = suite.files();
    let folder = suite.sheets_folder();
    let is_sheet = |path: &PathBuf| path.starts_with(&folder) && path.extension().is_some_and(|extension| extension == "md");
    let is_mine = |path: &&PathBuf| files.contains_key(*path) || path.starts_with(suite.root());
    if changed.iter().filter(is_mine).all(is_sheet) {
        suite.sheets.retain(|sheet| changed.contains(&sheet.path));
        suite.errors.retain(|error| changed.contains(&error.path));
    }
}
