//! `trellis run [PATH]`: walks a graph, in text or in JSON Lines.

use std::{
    env,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, IsTerminal},
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, bail};
use tokio::{
    io::{AsyncBufRead, BufReader},
    sync::mpsc,
};
use trellis_core::{
    Diagnostic, Engine, NodeId, Program, SessionId, SignalName, Start, diagnostic::Severity, engine::StartError, program::PredicateSource,
};
use trellis_host::{
    Bindings, JsonLines, Policy, Reason, RunError, Runner, Secrets, Sessions, TextConsole, Unbound,
    runner::{Console, deferred_predicates},
};

use crate::{
    Exit, context, markdown,
    offer::offer,
    open::{self, DEFAULT_PATH, Opened, Place},
    progress::Progress,
    report::{self, Summary},
    terminal::{self, Closed},
    unbound::unbound_tools,
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
  trellis run orders --json           JSON Lines, for programs

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
        let Some(place) = self.choose(&places)? else { return Ok(Exit::Failed) };
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
        let session = Beginning { engine, bindings, start, policy: self.policy(), input, result: limits.tool_output };
        session.walk(self.json, self.no_input)
    }

    fn choose<'p>(&self, places: &'p [Place]) -> anyhow::Result<Option<&'p Place>> {
        match places {
            [place] => Ok(Some(place)),
            places if self.json || self.no_input => bail!(open::several(places, "run")),
            places => offer(places),
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

/// A session that is about to begin.
struct Beginning {
    engine: Engine,
    bindings: Bindings,
    start: Start,
    policy: Policy,
    /// Bytes of an input, and of a result.
    input: u64,
    result: u64,
}

impl Beginning {
    fn walk(self, json: bool, no_input: bool) -> anyhow::Result<Exit> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
        let exit = runtime.block_on(async {
            if no_input { self.over(tokio::io::empty(), json).await } else { self.over(BufReader::new(tokio::io::stdin()), json).await }
        });
        // A thread may still wait for a line that nobody will type.
        runtime.shutdown_background();
        exit
    }

    async fn over(self, reader: impl AsyncBufRead + Unpin, json: bool) -> anyhow::Result<Exit> {
        let writer = tokio::io::stdout();
        if json {
            // A character may take six bytes in JSON, and something stands around it.
            let line = self.input.max(self.result).saturating_mul(6).saturating_add(4096);
            return self.with(JsonLines::new(reader, writer, line)).await;
        }
        let console = TextConsole::new(reader, writer, self.input, self.result).echo(!io::stdin().is_terminal());
        if terminal::is_styled() {
            // A blank line tells what a node says from what stands above it.
            self.with(console.format(|text| terminal::adapted(format!("\n{}", markdown::styled(text, terminal::width()))))).await
        } else {
            self.with(console).await
        }
    }

    async fn with(self, console: impl Console) -> anyhow::Result<Exit> {
        let sessions = Sessions::new(self.engine, self.bindings).policy(self.policy);
        match Runner::new(console, sessions).signals(interrupts()).run(self.start).await {
            Ok(outcome) => Ok(exit(outcome.reason)),
            Err(RunError::Console(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
            Err(RunError::Start(error @ StartError::Inputs { .. })) => {
                Err(anyhow::anyhow!("{error}\ngive what is missing: `--context KEY=VALUE`, or `--context FILE` with JSON"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn exit(reason: Reason) -> Exit {
    match reason {
        Reason::Finished => Exit::Fine,
        Reason::Failed | Reason::Denied | Reason::RolledBack | Reason::EndOfInput => Exit::Failed,
        Reason::Interrupted => Exit::Interrupted,
    }
}

/// Ctrl-C as a signal.
fn interrupts() -> mpsc::Receiver<SignalName> {
    let (sender, signals) = mpsc::channel(4);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(SignalName::new(SignalName::INTERRUPT)).await.is_ok() {}
    });
    signals
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
