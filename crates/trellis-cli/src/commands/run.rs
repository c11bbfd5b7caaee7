//! `trellis run [PATH]`: walks a graph, in text or in JSON Lines.

use std::{
    env,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, IsTerminal},
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use trellis_core::{Diagnostic, Engine, NodeId, Program, SessionId, Start, diagnostic::Severity, program::PredicateSource};
use trellis_host::{Bindings, Policy, Secrets, Unbound, runner::deferred_predicates};

use crate::{
    Exit,
    console::Tty,
    context,
    offer::{Offered, offer},
    open::{self, DEFAULT_PATH, Opened, Place},
    output::OutputFile,
    progress::Progress,
    report::{self, Summary},
    terminal,
    unbound::unbound_tools,
    walk::{Beginning, Taped},
};

/// The bound for inputs, in bytes (design §9).
const MAX_INPUT: &str = "TRELLIS_MAX_INPUT_SIZE";

/// Walks a graph, in text or in JSON Lines
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis run graphs/tour             walk a graph
  trellis run                         the graph here; of several, the one that you choose
  trellis run orders --context customer=Ana --context '{\"order\": {\"id\": 7}}'
  trellis run orders --at pay --context saved.json
  trellis run orders --record tools.jsonl
  trellis run orders --replay-tools tools.jsonl     the same again, without effects
  trellis run orders --json           JSON Lines, for programs
  trellis run orders --yes --no-input --output result.json

Exit codes: 0 finished; 1 failed, denied, rolled back, not a sound graph, or the input ended;
2 wrong usage, or the start was refused; 130 interrupted.
TRELLIS_MAX_INPUT_SIZE bounds one input, in bytes.")]
pub(crate) struct Run {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// Speak JSON Lines on standard input and output
    #[arg(long)]
    json: bool,
    /// What the session begins with: KEY=VALUE, a JSON mapping, or a file of one; may be repeated
    #[arg(long, value_name = "CONTEXT")]
    context: Vec<String>,
    /// Begin at this node
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Approve every call that asks for it
    #[arg(long)]
    yes: bool,
    /// Read nothing: a question ends the run
    #[arg(long, conflicts_with = "json")]
    no_input: bool,
    /// Write the value that the session ends with to this file, as JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record what becomes of calls in this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer calls from a recording instead of carrying them out
    #[arg(long, value_name = "FILE")]
    replay_tools: Option<PathBuf>,
    /// The session's name, which calls derive their keys from [default: a new one]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
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
        let progress = Progress::begin("loading");
        progress.at(&place.path.to_string_lossy());
        let mut opened = place.open()?;
        drop(progress);
        let Some((program, bindings)) = self.prepare(&mut opened) else { return self.refuse(opened) };
        self.warn(opened);
        if self.no_input {
            predicates_have_answers(&program)?;
        }
        let start = Start {
            session: Some(self.session.as_deref().map_or_else(new_session, SessionId::from)),
            context,
            locale: self.locale.as_deref().map(Arc::from),
            at: self.at.as_deref().map(NodeId::from),
        };
        let predicates = deferred_predicates(&program);
        let limits = *program.limits();
        let input = max_input.unwrap_or(limits.input);
        let engine = Engine::new(program, predicates)?.with_max_input(input);
        let taped = Taped::open(self.record.as_deref(), self.replay_tools.as_deref())?;
        let output = self.output.as_deref().map(OutputFile::create).transpose()?;
        let session = Beginning { engine, bindings, start, policy: self.policy(), taped, tty, input, result: limits.tool_output };
        session.walk(self.json, self.no_input, output)
    }

    fn choose<'p>(&self, places: &'p [Place], tty: &mut Option<Tty>) -> anyhow::Result<Offered<'p>> {
        match places {
            [place] => Ok(Offered::Chosen(place)),
            places if self.json || self.no_input => bail!(open::several(places, "run")),
            places => offer(places, tty),
        }
    }

    /// The program and its bindings; nothing where an author has to mend something first.
    fn prepare(&self, opened: &mut Opened) -> Option<(Arc<Program>, Bindings)> {
        let program = Arc::clone(opened.compiled.program.as_ref()?);
        let (bindings, mut found) = Bindings::new(&program, opened.folder());
        if !self.json {
            let severity = if self.can_type() { Severity::Warning } else { Severity::Error };
            found.extend(unbound_tools(&program, &bindings, severity));
        }
        let is_sound = !found.iter().any(Diagnostic::is_error);
        opened.compiled.diagnostics.extend(found);
        is_sound.then(|| (program, bindings.secrets(Secrets::from_env())))
    }

    /// Whether a person sits there who can type in what no tool says.
    fn can_type(&self) -> bool {
        !self.no_input && io::stdin().is_terminal()
    }

    fn policy(&self) -> Policy {
        let unbound = match (self.json, self.can_type()) {
            (true, _) => Unbound::Elsewhere,
            (false, true) => Unbound::TypedIn,
            (false, false) => Unbound::Fail,
        };
        Policy { approve_all: self.yes, unbound }
    }

    fn refuse(&self, opened: Opened) -> anyhow::Result<Exit> {
        let exit = if opened.is_whole() { Exit::Failed } else { Exit::Usage };
        let checked = [opened.into_checked()];
        let findings = report::human(&checked, terminal::width());
        terminal::print_error(&format!("{findings}{}\n", Summary::of(&checked).line()));
        if self.json {
            terminal::print("{\"type\":\"END\",\"payload\":{\"reason\":\"invalid_graph\",\"output\":null}}\n")?;
        }
        Ok(exit)
    }

    fn warn(&self, opened: Opened) {
        terminal::print_error(&report::human(&[opened.into_checked()], terminal::width()));
    }
}

/// The bound that the environment sets, if it does.
fn max_input() -> anyhow::Result<Option<u64>> {
    let Some(text) = env::var_os(MAX_INPUT) else { return Ok(None) };
    let bytes = text.to_str().and_then(|text| text.parse().ok()).filter(|&bytes| bytes > 0);
    let Some(bytes) = bytes else { bail!("{MAX_INPUT} is a number of bytes above 0, not `{}`", text.to_string_lossy()) };
    Ok(Some(bytes))
}

/// Predicates that only a host answers need somebody who can be asked (language 6.2).
fn predicates_have_answers(program: &Program) -> anyhow::Result<()> {
    let asked = program.predicates().iter().filter(|predicate| matches!(predicate.source, PredicateSource::Host(_)));
    let names = asked.map(|predicate| format!("`{}`", predicate.name)).collect::<Vec<_>>();
    if !names.is_empty() {
        bail!("nobody can be asked whether {} holds\nrun it without `--no-input`, or with `--json`", names.join(", "));
    }
    Ok(())
}

/// A name that no other session has: the keys of its calls must not be those of another.
fn new_session() -> SessionId {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let random = RandomState::new().build_hasher().finish();
    SessionId::new(format!("run-{now:x}-{random:016x}"))
}
