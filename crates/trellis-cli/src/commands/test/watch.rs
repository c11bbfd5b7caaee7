//! `trellis test --watch`: after each save, runs the cases that the save affects.
//!
//! **Invariant:** it ends on an interrupt or when its output is closed, never because of a change of files.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::IsTerminal as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use trellis_project::{Wake, Watch, default_path};
use trellis_trial::{
    Update,
    wire::{Case, Outcome},
};

use super::{
    ResultFormat, Test, is_ci,
    keys::{Keys, WatchKey},
    run::{Ran, play_all},
    suites::{Tested, expect_cases, suites},
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
    close_on_interrupt(watch.handle())?;
    warn_of_polling(watch.trouble());
    let keys = if test.format == ResultFormat::Human { Keys::listen(watch.handle())? } else { None };
    let mut round = Round {
        test,
        has_keys: keys.is_some(),
        files: files(&first),
        suites: Vec::new(),
        cases: Vec::new(),
        failed: BTreeSet::new(),
        trouble: None,
    };
    watch.also(round.files.keys().map(PathBuf::as_path));
    round.play(first, None)?;
    'watching: loop {
        match watch.next(Some(READER_CHECK_INTERVAL)) {
            Wake::Closed => break,
            Wake::Elapsed if terminal::is_closed() => return Err(Closed.into()),
            Wake::Elapsed => continue,
            Wake::Changed => {}
        }
        while let Some(key) = keys.as_ref().and_then(Keys::next) {
            if key == WatchKey::Quit {
                break 'watching;
            }
            round.pressed(key)?;
        }
        round.again()?;
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

/// The last round: the files, and what was played.
struct Round<'t> {
    test: &'t Test,
    /// True if a person can press keys.
    has_keys: bool,
    files: FileBytes,
    /// The suites of the round, as they were read then.
    suites: Vec<Tested>,
    /// The cases of the round, with their outcomes.
    cases: Vec<Case>,
    /// The ids of all cases that failed when they were played last.
    failed: BTreeSet<String>,
    /// The reason why nothing could be played, if nothing could.
    trouble: Option<String>,
}

impl Round<'_> {
    /// Plays what changed since the last time, if anything did.
    fn again(&mut self) -> anyhow::Result<()> {
        let was_in_trouble = self.trouble.is_some();
        let before = std::mem::take(&mut self.files);
        let Some(mut suites) = self.read() else {
            self.files = before;
            return Ok(());
        };
        self.files = files(&suites);
        let paths: BTreeSet<&PathBuf> = before.keys().chain(self.files.keys()).collect();
        let changed: BTreeSet<PathBuf> = paths.into_iter().filter(|path| before.get(*path) != self.files.get(*path)).cloned().collect();
        if changed.is_empty() && !was_in_trouble {
            return Ok(());
        }
        if self.is_narrow() && !was_in_trouble {
            suites.iter_mut().for_each(|tested| affected(tested, &changed));
        }
        if self.test.format == ResultFormat::Human {
            let shown: Vec<_> = changed.iter().map(|path| shown(path)).collect();
            terminal::print(&format!("\n{QUIET}{} changed{QUIET:#}\n", shown.join(", ")))?;
        }
        self.play(suites, None)
    }

    /// Does what a key means.
    fn pressed(&mut self, key: WatchKey) -> anyhow::Result<()> {
        let is_shown = |case: &&Case| case.outcome == Outcome::Failed;
        let only: Option<BTreeSet<String>> = match key {
            WatchKey::Failed => Some(self.failed.clone()),
            WatchKey::Accept => Some(self.cases.iter().filter(is_shown).map(|case| case.id.clone()).collect()),
            WatchKey::Again => Some(self.cases.iter().map(|case| case.id.clone()).collect()),
            WatchKey::All | WatchKey::Quit => None,
        };
        let refusal = match key {
            WatchKey::Failed if self.failed.is_empty() => Some("no case failed"),
            WatchKey::Accept if is_ci() => Some("`CI` is set: nothing is written"),
            WatchKey::Accept if only.as_ref().is_some_and(BTreeSet::is_empty) => Some("nothing is shown that could be accepted"),
            _ => None,
        };
        if let Some(refusal) = refusal {
            return terminal::print(&format!("\n{QUIET}{refusal}{QUIET:#}\n"));
        }
        // What is shown came from the files as they were then.
        let (suites, update) = match key {
            WatchKey::Accept => (Some(std::mem::take(&mut self.suites)), Some(Update::All)),
            _ => (self.read(), None),
        };
        let Some(mut suites) = suites else { return Ok(()) };
        if update.is_some() || self.is_narrow() {
            only.iter().for_each(|only| suites.iter_mut().for_each(|tested| tested.restrict(only)));
        }
        if key == WatchKey::All {
            // What changed since the last round is played along; after another key it is played next.
            self.files = files(&suites);
        }
        terminal::print("\n")?;
        self.play(suites, update)
    }

    /// Reads everything anew; the reason why that failed is told once.
    fn read(&mut self) -> Option<Vec<Tested>> {
        match suites(self.test.path.as_deref()) {
            Ok(suites) => {
                self.trouble = None;
                Some(suites)
            }
            Err(error) => {
                let trouble = format!("error: {}\n", printable(&error.to_string()));
                if self.trouble.as_ref() != Some(&trouble) {
                    terminal::print_error(&trouble);
                }
                self.trouble = Some(trouble);
                None
            }
        }
    }

    /// Returns true if a round may leave cases out: what is covered, only all cases together say.
    fn is_narrow(&self) -> bool {
        self.test.coverage.is_empty() && self.test.fail_under.is_empty()
    }

    fn play(&mut self, suites: Vec<Tested>, update: Option<Update>) -> anyhow::Result<()> {
        let Ran { cases, .. } = play_all(self.test, &suites, update, Arc::default())?;
        for case in &cases {
            match case.outcome {
                Outcome::Failed => drop(self.failed.insert(case.id.clone())),
                Outcome::Skipped => {}
                _ => drop(self.failed.remove(&case.id)),
            }
        }
        (self.suites, self.cases) = (suites, cases);
        if self.test.format == ResultFormat::Human && std::io::stdout().is_terminal() {
            let keys = if self.has_keys { "a all, f failed, u accept what is shown, Enter again, q quit" } else { "Ctrl-C ends it" };
            terminal::print(&format!("{QUIET}waiting for changes; {keys}{QUIET:#}\n"))?;
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
