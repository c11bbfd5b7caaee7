//! `trellis up [PATH]`: runs a graph as an agent that people chat with.

use std::{
    collections::BTreeSet,
    env, fs, io,
    io::IsTerminal as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use tokio::{
    io::BufReader,
    sync::{broadcast, oneshot},
    task::JoinHandle,
};
use trellis_core::{Diagnostic, Document};
use trellis_host::Secrets;
use trellis_orchestrator::{
    Found, Orchestrator, Up, UpError,
    channel::{Channel, Rendering, Terminal, TerminalIo},
    check, config, settings,
    supervisor::{DaemonState, DaemonStatus},
    texts::Language,
    workspace::{Workspace, variables},
};

use crate::{
    Exit,
    ending::{self, EndSignals},
    listening::ListenArgs,
    markdown,
    open::{self, DEFAULT_PATH},
    report::{self, Checked},
    terminal::{self, Look, Width},
};

/// Chats with people, each message a session of a graph
///
/// The chat is in this terminal, where a line is a message and `/help` lists the commands, and in a browser, which also shows what runs: the address
/// is printed at the start. Everything that happens is stored in the workspace: after a restart, interrupted work resumes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis up graphs/orchestrator
  trellis up graphs/orchestrator --workspace ~/agent
  TRELLIS_MODEL_BASE_URL=http://localhost:11434/v1 TRELLIS_MODEL=llama3.2 trellis up graphs/orchestrator
  echo 'Hello' | trellis up graphs/orchestrator --channel terminal
  trellis up graphs/orchestrator --channel slack --check
  trellis up graphs/orchestrator --no-dashboard

Exit codes: 0 ended; 1 --check found something; 2 wrong usage, mistakes in the settings, or the program failed.")]
pub(crate) struct UpArgs {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// The folder with settings, memory, files and everything that is stored; it is made where it is missing
    #[arg(long, value_name = "DIR", default_value = "workspace")]
    workspace: PathBuf,
    /// Use this channel only; may be repeated. `terminal` reads standard input, also where that is no terminal
    #[arg(long, value_name = "NAME", value_parser = ["terminal", "web", "slack", "telegram", "discord"])]
    channel: Vec<String>,
    /// Make `events/index.json`, `tasks/` and `dlq/` in `runtime/` again at the start, from what the queue and the sessions hold
    #[arg(long, conflicts_with = "check")]
    rebuild: bool,
    /// Check settings, vault, queue, graph and tokens of channels, and start nothing
    #[arg(long)]
    check: bool,
    /// Serve no page for the browser
    #[arg(long, conflicts_with_all = ["port", "listen", "host", "allow_origin", "behind_proxy", "tls", "token_file", "no_token", "log"])]
    no_dashboard: bool,
    #[command(flatten)]
    at: ListenArgs,
}

impl UpArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        self.at.admit()?;
        let place = open::only(self.path.as_deref(), "up")?;
        let workspace = Workspace::open_in(&self.workspace, place.folder(), language(&self.workspace))?;
        with_variables_of(&workspace)?;
        if self.check {
            return checked(&place.path, &workspace);
        }
        let mut settings = match settings(&workspace) {
            Ok(settings) => settings,
            Err(error) => return refused(error, &workspace),
        };
        let is_named = |name: &str| self.channel.iter().any(|named| named == name);
        settings.remote.retain(|remote| self.channel.is_empty() || is_named(remote.provider.as_str()));
        let has_web = (is_named("web") || self.channel.is_empty() && settings.web) && !self.no_dashboard;
        if self.no_dashboard && is_named("web") {
            bail!("channel `web` is a page of the dashboard\nleave `--no-dashboard` out");
        }
        for name in self.channel.iter().filter(|name| !["terminal", "web"].contains(&&***name)) {
            if !settings.remote.iter().any(|remote| remote.provider.as_str() == name) {
                bail!("channel `{name}` is not set up\nwrite it under `channels` in `{}`", workspace.path(config::CONFIG_FILE).display());
            }
        }
        let mut channels = channels(is_named("terminal") || self.channel.is_empty() && settings.terminal && io::stdin().is_terminal());
        if channels.is_empty() && settings.remote.is_empty() && !has_web {
            bail!("there is no channel: standard input is no terminal\nread it all the same with `--channel terminal`");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the host cannot start")?;
        let up = Up { graph: place.path.clone(), workspace, settings, secrets: Secrets::from_env() };
        let signals = runtime.block_on(async { EndSignals::listen(self.at.ends_at_hangup()) });
        // A thread may still wait for a line that nobody will type.
        let ran = ending::run(runtime, &signals, async {
            let mut orchestrator = Orchestrator::open(up).await?;
            if self.rebuild {
                orchestrator.rebuild()?;
            }
            channels.extend(orchestrator.remote_channels()?);
            terminal::print_error(&format!("graph      {}\n", place.path.display()));
            terminal::print_error(&format!("workspace  {}\n", self.workspace.display()));
            let dashboard = if self.no_dashboard { None } else { Some(self.dashboard(&mut orchestrator, has_web, &mut channels).await?) };
            for channel in &channels {
                terminal::print_error(&format!("channel    {}; `/help` lists the commands\n", channel.name()));
            }
            tokio::spawn(show_starts(orchestrator.supervisor().subscribe()));
            let raised = signals.clone();
            let stop = async move {
                raised.first().await;
                // In reverse: the page goes before what it shows.
                if let Some((end, served)) = dashboard {
                    drop(end);
                    drop(served.await);
                }
            };
            let ran = orchestrator.run(channels, stop, |line| terminal::print_error(&format!("warning: {}\n", harmless(line)))).await;
            anyhow::Ok(ran?)
        });
        ran?;
        Ok(Exit::Fine)
    }

    /// Serves the page, and says where; its chat is one of the channels if it `has_web`.
    async fn dashboard(
        &self,
        orchestrator: &mut Orchestrator,
        has_web: bool,
        channels: &mut Vec<Arc<dyn Channel>>,
    ) -> anyhow::Result<RunningPage> {
        let listening = self.at.open().await?;
        terminal::print_error(&format!("dashboard  {}\n", listening.shown_location()));
        let dashboard = orchestrator.dashboard(listening.settings, has_web).await;
        channels.extend(dashboard.channel());
        dashboard.show_channels(channels.iter().map(|channel| channel.name().to_owned()).collect());
        self.at.reload_tokens(dashboard.server());
        let (end, is_over) = oneshot::channel::<()>();
        let served = tokio::spawn(async move { dashboard.serve(listening.listeners, async { drop(is_over.await) }).await });
        Ok((end, served))
    }
}

/// Shows each service once it has started, or could not.
async fn show_starts(mut changes: broadcast::Receiver<DaemonStatus>) {
    let mut shown = BTreeSet::new();
    while let Ok(DaemonStatus { name, state, .. }) = changes.recv().await {
        if state != DaemonState::Starting && shown.insert(name.clone()) {
            terminal::print_error(&format!("service    {name}: {}\n", state.as_str()));
        }
    }
}

/// The sender that ends the page when it is dropped, and the page until it has ended.
type RunningPage = (oneshot::Sender<()>, JoinHandle<()>);

/// The language of the files that a new workspace begins with: that of its settings, else that of the environment.
fn language(workspace: &Path) -> Language {
    let settings = fs::read_to_string(workspace.join(config::CONFIG_FILE));
    settings.map_or_else(|_| Language::of_environment(), |text| config::read(config::CONFIG_FILE, &text).0.language)
}

/// Reports the obstacles, and starts nothing.
fn checked(graph: &Path, workspace: &Workspace) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the host cannot start")?;
    let Found { mistakes, text, obstacles, warnings, .. } = runtime.block_on(check(graph, workspace, Secrets::from_env()))?;
    let is_wrong = mistakes.iter().any(Diagnostic::is_error);
    if !mistakes.is_empty() {
        show_mistakes(workspace, text, mistakes);
    }
    for warning in &warnings {
        terminal::print_error(&format!("warning: {}\n", harmless(warning)));
    }
    for obstacle in &obstacles {
        terminal::print_error(&format!("error: {}\n", harmless(obstacle)));
    }
    if !obstacles.is_empty() || is_wrong {
        return Ok(Exit::Failed);
    }
    terminal::print("nothing is in the way\n")?;
    Ok(Exit::Fine)
}

/// The channels of this process.
fn channels(terminal: bool) -> Vec<Arc<dyn Channel>> {
    let write = |text: &str, rendering: Rendering| {
        let text = match rendering {
            Rendering::Markdown if terminal::is_styled() => terminal::adapted(markdown::drawn(text, terminal::width(), Look::of_stdout())),
            _ => harmless(text.trim_end()),
        };
        terminal::print(&format!("{}\n\n", text.trim_end())).map_err(io::Error::other)
    };
    let io = || TerminalIo { reader: Box::new(BufReader::new(tokio::io::stdin())), write: Box::new(write) };
    terminal.then(|| Arc::new(Terminal::new(io())) as Arc<dyn Channel>).into_iter().collect()
}

/// A text that the terminal shows and does not obey: a reply can neither write over what stands above it nor set anything.
fn harmless(text: &str) -> String {
    text.replace(|char: char| char.is_ascii_control() && !matches!(char, '\n' | '\t'), "\u{fffd}")
}

/// Starts this program again with the variables of `.env` that are not set: whatever looks at the environment sees them, and what is set wins.
fn with_variables_of(workspace: &Workspace) -> anyhow::Result<()> {
    let Some(text) = workspace.text(".env")? else { return Ok(()) };
    let (variables, bad) = variables(&text);
    let mut unset: Vec<(String, String)> = variables.into_iter().filter(|(name, _)| env::var_os(name).is_none()).collect();
    if unset.is_empty() {
        // By now this is the program that goes on, so that each warning is said once.
        let file = workspace.path(".env");
        let is_open = file.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0);
        let open = is_open.then(|| "others can read it; `chmod 600` makes it private".to_owned());
        for warning in open.into_iter().chain(bad.iter().map(ToString::to_string)) {
            terminal::print_error(&format!("warning: `{}`: {warning}\n", file.display()));
        }
        return Ok(());
    }
    // Of a name that stands there twice the last one counts.
    unset.dedup_by(|later, earlier| {
        later.0 == earlier.0 && {
            earlier.1.clone_from(&later.1);
            true
        }
    });
    let program = env::current_exe().context("the program cannot be started again with the variables of `.env`")?;
    let error = Command::new(program).args(env::args_os().skip(1)).envs(unset).exec();
    Err(error).context("the program cannot be started again with the variables of `.env`")
}

/// Shows the mistakes of the settings.
fn refused(error: UpError, workspace: &Workspace) -> anyhow::Result<Exit> {
    let UpError::Settings { text, found, .. } = error else { return Err(error.into()) };
    show_mistakes(workspace, text, found);
    Ok(Exit::Usage)
}

fn show_mistakes(workspace: &Workspace, text: String, found: Vec<Diagnostic>) {
    let checked = Checked {
        shown_below: shown(workspace.folder()),
        below: String::new(),
        documents: vec![Arc::new(Document::broken(config::CONFIG_FILE, text))],
        diagnostics: found,
        nodes: 0,
        unchecked: Vec::new(),
    };
    terminal::print_error(&report::human(&[checked], Width::of(&io::stderr())));
}

fn shown(folder: &Path) -> String {
    format!("{}/", folder.display().to_string().trim_end_matches('/'))
}
