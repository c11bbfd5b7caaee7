//! `trellis check [PATH…]`: everything that is wrong with graphs, before they run.

use std::{
    fmt::Write as _,
    io::IsTerminal,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::bail;
use clap::ValueEnum;
use trellis_core::compile::Compiler;
use trellis_project::{
    Watch, default_path,
    fix::{AppliedFix, Fixer},
};

use crate::{
    Exit,
    check_policy::{CheckPolicy, Denied},
    fix,
    open::{self, DEFAULT_PATH, Place},
    progress::Progress,
    report::{self, Checked, Summary, counted, printable},
    terminal::{self, Look, Width},
    watch::{Checker, ReportOutput},
};

/// Checks graphs for mistakes, on every path
///
/// It checks every name, target, condition, template and tool, and shows all mistakes at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis check                       the graphs in `graphs`, or in the current folder
  trellis check graphs/tour           one graph
  trellis check --fix                 apply the safe fixes
  trellis check --fix --dry-run       show the fixes, and write nothing
  trellis check --format graphical    draw each finding, with the lines around it
  trellis check --format json | jq '.diagnostics[].message'
  trellis check --format sarif > trellis.sarif
  trellis check --deny warnings       treat warnings as errors, for example in CI
  trellis check --host                also check that every tool can be carried out here
  trellis check --host --reach        also connect to what the tools call
  trellis check --watch               check again whenever a file is saved, until Ctrl-C

Exit codes: 0 no errors; 1 errors (with `--fix`: errors that remain);
2 a file or folder could not be read or written.
With `--watch`: 0 at the end, whatever the last report found.")]
pub(crate) struct Check {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    paths: Vec<PathBuf>,
    /// The format of the findings
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    format: ReportFormat,
    /// Apply the safe fixes that findings offer, then report the remaining findings
    #[arg(long, conflicts_with = "watch")]
    fix: bool,
    /// With `--fix`, write nothing; show the changes
    #[arg(long, requires = "fix", conflicts_with = "watch")]
    dry_run: bool,
    /// Treat these codes as errors; `warnings` means all warnings
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = Denied::named)]
    deny: Vec<Denied>,
    /// Report unchecked reads, and treat everything unproved as an error
    #[arg(long)]
    strict: bool,
    /// Also report tools without a binding, commands that do not exist, and variables, secrets and files that are missing
    #[arg(long)]
    host: bool,
    /// With `--host`, also connect to what bindings call; 10 seconds each, side by side
    #[arg(long, requires = "host", conflicts_with = "watch")]
    reach: bool,
    /// Show at most this number of findings per graph, 0 for all; formats for programs always show all
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: usize,
    /// Stay open, and check again whenever a file is saved
    #[arg(long, short)]
    watch: bool,
    /// With `--watch`, look for changes every half second: for network and virtual machine folders
    #[arg(long, requires = "watch")]
    poll: bool,
}

/// The formats in which findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// For people
    Human,
    /// For people: drawn, with the lines around each place
    Graphical,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
}

impl ReportFormat {
    fn is_for_people(self) -> bool {
        matches!(self, Self::Human | Self::Graphical)
    }
}

/// The outcome of checking.
struct CheckOutcome {
    graphs: Vec<Checked>,
    /// True if every file could be read, and written.
    whole: bool,
}

impl Check {
    pub(crate) fn run(mut self) -> anyhow::Result<Exit> {
        if self.dry_run && !self.format.is_for_people() {
            bail!(
                "`--dry-run` shows a difference, which is no JSON and no SARIF\nleave `--format` out; every finding of `--format json` has its `fix`"
            );
        }
        let demands = CheckPolicy {
            host: self.host,
            reach: self.reach,
            watch: self.watch,
            strict: self.strict,
            deny: std::mem::take(&mut self.deny),
        };
        if self.watch {
            return self.stay(demands);
        }
        let began = Instant::now();
        let CheckOutcome { graphs, whole } = if self.fix { self.fix_all(&demands)? } else { self.look(&demands)? };
        let text = match self.format {
            ReportFormat::Json => report::json(&graphs),
            ReportFormat::Sarif => report::sarif(&graphs),
            ReportFormat::Github => report::github(&graphs),
            ReportFormat::Human | ReportFormat::Graphical => self.human(&graphs, began.elapsed(), whole),
        };
        terminal::print(&text)?;
        let errors = Summary::of(&graphs).errors;
        // The program ends here; taking thousands of documents apart one by one would only cost time.
        std::mem::forget(graphs);
        Ok(match errors {
            _ if !whole => Exit::Usage,
            0 => Exit::Fine,
            _ => Exit::Failed,
        })
    }

    fn look(&self, demands: &CheckPolicy) -> anyhow::Result<CheckOutcome> {
        let progress = Progress::begin("checking");
        let mut outcome = CheckOutcome { graphs: Vec::new(), whole: true };
        for place in self.places()? {
            progress.at(&place.path.to_string_lossy());
            let mut compiler = Compiler::default();
            let opened = place.open_with(&mut compiler)?;
            outcome.whole &= opened.is_whole();
            let (program, folder) = (opened.compiled.program.clone(), opened.folder().to_owned());
            let (project, mut checked) = opened.into_parts();
            demands.apply(&mut checked, program.as_deref(), &folder)?;
            outcome.graphs.push(checked);
            // As with the documents in the end: nobody waits for them to be taken apart.
            std::mem::forget((program, compiler, project));
        }
        Ok(outcome)
    }

    /// Makes the changes that findings offer; what is left is the outcome, or what is there now, with `--dry-run` and where something could not be
    /// written.
    fn fix_all(&self, demands: &CheckPolicy) -> anyhow::Result<CheckOutcome> {
        let mut outcome = CheckOutcome { graphs: Vec::new(), whole: true };
        let mut said = String::new();
        let (mut count, mut is_written) = (0, true);
        for place in self.places()? {
            let progress = Progress::begin("fixing");
            progress.at(&place.path.to_string_lossy());
            let fixer = Fixer::begin(&place.path)?;
            drop(progress);
            for problem in fixer.problems() {
                terminal::print_error(&format!("error: {}\n", printable(&problem.to_string())));
            }
            if !fixer.problems().is_empty() {
                outcome.whole = false;
                terminal::print_error("note: nothing is fixed: what could not be read may be just what a name means\n");
            }
            let mut made: Vec<&AppliedFix> = fixer.done().iter().collect();
            if self.dry_run {
                terminal::print(&fix::differences(&fixer, &place))?;
            } else if let Err(unwritten) = fix::write(fixer.root(), fixer.changed()) {
                let shown = place.shown(&unwritten.path);
                let error = unwritten.error.context(format!("`{shown}` is as it was"));
                terminal::print_error(&report::failure(&error));
                (outcome.whole, is_written) = (false, false);
                made.retain(|applied| unwritten.written.contains(&applied.path));
            }
            let verb = if self.dry_run { "would fix" } else { "fixed" };
            for applied in &made {
                let at = format!("{}:{}:{}", place.shown(&applied.path), applied.at.line, applied.at.column);
                let _ = writeln!(said, "{verb} {}  {}: {}", printable(&at), applied.code, printable(&applied.title));
            }
            count += made.len();
            let mut checked = fix::checked(&fixer, &place);
            demands.apply(&mut checked, fixer.compiled().program.as_deref(), fixer.root())?;
            outcome.graphs.push(checked);
        }
        if count > 0 {
            let verb = if self.dry_run { "would be fixed" } else { "fixed" };
            let _ = writeln!(said, "{} {verb}\n", counted(count, "finding"));
        }
        match self.format {
            ReportFormat::Human | ReportFormat::Graphical => terminal::print(&said)?,
            _ => terminal::print_error(&said),
        }
        if !self.dry_run && is_written {
            return Ok(outcome);
        }
        let now = self.look(demands)?;
        Ok(CheckOutcome { whole: now.whole && outcome.whole, ..now })
    }

    fn stay(self, demands: CheckPolicy) -> anyhow::Result<Exit> {
        let shown = match self.format {
            ReportFormat::Human => ReportOutput::here(),
            ReportFormat::Json => ReportOutput::Json,
            ReportFormat::Graphical => bail!("`--watch` has a page of its own on a terminal\nleave `--format` out"),
            ReportFormat::Sarif | ReportFormat::Github => {
                bail!("`--watch` reports again and again, which this format cannot\nuse `--format json`: one line each time")
            }
        };
        let paths = if self.paths.is_empty() { vec![default_path()] } else { self.paths.clone() };
        let watch = if self.poll { Watch::polling(paths) } else { Watch::new(paths) };
        Checker::open(|| self.places(), demands, shown)?.stay(watch)
    }

    /// The graphs that were named; where several paths were, each stands before its graphs' paths in JSON too.
    fn places(&self) -> anyhow::Result<Vec<Place>> {
        let several = self.paths.len() > 1;
        let named = if self.paths.is_empty() { vec![None] } else { self.paths.iter().map(|path| Some(path.as_path())).collect() };
        let mut places = Vec::new();
        for path in named {
            places.extend(open::places(path)?.into_iter().map(|place| if several { place.named_in_full() } else { place }));
        }
        Ok(places)
    }

    fn human(&self, graphs: &[Checked], took: Duration, whole: bool) -> String {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let width = Width::of(&std::io::stdout());
        let findings = match self.format {
            ReportFormat::Graphical => report::graphical(graphs, width, Look::of_stdout(), limit),
            _ => report::human_up_to(graphs, width, limit),
        };
        let summary = Summary::of(graphs).line();
        let summary = if whole { summary } else { format!("{summary}; some files could not be read or written") };
        // The time would make two runs differ, which only a person forgives.
        let time = if std::io::stdout().is_terminal() { format!(" ({} ms)", took.as_millis()) } else { String::new() };
        format!("{findings}{summary}{time}\n")
    }
}
