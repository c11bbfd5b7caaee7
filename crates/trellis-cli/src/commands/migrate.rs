//! `trellis migrate [PATH…]`: converts graphs of Go Trellis to this language.

use std::{fmt::Write as _, io, path::PathBuf};

use clap::ValueEnum;
use trellis_core::Dialect;
use trellis_project::{
    Directory,
    fix::each_once,
    migrate::{Migration, Undecided, migrate},
};

use crate::{
    Exit,
    diff::difference,
    fix::write,
    open::{self, DEFAULT_PATH, Place},
    progress::Progress,
    report::{self, Checked, Summary, printable},
    terminal::{self, Width},
};

/// Brings graphs of Go Trellis over
///
/// Sets the dialect of their templates, renames keys, removes what says nothing here, and declares the tools that only a Go program registered. Comments,
/// line breaks and the order of keys stay. What is left to decide is printed with its reason; a second run changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis migrate                     the graphs in `graphs`, or in the current folder
  trellis migrate flows/support       one graph
  trellis migrate --dry-run           write nothing; show what would change
  trellis migrate --to jinja          also write `{{ .x }}` as `{{ x }}`

Exit codes: 0 the graphs are migrated, and no error is left; 1 errors are left to decide;
2 a file or folder could not be read or written.")]
pub(crate) struct Migrate {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    paths: Vec<PathBuf>,
    /// Write nothing, show what would change
    #[arg(long)]
    dry_run: bool,
    /// Convert the templates to this dialect [default: the one they are written in]
    #[arg(long, value_enum, value_name = "DIALECT")]
    to: Option<To>,
}

/// The dialects that templates are converted to.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// `{{ x }}`
    Jinja,
    /// `{{ .x }}`
    Go,
}

/// Result of migrating all graphs of a run.
#[derive(Default)]
struct Outcome {
    graphs: Vec<Checked>,
    said: String,
    done: usize,
    left: usize,
    /// True if a file could not be read or written.
    is_broken: bool,
}

impl Migrate {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut places = Vec::new();
        for path in if self.paths.is_empty() { vec![None] } else { self.paths.iter().map(|path| Some(path.as_path())).collect() } {
            places.extend(open::places(path)?);
        }
        let mut outcome = Outcome::default();
        for place in &places {
            self.migrate(place, &mut outcome)?;
        }
        let findings = report::human(&outcome.graphs, Width::of(&io::stdout()));
        let verb = if self.dry_run { "would change" } else { "changed" };
        let mut line = match outcome.done {
            0 => "nothing to change".to_owned(),
            count => format!("{count} {verb}"),
        };
        if outcome.left > 0 {
            let _ = write!(line, ", {} left to decide", outcome.left);
        }
        let summary = Summary::of(&outcome.graphs);
        let broken = if outcome.is_broken { "; some files could not be read or written" } else { "" };
        terminal::print(&format!("{}{findings}{line}; {}{broken}\n", outcome.said, summary.line()))?;
        Ok(match summary.errors {
            _ if outcome.is_broken => Exit::Usage,
            0 => Exit::Fine,
            _ => Exit::Failed,
        })
    }

    fn migrate(&self, place: &Place, outcome: &mut Outcome) -> anyhow::Result<()> {
        let progress = Progress::begin("migrating");
        progress.at(&place.path.to_string_lossy());
        let directory = Directory::new(&place.path)?;
        let root = directory.root().to_owned();
        let to = self.to.map(|to| match to {
            To::Jinja => Dialect::Jinja,
            To::Go => Dialect::Go,
        });
        let Migration { files, mut done, left, project, compiled } = migrate(directory, Some(root.clone()), to)?;
        drop(progress);
        for problem in project.problems() {
            terminal::print_error(&format!("error: {}\n", printable(&problem.to_string())));
        }
        if !project.problems().is_empty() {
            outcome.is_broken = true;
            terminal::print_error("note: nothing is migrated: what could not be read may be just what a name means\n");
        }
        let files = each_once(&root, files);
        done.retain(|done| files.iter().any(|file| file.path == done.path));
        if self.dry_run {
            let differences =
                files.iter().map(|file| difference(&place.shown(&file.path), file.before.as_deref().unwrap_or_default(), &file.after));
            terminal::print(&differences.collect::<String>())?;
        } else if let Err(unwritten) = write(&root, files) {
            let shown = place.shown(&unwritten.path);
            let error = unwritten.error.context(format!("`{shown}` is as it was"));
            terminal::print_error(&report::failure(&error));
            outcome.is_broken = true;
            done.retain(|done| unwritten.written.contains(&done.path));
        }
        let verb = if self.dry_run { "would change" } else { "changed" };
        for done in &done {
            let at = done.at.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
            let place = format!("{}{at}", place.shown(&done.path));
            let _ = writeln!(outcome.said, "{verb} {}  {}", printable(&place), printable(&done.what));
        }
        for Undecided { path, at, why, help } in &left {
            let place = format!("{}:{}:{}", place.shown(path), at.line, at.column);
            let _ = writeln!(outcome.said, "left {}  {}; {}", printable(&place), printable(why), printable(help));
        }
        outcome.done += done.len();
        outcome.left += left.len();
        if !(done.is_empty() && left.is_empty()) {
            outcome.said.push('\n');
        }
        outcome.graphs.push(Checked {
            shown_below: place.shown_below(),
            below: place.below.clone(),
            documents: project.documents().to_vec(),
            diagnostics: compiled.diagnostics,
            nodes: compiled.nodes,
            unchecked: compiled.unchecked,
        });
        Ok(())
    }
}
