//! `trellis run [PATH]`: runs a graph, in text or in JSON Lines.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, IsTerminal},
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use tokio::sync::mpsc;
use trellis_core::{NodeId, SessionId, Start};
use trellis_host::{
    assembly::Runnable,
    sessions::Drive,
    wire::{End, EndReason, Stop},
};

use crate::{
    Exit,
    assemble::{Loaded, RunMode, max_input},
    console::Tty,
    context,
    observability::Observers,
    open::{self, DEFAULT_PATH, Place},
    output::{self, OutputFile},
    pick_graph::{Offered, offer},
    progress::Progress,
    recording::Taped,
    report::{self, Checked, Summary},
    run_all,
    run_session::SessionRun,
    store_config::StoreArgs,
    terminal::{self, Width},
    watch::{Following, Reload},
};

/// Runs a graph, in text or in JSON Lines
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis run graphs/tour             run a graph
  trellis run                         run the graph here; if there are several, choose one
  trellis run graphs/support --context language=pt --context '{\"order\": {\"total\": \"9 EUR\"}}'
  trellis run graphs/support --at orders/find --context order_id=7     also a file: --context saved.json
  trellis run graphs/support --record tools.jsonl
  trellis run graphs/support --replay-tools tools.jsonl     repeat the run, without effects
  trellis run graphs/support --session ana    begin a session, or resume it
  trellis run graphs/support --all    resume every session that is due
  trellis run graphs/tour --watch     edit the graph while it runs
  trellis run graphs/tour --json      use JSON Lines, for programs
  trellis run graphs/incident --yes --no-input --output result.json

Exit codes: 0 finished; 1 failed, denied or rolled back, the graph has mistakes, or the input ended;
2 wrong usage, or the start was refused; 130 interrupted; 141 standard output was closed.
TRELLIS_MAX_INPUT_SIZE limits one input, in bytes. OTEL_EXPORTER_OTLP_ENDPOINT names a collector for spans.")]
pub(crate) struct Run {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// Use JSON Lines on standard input and output
    #[arg(long)]
    json: bool,
    /// The initial context: KEY=VALUE, where VALUE is JSON or else text, a JSON mapping, or a file with one; may be repeated
    #[arg(long, value_name = "CONTEXT")]
    context: Vec<String>,
    /// Begin at this node
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Approve every call that needs an approval
    #[arg(long)]
    yes: bool,
    /// Read no input: a question ends the run
    #[arg(long, conflicts_with = "json")]
    no_input: bool,
    /// Write the output of the session to this file, as JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record the results of calls in this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer calls from a recording instead of carrying them out
    #[arg(long, value_name = "FILE")]
    replay_tools: Option<PathBuf>,
    /// The complete name of the session: resumes a stored one, or begins a new one [default: a new name]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// Write metrics to this file, in the text format of Prometheus
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Resume every stored session that needs nobody: elapsed sleeps and timeouts, interrupted calls
    #[arg(long, conflicts_with_all = ["json", "context", "at", "session", "output", "record", "replay_tools", "watch", "locale"])]
    all: bool,
    /// With `--all`, stay until interrupted, and resume sessions when they are due
    #[arg(long, requires = "all")]
    stay: bool,
    /// Apply edits of the graph while it runs; the session keeps its place
    #[arg(long, short)]
    watch: bool,
    /// With `--watch`, look for changes every half second: for network and virtual machine folders
    #[arg(long, requires = "watch")]
    poll: bool,
    /// The session's locale, such as `pt-BR`
    #[arg(long)]
    locale: Option<String>,
}

impl Run {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let max_input = max_input()?;
        let context = context::initial(&self.context)?;
        let places = open::places(self.path.as_deref())?;
        let mut tty = if self.json || self.no_input { None } else { Tty::open() };
        let place = match self.choose(&places, &mut tty)? {
            Offered::Chosen(place) => place,
            Offered::Ended => return Ok(Exit::Failed),
            Offered::Interrupted => return Ok(Exit::Interrupted),
        };
        if let Some(output) = &self.output {
            output::keep_out_of(place, output)?;
        }
        let terms = self.terms(max_input);
        let begun = if self.watch { self.follow(place, terms)? } else { self.load(place, terms)? };
        let (ready, news) = match begun {
            Begun::Ready(ready, news) => (*ready, news),
            Begun::Refused(exit) => return Ok(exit),
        };
        for notice in ready.bindings.notices(ready.engine.inspect()) {
            terminal::print_note(&format!("note: {}", report::printable(&notice)));
        }
        let keep = self.store.of(place, ready.engine.inspect().documents());
        let seeing = Observers::new(keep.graph(), self.metrics.as_deref())?;
        if self.all {
            return run_all::wake(ready, &keep, &seeing, self.yes, if self.stay { Drive::Forever } else { Drive::WhatIsDue });
        }
        let start = Start {
            session: Some(self.session.as_deref().map_or_else(new_session, SessionId::from)),
            context: context.for_graph(ready.engine.inspect()),
            locale: self.locale.as_deref().map(Arc::from),
            at: self.at.as_deref().map(NodeId::from),
            seed: None,
        };
        let limits = *ready.engine.inspect().limits();
        let taped = Taped::open(self.record.as_deref(), self.replay_tools.as_deref())?.seen(seeing);
        let output = self.output.as_deref().map(OutputFile::create).transpose()?;
        let (input, result) = (max_input.unwrap_or(limits.input), limits.tool_output);
        let command = format!("trellis run {}{}", open::shell_word(&place.path), self.store.words());
        SessionRun { ready, command, keep, news, start, is_named: self.session.is_some(), terms, taped, tty, input, result }.walk(output)
    }

    fn choose<'p>(&self, places: &'p [Place], tty: &mut Option<Tty>) -> anyhow::Result<Offered<'p>> {
        match places {
            [place] => Ok(Offered::Chosen(place)),
            places if self.json || self.no_input => bail!(open::several(places, "run")),
            places => offer(places, tty),
        }
    }

    fn terms(&self, max_input: Option<u64>) -> RunMode {
        let can_type = !self.no_input && io::stdin().is_terminal();
        RunMode { json: self.json, can_type, no_input: self.no_input, approve_all: self.yes, max_input }
    }

    /// Loads a graph that stays as it is.
    fn load(&self, place: &Place, terms: RunMode) -> anyhow::Result<Begun> {
        let progress = Progress::begin("loading");
        progress.at(&place.path.to_string_lossy());
        let mut loaded = Loaded::opened(place.open()?);
        drop(progress);
        let assembly = terms.assembly(&loaded.folder);
        match loaded.ready(&assembly)? {
            Some(ready) => {
                warn(loaded.checked);
                Ok(Begun::Ready(Box::new(ready), None))
            }
            None => self.refuse(loaded).map(Begun::Refused),
        }
    }

    /// Loads a graph that is edited, when it can be run.
    fn follow(&self, place: &Place, terms: RunMode) -> anyhow::Result<Begun> {
        let mut following = Following::open(place, terms, self.poll)?;
        let (ready, checked) = following.first()?;
        warn(checked);
        Ok(Begun::Ready(Box::new(ready), Some(following.tell()?)))
    }

    fn refuse(&self, loaded: Loaded) -> anyhow::Result<Exit> {
        let exit = if loaded.problems.is_empty() { Exit::Failed } else { Exit::Usage };
        let checked = [loaded.checked];
        let findings = report::human(&checked, Width::of(&io::stderr()));
        terminal::print_error(&format!("{findings}{}\n", Summary::of(&checked).line()));
        if self.json {
            let end = serde_json::to_string(&Stop::End(End::new(EndReason::InvalidGraph)))?;
            terminal::print(&format!("{end}\n"))?;
        }
        Ok(exit)
    }
}

fn warn(checked: Checked) {
    terminal::print_error(&report::human(&[checked], Width::of(&io::stderr())));
}

/// The beginning of a run.
enum Begun {
    Ready(Box<Runnable>, Option<mpsc::Receiver<Reload>>),
    Refused(Exit),
}

/// A name that no other session has: the keys of its calls must not be those of another.
fn new_session() -> SessionId {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let random = RandomState::new().build_hasher().finish();
    SessionId::new(format!("run-{now:x}-{:04x}", random & 0xffff))
}
