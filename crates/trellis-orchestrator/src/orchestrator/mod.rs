//! Assembles and runs a workspace, a graph and channels (orchestrator 1).

mod alarm;
mod by_itself;
mod check;
mod daemons;
mod local_model;
mod reading;
mod run;
mod schedules;
mod upkeep;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread,
};

use tokio::sync::{Notify, mpsc};
use trellis_core::{Diagnostic, state::EndReason};
use trellis_host::{
    Policy, Secrets, Sessions, Unbound,
    assembly::{Assembled, Assembly, LiveGraph, NotRunnable, OpenStore, Runnable, StoreSettings},
    binding::Host,
    hooks::{Hooks, Moment},
    metrics::Metrics,
    secrets::{Vault, VaultError},
    sessions::UnknownFunctions,
    store::StoreError,
};
use trellis_project::{Version, WatchHandle};
use trellis_server::{GraphSource, Served, extra::SharedGraph};

pub use self::check::{Found, check};
use self::daemons::{SESSION_GRACE, TurnNews, TurnQueue};
use crate::{
    channel::{Channel, ChannelSetup, ChannelTroubles, open_remote},
    config::{self, Settings},
    dashboard::Dashboard,
    decisions::Decisions,
    events::{RecordingError, forget_projections},
    inbound::{CommandTable, LiveCommands, Receiver},
    outbound::{Outbox, SecretMask},
    queue::{Queue, QueueError},
    schedule::{Jobs, JobsError},
    seal::{Sealer, find},
    supervisor::{Daemon, Supervisor},
    tools::{self, FileRequests, Hands, HandsLog, shell_obstacle},
    workspace::{History, Memory, ObjectFileError, Workspace, WorkspaceError, WorkspaceLock},
};

/// The file of the decisions.
const DECISIONS: &str = "runtime/decisions/index.json";

/// Gets lines about what goes wrong.
type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Makes the newest version of a graph ready.
///
/// # Errors
/// The reason why it cannot be run, and what was found in it.
fn runnable(live: &LiveGraph) -> Result<Runnable, (NotRunnable, Vec<Diagnostic>)> {
    let assembled = live.assemble();
    let found = findings(live.live().version(), &assembled);
    assembled.runnable.map_err(|reason| (reason, found))
}

/// Returns what was found in a version of a graph, in its files and on this host.
fn findings(version: &Version, assembled: &Assembled) -> Vec<Diagnostic> {
    [&version.diagnostics[..], &assembled.findings].concat()
}

/// Says why a graph cannot be run, with a line for each mistake.
fn refusal(reason: &NotRunnable, found: &[Diagnostic]) -> String {
    let line = |found: &Diagnostic| {
        let place = found.place.as_ref().map(|place| format!("{}: ", place.path)).unwrap_or_default();
        let help = found.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("\n{place}{}{help}", found.message)
    };
    let mistakes: String = found.iter().filter(|found| found.is_error()).map(line).collect();
    format!("{reason}{mistakes}")
}

/// It could not be started, or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpError {
    /// The workspace.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The settings have mistakes.
    #[error("`{}` has mistakes", file.display())]
    Settings {
        /// The file.
        file: PathBuf,
        /// Its text.
        text: String,
        /// The findings.
        found: Vec<Diagnostic>,
    },
    /// There is no graph.
    #[error(transparent)]
    Load(#[from] trellis_project::LoadError),
    /// The graph cannot be run.
    #[error("the graph cannot be run: {}", refusal(reason, found))]
    Graph {
        /// The reason.
        reason: NotRunnable,
        /// The findings.
        found: Vec<Diagnostic>,
    },
    /// A function is registered that the graph does not call.
    #[error(transparent)]
    Functions(#[from] UnknownFunctions),
    /// The vault.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The queue.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The schedules.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// A channel.
    #[error(transparent)]
    Channel(#[from] ChannelSetup),
    /// The decisions.
    #[error(transparent)]
    Decisions(#[from] ObjectFileError),
    /// The store of the sessions.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of the sessions is no database any more.
    #[error("{0}: put a copy of `runtime/sessions.db` back, or move it away to go on without the sessions in it")]
    Damaged(StoreError),
    /// The files of the events.
    #[error(transparent)]
    Events(#[from] RecordingError),
    /// Work was aborted.
    #[error("the work was broken off: {0}")]
    Gone(String),
    /// A service failed too often, and nobody can start it again.
    #[error("the service `{service}` is down: {why}")]
    Down {
        /// Its name.
        service: String,
        /// The reason of its last failure.
        why: String,
    },
    /// The sandbox that the settings ask for cannot be used.
    #[error("{0}")]
    Sandbox(String),
}

/// The parts to be started.
#[derive(Debug)]
pub struct Up {
    /// The graph.
    pub graph: PathBuf,
    /// The workspace.
    pub workspace: Workspace,
    /// Its settings.
    pub settings: Settings,
    /// Further secrets, before those of the vault.
    pub secrets: Secrets,
}

/// An orchestrator that is ready.
#[derive(Debug)]
pub struct Orchestrator {
    hands: Arc<Hands>,
    sessions: Arc<Sessions>,
    /// The path of the graph.
    path: PathBuf,
    /// The store of the sessions.
    open_store: OpenStore,
    /// The graph as a browser sees it.
    shared: Option<SharedGraph>,
    metrics: Metrics,
    host: Host,
    secrets: Secrets,
    graph: Option<LiveGraph>,
    receiver: Receiver,
    supervisor: Arc<Supervisor>,
    /// News about sessions for their chats.
    turns: TurnQueue,
    /// Services that start behind all others.
    doors: Vec<Arc<dyn Daemon>>,
    /// Warnings that were found during the start.
    warnings: Vec<String>,
    _lock: WorkspaceLock,
}

/// Reads the settings of a workspace.
///
/// # Errors
/// The file cannot be read, or has mistakes.
pub fn settings(workspace: &Workspace) -> Result<Settings, UpError> {
    let text = workspace.text(config::CONFIG_FILE)?.unwrap_or_default();
    let (settings, found) = config::read(config::CONFIG_FILE, &text);
    if found.iter().any(Diagnostic::is_error) {
        return Err(UpError::Settings { file: workspace.path(config::CONFIG_FILE), text, found });
    }
    Ok(settings)
}

/// Opens the vault of a workspace.
///
/// # Errors
/// File or key cannot be used.
pub fn vault(workspace: &Workspace) -> Result<Vault, VaultError> {
    Vault::open_with_key_file(&workspace.path("runtime/security/secrets.json"), &workspace.path("runtime/security/master.key"))
}

/// The error of a store that cannot be opened.
fn of_store(error: StoreError) -> UpError {
    let text = error.to_string();
    let is_damaged = ["file is not a database", "database disk image is malformed"].iter().any(|why| text.contains(why));
    if is_damaged { UpError::Damaged(error) } else { UpError::Store(error) }
}

impl Orchestrator {
    /// Opens everything, in order: lock, vault, stores, graph. Nothing is sent or resumed yet.
    ///
    /// # Errors
    /// Something cannot be opened.
    pub async fn open(up: Up) -> Result<Self, UpError> {
        let Up { graph, workspace, settings, secrets } = up;
        let lock = workspace.lock()?;
        trellis_host::secrets::withhold(settings.credentials().map(str::to_owned));
        if let Some(obstacle) = shell_obstacle(&settings.shell) {
            return Err(UpError::Sandbox(obstacle));
        }
        // The patterns of secrets are compiled while everything else opens.
        drop(tokio::task::spawn_blocking(|| find("", None)));
        tools::end_orphans(&workspace);
        let vault = vault(&workspace)?;
        let queue = Queue::open(&workspace.path("runtime/queue.db"))?;
        let (shared, secrets) = (Arc::new(vault.clone()), Secrets::chain([settings.models.secrets(), secrets, vault.secrets()]));
        let sealer = Sealer::new(Arc::clone(&shared));
        let (jobs, warning) = Jobs::open(&workspace.path("runtime/cron/cron-store.json"))?;
        let (decisions, other) = Decisions::open(&workspace.path(DECISIONS))?;
        let warnings = warning.into_iter().chain(other).collect();
        let mask = SecretMask::new(Arc::clone(&shared));
        let again = settings.language.text("again");
        let hands = Arc::new(Hands {
            history: History::of(&workspace),
            memory: Memory::of(&workspace),
            outbox: Outbox::new(queue.clone(), mask.clone(), again).language(settings.language).patience(settings.delivery),
            settings,
            queue: queue.clone(),
            mask,
            vault: shared,
            sealer: sealer.clone(),
            decisions,
            jobs,
            commands: LiveCommands::default(),
            files: FileRequests::default(),
            wake: Arc::default(),
            sessions: OnceLock::new(),
            web_tokens: OnceLock::new(),
            troubles: ChannelTroubles::default(),
            log: HandsLog::default(),
            workspace,
        });
        let mut host = Host::new().secrets(secrets.clone());
        let models = hands.settings.models.models(hands.workspace.folder());
        host.models = models.map(Arc::new);
        let live = LiveGraph::open(&graph, assembly(&hands, host.clone()))?;
        check::models(&hands.workspace, host.models.as_deref(), &live.live().version().documents)?;
        let runnable = runnable(&live).map_err(|(reason, found)| UpError::Graph { reason, found })?;
        hands.commands.learn(CommandTable::of(&live.live().version().documents));
        let address = format!("sqlite:{}", hands.workspace.path("runtime/sessions.db").display());
        let mut open_store =
            StoreSettings::of(&graph, &live.live().version().documents).address_or_default(Some(address)).open().await.map_err(of_store)?;
        let metrics = Metrics::new();
        open_store.store = metrics.store(open_store.store);
        let sessions = live.assembly().sessions(runnable, Some(&open_store))?.hooks(SessionNews(Arc::clone(&queue.news)));
        let sessions = Arc::new(metrics.over(sessions));
        hands.sessions.get_or_init(|| Arc::downgrade(&sessions));
        let receiver =
            Receiver::new(queue, sealer, hands.commands.clone(), hands.history.clone()).reactions(hands.settings.reactions.clone());
        Ok(Self {
            hands,
            sessions,
            path: graph,
            open_store,
            shared: None,
            metrics,
            host,
            secrets,
            graph: Some(live),
            receiver,
            supervisor: Arc::default(),
            turns: mpsc::unbounded_channel(),
            doors: Vec::new(),
            warnings,
            _lock: lock,
        })
    }

    /// Returns its view for a browser with these settings: graph, sessions, state, and a chat if it `has_chat`, which is one of the channels then.
    pub async fn dashboard(&mut self, mut settings: trellis_server::Settings, has_chat: bool) -> Dashboard {
        // They are the same sessions, whoever stops them first.
        settings.bounds.grace = SESSION_GRACE;
        drop(self.hands.web_tokens.set(settings.tokens.clone()));
        let assembly = assembly(&self.hands, self.host.clone());
        let source = GraphSource::new(&self.path, assembly, self.open_store.clone());
        let turns = self.turns.0.clone();
        let (served, shared) = Served::shared(source, Arc::clone(&self.sessions), self.metrics.clone(), move |turn| {
            // At the end nobody receives it.
            let _ = turns.send(TurnNews::Turn(Box::new(turn.clone())));
        });
        if let Some(graph) = &self.graph {
            // Nothing objects to the program that runs.
            drop(shared.take(graph.live().version(), graph.assemble()).await);
        }
        self.shared = Some(shared);
        let (hands, supervisor) = (Arc::clone(&self.hands), Arc::downgrade(&self.supervisor));
        served.ready_unless(move || {
            let (hands, supervisor) = (Arc::clone(&hands), supervisor.clone());
            async move { alarm::unready(&hands, &*supervisor.upgrade()?).await }
        });
        let dashboard = Dashboard::new(served, settings, Arc::clone(&self.hands), self.receiver.clone(), has_chat);
        dashboard.show_services(Arc::clone(&self.supervisor) as _);
        dashboard
    }

    /// Returns the data that its functions work with.
    pub fn hands(&self) -> &Arc<Hands> {
        &self.hands
    }

    /// Its sessions.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// The channels over a network that its settings name.
    ///
    /// # Errors
    /// A token is missing.
    pub fn remote_channels(&self) -> Result<Vec<Arc<dyn Channel>>, UpError> {
        Ok(open_remote(&self.hands.settings, &self.secrets)?)
    }

    /// Its services, once it runs.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// Removes the files that can be rebuilt, so that [`Orchestrator::run`] rebuilds them (orchestrator 9.1).
    ///
    /// # Errors
    /// A file cannot be removed, or a newer program wrote it.
    pub fn rebuild(&self) -> Result<(), UpError> {
        Ok(forget_projections(&self.hands.workspace)?)
    }

    /// Adds a service that starts behind all others, such as a dashboard.
    pub fn add(&mut self, daemon: Arc<dyn Daemon>) {
        self.doors.push(daemon);
    }

    /// Loads each edit of the graph that can be run, until the result is dropped.
    fn follow_edits(&mut self, log: &Arc<dyn Fn(&str) + Send + Sync>) -> Option<OpenWatch> {
        let mut live = self.graph.take()?;
        let watch = OpenWatch(live.handle());
        let (sender, mut edits) = mpsc::channel::<(Arc<Version>, Assembled)>(4);
        let (hands, sessions, log_line) = (Arc::downgrade(&self.hands), Arc::downgrade(&self.sessions), Arc::clone(log));
        let shared = self.shared.clone();
        tokio::spawn(async move {
            while let Some((version, assembled)) = edits.recv().await {
                let (Some(hands), Some(sessions)) = (hands.upgrade(), sessions.upgrade()) else { return };
                match &assembled.runnable {
                    Ok(_) => hands.commands.learn(CommandTable::of(&version.documents)),
                    Err(reason) => {
                        let why = refusal(reason, &findings(&version, &assembled));
                        log_line(&format!("the edited graph cannot be run, the one before stays in use: {why}"));
                    }
                }
                let taken = match (&shared, assembled) {
                    (Some(shared), assembled) => shared.take(&version, assembled).await.map_err(|error| error.detail.clone()),
                    (None, Assembled { runnable: Ok(runnable), .. }) => {
                        sessions.swap(runnable.engine, runnable.bindings).await.map_err(|error| error.to_string())
                    }
                    (None, _) => Ok(()),
                };
                if let Err(error) = taken {
                    log_line(&error);
                }
            }
        });
        let log_line = Arc::clone(log);
        let watching = thread::Builder::new().name("edits of the graph".to_owned()).spawn(move || {
            while let Some(reload) = live.next() {
                match reload.assembled {
                    Some(assembled) => {
                        if sender.blocking_send((reload.edit.version, assembled)).is_err() {
                            return;
                        }
                    }
                    None => log_line("the graph is gone; the one that was read before stays in use"),
                }
            }
        });
        if let Err(error) = watching {
            log(&format!("edits of the graph are not seen: {error}"));
        }
        Some(watch)
    }
}

/// A watch over files, which ends when this is dropped: systems have few of them.
struct OpenWatch(WatchHandle);

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Notifies the recorder of events that a session moved.
struct SessionNews(Arc<Notify>);

impl Hooks for SessionNews {
    fn on_start(&self, _: &Moment) {
        self.0.notify_one();
    }

    fn on_step(&self, _: &Moment) {
        self.0.notify_one();
    }

    fn on_end(&self, _: &Moment, _: EndReason) {
        self.0.notify_one();
    }
}

/// Assembles the graph: with the functions of this crate, without terminal input, and with sessions that resume without a caller.
fn assembly(hands: &Arc<Hands>, host: Host) -> Assembly {
    let policy = Policy::new().unbound(Unbound::Fail).detached(true);
    let hands = Arc::clone(hands);
    Assembly::new().policy(policy).host(host).functions(move |bindings| tools::bind(bindings, &hands))
}
