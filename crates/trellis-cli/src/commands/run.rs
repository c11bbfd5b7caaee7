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
use trellis_core::{NodeId, SessionId, SignalName, Start, engine::StartError};
use trellis_host::{JsonLines, Reason, RunError, Runner, Sessions, TextConsole, runner::Console};

use crate::{
    Exit, context, markdown,
    offer::offer,
    open::{self, DEFAULT_PATH, Place},
    progress::Progress,
    ready::{Loaded, Ready, Terms},
    report::{self, Checked, Summary},
    terminal::{self, Closed},
    watch::{Following, News, Player, clock_time},
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
  trellis run orders --watch          edit the graph while it runs

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
    /// Take up edits of the graph while it runs; the session keeps its place
    #[arg(long, short)]
    watch: bool,
    /// With `--watch`, look every half second: for folders of a network or a virtual machine
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
        let Some(place) = self.choose(&places)? else { return Ok(Exit::Failed) };
        let terms = self.terms(max_input);
        let begun = if self.watch { self.follow(place, terms)? } else { self.load(place, terms)? };
        let (ready, news) = match begun {
            Begun::Ready(ready, news) => (ready, news),
            Begun::Refused(exit) => return Ok(exit),
        };
        let start = Start {
            session: Some(self.session.as_deref().map_or_else(new_session, SessionId::from)),
            context,
            locale: self.locale.as_deref().map(Arc::from),
            at: self.at.as_deref().map(NodeId::from),
        };
        let limits = *ready.engine.inspect().limits();
        let session = Beginning { ready, news, start, terms, input: max_input.unwrap_or(limits.input), result: limits.tool_output };
        session.walk(self.json, self.no_input)
    }

    fn choose<'p>(&self, places: &'p [Place]) -> anyhow::Result<Option<&'p Place>> {
        match places {
            [place] => Ok(Some(place)),
            places if self.json || self.no_input => bail!(open::several(places, "run")),
            places => offer(places),
        }
    }

    fn terms(&self, max_input: Option<u64>) -> Terms {
        let can_type = !self.no_input && io::stdin().is_terminal();
        Terms { json: self.json, can_type, no_input: self.no_input, approve_all: self.yes, max_input }
    }

    /// Loads a graph that stays as it is.
    fn load(&self, place: &Place, terms: Terms) -> anyhow::Result<Begun> {
        let progress = Progress::begin("loading");
        progress.at(&place.path.to_string_lossy());
        let mut loaded = Loaded::opened(place.open()?);
        drop(progress);
        match terms.ready(&mut loaded)? {
            Some(ready) => {
                warn(loaded.checked);
                Ok(Begun::Ready(ready, None))
            }
            None => self.refuse(loaded).map(Begun::Refused),
        }
    }

    /// Loads a graph that is edited, when it can be run.
    fn follow(&self, place: &Place, terms: Terms) -> anyhow::Result<Begun> {
        let mut following = Following::open(place, terms, self.poll)?;
        let (ready, checked) = following.first()?;
        warn(checked);
        Ok(Begun::Ready(ready, Some(following.tell()?)))
    }

    fn refuse(&self, loaded: Loaded) -> anyhow::Result<Exit> {
        let exit = if loaded.problems.is_empty() { Exit::Failed } else { Exit::Usage };
        let checked = [loaded.checked];
        let findings = report::human(&checked, terminal::width());
        terminal::print_error(&format!("{findings}{}\n", Summary::of(&checked).line()));
        if self.json {
            terminal::print("{\"type\":\"END\",\"payload\":{\"reason\":\"invalid_graph\",\"output\":null}}\n")?;
        }
        Ok(exit)
    }
}

fn warn(checked: Checked) {
    terminal::print_error(&report::human(&[checked], terminal::width()));
}

/// What a run begins with.
enum Begun {
    Ready(Ready, Option<mpsc::Receiver<News>>),
    Refused(Exit),
}

/// A session that is about to begin.
struct Beginning {
    ready: Ready,
    /// Edits of its graph, if it is watched.
    news: Option<mpsc::Receiver<News>>,
    start: Start,
    terms: Terms,
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
        let console = TextConsole::new(reader, writer, self.input, self.result)
            .echo(!io::stdin().is_terminal())
            .time_of_day(clock_time);
        if terminal::is_styled() {
            // A blank line tells what a node says from what stands above it.
            self.with(console.format(|text| terminal::adapted(format!("\n{}", markdown::styled(text, terminal::width()))))).await
        } else {
            self.with(console).await
        }
    }

    async fn with(self, console: impl Console) -> anyhow::Result<Exit> {
        let Self { ready, news, start, terms, .. } = self;
        let over = match news {
            Some(news) => Player::new(console, terms, ready, start, news).play(interrupts).await,
            None => {
                let sessions = Sessions::new(ready.engine, ready.bindings).policy(terms.policy());
                Runner::new(console, sessions).signals(interrupts()).run(start).await.map(|outcome| outcome.reason)
            }
        };
        match over {
            Ok(reason) => Ok(exit(reason)),
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

/// A name that no other session has: the keys of its calls must not be those of another.
fn new_session() -> SessionId {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let random = RandomState::new().build_hasher().finish();
    SessionId::new(format!("run-{now:x}-{random:016x}"))
}
