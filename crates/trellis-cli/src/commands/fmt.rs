//! `trellis fmt [PATH…]`: files in their canonical form.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use trellis_core::{
    Diagnostic, Document, Source,
    diagnostic::FilePath,
    syntax::{
        document::Bytes,
        format::{self, Formatted},
    },
};
use trellis_project::{Directory, FILE_LIMIT, LoadError};

use crate::{
    Exit,
    atomic_write::{Unreplaced, replace},
    diff::difference,
    open::{self, DEFAULT_PATH, Place},
    progress::Progress,
    report::{self, Checked, counted, printable},
    terminal::{self, Closed, Width},
};

/// Sorts the keys of files, and gives them their current names
///
/// Comments move with their key. Bodies, values and everything else stay byte for byte, and no graph changes its meaning. A file that
/// is not valid YAML is reported and stays unchanged; the others are still formatted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis fmt                         the graphs in `graphs`, or in the current folder
  trellis fmt graphs/support/start.md one file
  trellis fmt --check                 show the changes, and write nothing
  trellis fmt --stdin a.md < a.md     for editors: format standard input

Exit codes: 0 all files are formatted; 1 some would change (`--check`), or are not valid YAML;
2 a file could not be read or written.")]
pub(crate) struct Fmt {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    paths: Vec<PathBuf>,
    /// Show the changes, and write nothing
    #[arg(long)]
    check: bool,
    /// Format standard input, as the text of FILE, to standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "check"])]
    stdin: Option<PathBuf>,
}

/// A file and its outcome.
type FormattedFile = (FilePath, Result<FormatOutcome, LoadError>);

/// The outcome of formatting one file.
enum FormatOutcome {
    Same,
    Changed,
    /// With the difference, in colours.
    WouldChange(String),
    Broken(Arc<str>, Vec<Diagnostic>),
    Unwritten(Unreplaced),
    /// After a file that could not be written.
    Untried,
}

/// Files by outcome.
#[derive(Default)]
struct Count {
    files: usize,
    changed: usize,
    broken: usize,
    unread: usize,
    unwritten: usize,
    untried: usize,
}

impl Fmt {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if let Some(file) = &self.stdin {
            return stdin(&file.to_string_lossy());
        }
        let mut places = Vec::new();
        for path in if self.paths.is_empty() { vec![None] } else { self.paths.iter().map(|path| Some(path.as_path())).collect() } {
            places.extend(open::places(path)?);
        }
        let stopped = AtomicBool::new(false);
        let mut count = Count::default();
        for place in &places {
            let progress = Progress::begin("formatting");
            progress.at(&place.path.to_string_lossy());
            let outcomes = self.format(place, &stopped)?;
            drop(progress);
            for (path, outcome) in outcomes {
                count.tell(place, &path, outcome)?;
            }
        }
        terminal::print(&format!("{}\n", count.line(self.check)))?;
        Ok(match count {
            _ if count.unread + count.unwritten > 0 => Exit::Usage,
            Count { broken, changed, .. } if broken > 0 || self.check && changed > 0 => Exit::Failed,
            _ => Exit::Fine,
        })
    }

    /// Formats the files of one graph; nothing more is written once `stopped`.
    fn format(&self, place: &Place, stopped: &AtomicBool) -> Result<Vec<FormattedFile>, LoadError> {
        let directory = Directory::new(&place.path)?;
        trellis_project::format(&directory, |path, formatted| match formatted {
            Formatted::Same => FormatOutcome::Same,
            Formatted::Broken { text, diagnostics } => FormatOutcome::Broken(text, diagnostics),
            Formatted::Changed { from, to } if self.check => FormatOutcome::WouldChange(difference(&place.shown(path), &from, &to)),
            Formatted::Changed { .. } if stopped.load(Ordering::Relaxed) => FormatOutcome::Untried,
            Formatted::Changed { from, to } => match replace(&directory.root().join(&**path), from.as_bytes(), to.as_bytes()) {
                Ok(()) => FormatOutcome::Changed,
                Err(error @ Unreplaced::Changed) => FormatOutcome::Unwritten(error),
                Err(error) => {
                    stopped.store(true, Ordering::Relaxed);
                    FormatOutcome::Unwritten(error)
                }
            },
        })
    }
}

impl Count {
    /// Reports the outcome of a file, if it matters to a person.
    fn tell(&mut self, place: &Place, path: &FilePath, outcome: Result<FormatOutcome, LoadError>) -> anyhow::Result<()> {
        self.files += 1;
        let shown = place.shown(path);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.unread += 1;
                terminal::print_error(&report::failure(&error.into()));
                return Ok(());
            }
        };
        match outcome {
            FormatOutcome::Same => {}
            FormatOutcome::Changed => {
                self.changed += 1;
                terminal::print(&format!("formatted {}\n", printable(&shown)))?;
            }
            FormatOutcome::WouldChange(difference) => {
                self.changed += 1;
                terminal::print(&difference)?;
            }
            FormatOutcome::Broken(text, diagnostics) => {
                self.broken += 1;
                terminal::print_error(&findings(&shown, path, text, diagnostics));
            }
            FormatOutcome::Unwritten(error) => {
                self.unwritten += 1;
                let unwritten = match &error {
                    Unreplaced::Changed => format!("`{shown}` is not formatted"),
                    _ => format!("`{shown}` cannot be written, it is as it was"),
                };
                terminal::print_error(&report::failure(&anyhow::Error::new(error).context(unwritten)));
            }
            FormatOutcome::Untried => self.untried += 1,
        }
        Ok(())
    }

    /// One line, as `12 files, 3 formatted, 1 left alone`.
    fn line(&self, check: bool) -> String {
        let mut line = counted(self.files, "file");
        let counts = [
            (self.changed, if check { "would change" } else { "formatted" }),
            (self.broken, "left alone"),
            (self.unread, "not read"),
            (self.unwritten, "not written"),
            (self.untried, "not tried after that"),
        ];
        let counts: String = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
        line += if counts.is_empty() { ", all formatted" } else { &counts };
        line
    }
}

/// Formats standard input as the text of `file`.
fn stdin(file: &str) -> anyhow::Result<Exit> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(FILE_LIMIT + 1).read_to_end(&mut bytes).context("standard input cannot be read")?;
    let size = bytes.len() as u64;
    let path = file.replace('\\', "/").trim_start_matches("./").into();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let bytes = if size > FILE_LIMIT { Bytes::TooLarge { size, limit: FILE_LIMIT } } else { Bytes::Read(bytes.into()) };
    let source = Source { path, bytes };
    match format::format(&source) {
        Formatted::Same => print_as_it_is(&text)?,
        Formatted::Changed { to, .. } => print_as_it_is(&to)?,
        Formatted::Broken { text, diagnostics } => {
            terminal::print_error(&findings(file, &source.path, text, diagnostics));
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Fine)
}

/// Writes a file's text to standard output, byte for byte, whatever looks like a style in it.
fn print_as_it_is(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        other => Ok(other?),
    }
}

/// Describes for people why a file is left alone: the first finding; `check` shows the rest.
fn findings(shown: &str, path: &FilePath, text: Arc<str>, mut diagnostics: Vec<Diagnostic>) -> String {
    let more = diagnostics.len().saturating_sub(1);
    diagnostics.truncate(1);
    let document = Document::broken(FilePath::clone(path), text);
    let shown_below = shown.strip_suffix(&**path).unwrap_or_default().to_owned();
    let (below, documents) = (String::new(), vec![Arc::new(document)]);
    let checked = Checked { shown_below, below, documents, diagnostics, nodes: 0, unchecked: Vec::new() };
    let more = if more == 0 { String::new() } else { format!("and {more} more in this file\n\n") };
    report::human(&[checked], Width::of(&io::stderr())) + &more
}
