//! `trellis check [PATH…]`: everything that is wrong with graphs, before they run.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::ValueEnum;
use trellis_core::{Diagnostic, Program, diagnostic::Severity};
use trellis_host::Bindings;
use trellis_project::{Watch, default_path};

use crate::{
    Exit,
    open::{self, DEFAULT_PATH, Place},
    progress::Progress,
    report::{self, Checked, Summary},
    terminal,
    unbound::unbound_tools,
    watch::{Checker, Shown},
};

/// Proves that graphs make sense, on every way
///
/// Every name, target, condition, template and tool is checked; all mistakes are shown at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis check                       the graphs in `graphs`, or in the current folder
  trellis check graphs/tour           one graph
  trellis check --format json | jq '.diagnostics[].message'
  trellis check --host                also: can every tool be carried out here?
  trellis check --watch               again whenever a file is saved; Ctrl-C ends it

Exit codes: 0 no errors; 1 errors were found; 2 a file or folder could not be read.
With `--watch`: 0 when it is ended, whatever was found last.")]
pub(crate) struct Check {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    paths: Vec<PathBuf>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Also report tools that no binding carries out, and commands that are not there
    #[arg(long)]
    host: bool,
    /// Stay, and check again whenever a file is saved
    #[arg(long, short)]
    watch: bool,
    /// With `--watch`, look every half second: for folders of a network or a virtual machine
    #[arg(long, requires = "watch")]
    poll: bool,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Human,
    /// One JSON object
    Json,
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.watch {
            return self.stay();
        }
        let began = Instant::now();
        let progress = Progress::begin("checking");
        let places = self.places()?;
        let mut whole = true;
        let mut graphs = Vec::with_capacity(places.len());
        for place in &places {
            progress.at(&place.path.to_string_lossy());
            let (checked, is_whole) = self.check(place)?;
            whole &= is_whole;
            graphs.push(checked);
        }
        drop(progress);
        let text = match self.format {
            Format::Json => report::json(&graphs),
            Format::Human => human(&graphs, began.elapsed(), whole),
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

    fn stay(self) -> anyhow::Result<Exit> {
        let paths = if self.paths.is_empty() { vec![default_path()] } else { self.paths.clone() };
        let watch = if self.poll { Watch::polling(paths) } else { Watch::new(paths) };
        let shown = if self.format == Format::Json { Shown::Json } else { Shown::here() };
        Checker::open(|| self.places(), |program, folder| self.of_host(program, folder), shown)?.stay(watch)
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

    fn check(&self, place: &Place) -> anyhow::Result<(Checked, bool)> {
        let opened = place.open()?;
        let of_host = opened.compiled.program.as_ref().map(|program| self.of_host(program, opened.folder()));
        let whole = opened.is_whole();
        let mut checked = opened.into_checked();
        checked.diagnostics.extend(of_host.into_iter().flatten());
        checked.diagnostics.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok((checked, whole))
    }

    /// What this host cannot carry out, if that was asked.
    fn of_host(&self, program: &Program, folder: &Path) -> Vec<Diagnostic> {
        if !self.host {
            return Vec::new();
        }
        let (bindings, mut found) = Bindings::new(program, folder);
        found.extend(unbound_tools(program, &bindings, Severity::Error));
        // A watch looks at the files of graphs, so it would not hear of a command that came or went.
        found.extend(bindings.obstacles(program).into_iter().filter(|_| !self.watch));
        found
    }
}

fn human(graphs: &[Checked], took: Duration, whole: bool) -> String {
    let findings = report::human(graphs, terminal::width());
    let summary = Summary::of(graphs).line();
    let summary = if whole { summary } else { format!("{summary}; some files could not be read") };
    // The time would make two runs differ, which only a person forgives.
    let time = if std::io::stdout().is_terminal() { format!(" ({} ms)", took.as_millis()) } else { String::new() };
    format!("{findings}{summary}{time}\n")
}
