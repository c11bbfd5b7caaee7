//! Assembles and runs a workspace, a graph and channels (orchestrator 1).

mod by_itself;
mod check;
mod reading;
mod timekeeping;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use tokio::{sync::mpsc, task::JoinSet};
use trellis_core::{Diagnostic, SessionId};
use trellis_host::{
    Policy, Secrets, SendError, Sessions, Unbound,
    assembly::{Assembled, Assembly, LiveGraph, NotRunnable, OpenStore, StoreSettings},
    binding::Host,
    metrics::Metrics,
    secrets::{Vault, VaultError},
    sessions::{Drive, Driven, Turn, UnknownFunctions},
    store::StoreError,
};
use trellis_project::Version;
use trellis_server::{GraphSource, Served, extra::SharedGraph};

pub use self::check::{Found, check};
use self::{reading::read, timekeeping::keep_time};
use crate::{
    channel::{Channel, ChannelSetup, ChannelTroubles, check_remote, open_remote},
    config::{self, Settings},
    dashboard::Dashboard,
    decisions::Decisions,
    dispatch::Dispatcher,
    inbound::{CommandTable, LiveCommands, Receiver},
    outbound::{Channels, Outbox, SecretMask},
    queue::{Queue, QueueError},
    schedule::{Jobs, JobsError},
    seal::Sealer,
    tools::{self, Hands},
    workspace::{History, Memory, ObjectFileError, Workspace, WorkspaceError, WorkspaceLock},
};

/// The file of the decisions.
const DECISIONS: &str = "runtime/decisions/index.json";
/// The time that sessions have to come to their stops.
const GRACE: Duration = Duration::from_secs(10);
/// The time in which what waits to be sent still is, at the end.
const FLUSH: Duration = Duration::from_secs(5);

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
    #[error("the graph cannot be run: {0}; `trellis check` shows what is wrong")]
    Graph(NotRunnable),
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
    /// Sessions cannot be gone on with.
    #[error("sessions cannot be gone on with: {0}")]
    Drive(String),
}

/// A turn of a session, or why it did not go on.
type Turned = Result<Turn, (SessionId, SendError)>;
type TurnSender = mpsc::UnboundedSender<Turned>;
type TurnReceiver = mpsc::UnboundedReceiver<Turned>;

/// What is started.
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
    /// Where the graph is.
    path: PathBuf,
    /// Where the sessions are kept.
    open_store: OpenStore,
    /// Turns that chats have not been told of yet.
    turns: (TurnSender, TurnReceiver),
    /// The graph as a browser sees it.
    shared: Option<SharedGraph>,
    metrics: Metrics,
    host: Host,
    secrets: Secrets,
    graph: Option<LiveGraph>,
    receiver: Receiver,
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

impl Orchestrator {
    /// Opens everything, in order: lock, vault, stores, graph. Nothing is sent or gone on with yet.
    ///
    /// # Errors
    /// What cannot be opened.
    pub async fn open(up: Up) -> Result<Self, UpError> {
        let Up { graph, workspace, settings, secrets } = up;
        let lock = workspace.lock()?;
        let vault = vault(&workspace)?;
        let queue = Queue::open(&workspace.path("runtime/queue.db"))?;
        let (shared, secrets) = (Arc::new(vault.clone()), Secrets::chain([secrets, vault.secrets()]));
        let sealer = Sealer::new(Arc::clone(&shared));
        let (jobs, warning) = Jobs::open(&workspace.path("runtime/cron/cron-store.json"))?;
        let (decisions, other) = Decisions::open(&workspace.path(DECISIONS))?;
        let warnings = warning.into_iter().chain(other).collect();
        let mask = SecretMask::new(Arc::clone(&shared));
        let again = settings.language.text("again");
        let hands = Arc::new(Hands {
            settings,
            history: History::of(&workspace),
            memory: Memory::of(&workspace),
            outbox: Outbox::new(queue.clone(), mask.clone(), again),
            queue: queue.clone(),
            mask,
            vault: shared,
            sealer: sealer.clone(),
            decisions,
            jobs,
            commands: LiveCommands::default(),
            wake: Arc::default(),
            sessions: OnceLock::new(),
            web_tokens: OnceLock::new(),
            troubles: ChannelTroubles::default(),
            workspace,
        });
        let host = Host::new().secrets(secrets.clone());
        let assembly = assembly(&hands, host.clone());
        let live = LiveGraph::open(&graph, assembly)?;
        let runnable = live.assemble().runnable.map_err(UpError::Graph)?;
        hands.commands.learn(CommandTable::of(&live.live().version().documents));
        let address = format!("sqlite:{}", hands.workspace.path("runtime/sessions.db").display());
        let mut open_store = StoreSettings::of(&graph, &live.live().version().documents).address_or_default(Some(address)).open().await?;
        let metrics = Metrics::new();
        open_store.store = metrics.store(open_store.store);
        let sessions = Arc::new(metrics.over(live.assembly().sessions(runnable, Some(&open_store))?));
        hands.sessions.get_or_init(|| Arc::downgrade(&sessions));
        let receiver = Receiver::new(queue, sealer, hands.commands.clone(), hands.history.clone());
        let turns = mpsc::unbounded_channel();
        let (path, graph) = (graph, Some(live));
        Ok(Self { hands, sessions, path, open_store, turns, shared: None, metrics, host, secrets, graph, receiver, warnings, _lock: lock })
    }

    /// What a browser sees of it, on these terms: its graph, its sessions, its state, and a chat if it `has_chat`, which is one of the channels then.
    pub async fn dashboard(&mut self, settings: trellis_server::Settings, has_chat: bool) -> Dashboard {
        drop(self.hands.web_tokens.set(settings.tokens.clone()));
        let assembly = assembly(&self.hands, self.host.clone());
        let source = GraphSource::new(&self.path, assembly, self.open_store.clone());
        let turns = self.turns.0.clone();
        let (served, shared) = Served::shared(source, Arc::clone(&self.sessions), self.metrics.clone(), move |turn| {
            // Nobody is told any more at the end.
            let _ = turns.send(Ok(turn.clone()));
        });
        if let Some(graph) = &self.graph {
            // Nothing objects to the program that runs.
            drop(shared.take(graph.live().version(), graph.assemble()).await);
        }
        self.shared = Some(shared);
        Dashboard::new(served, settings, Arc::clone(&self.hands), self.receiver.clone(), has_chat)
    }

    /// What its functions work with.
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

    /// Runs until `stop`, or until its channels are over and nothing is left to do. `log` gets lines about what goes wrong meanwhile.
    ///
    /// # Errors
    /// The queue or the store of the sessions fails.
    pub async fn run(
        mut self,
        channels: Vec<Arc<dyn Channel>>,
        stop: impl Future<Output = ()>,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<(), UpError> {
        let log: Arc<dyn Fn(&str) + Send + Sync> = Arc::new(log);
        let named = channels.iter().map(|channel| (channel.name().to_owned(), Arc::clone(channel)));
        let channels: Arc<Channels> = Arc::new(named.collect());
        let dispatcher =
            Dispatcher::new(Arc::clone(&self.hands), Arc::clone(&self.sessions), Arc::clone(&channels)).shared(self.shared.clone());
        self.hands.queue.recover(self.hands.settings.language.text("again")).await?;
        dispatcher.recover().await?;
        self.warnings.iter().for_each(|warning| log(warning));
        self.follow_edits(&log);
        let mut services: JoinSet<Result<(), UpError>> = JoinSet::new();
        let (turns, mut turned) = std::mem::replace(&mut self.turns, mpsc::unbounded_channel());
        let sessions = Arc::clone(&self.sessions);
        let away = Arc::clone(&log);
        services.spawn(async move {
            let tell = |driven: Driven<'_>| match driven {
                Driven::Turn(_, Ok(turn)) => drop(turns.send(Ok(turn))),
                Driven::Turn(id, Err(error)) => {
                    away(&format!("session `{id}`: {error}"));
                    drop(turns.send(Err((id.clone(), error))));
                }
                Driven::Away(error) => away(&error.to_string()),
            };
            sessions.drive(Drive::Forever, tell).await.map_err(|error| UpError::Drive(error.to_string()))
        });
        let telling = dispatcher.clone();
        services.spawn(async move {
            while let Some(turn) = turned.recv().await {
                match turn {
                    Ok(turn) => telling.turned(&turn).await?,
                    Err((session, error)) => drop(telling.failed(&session, &error).await?),
                }
            }
            Ok(())
        });
        let (outbox, sending) = (self.hands.outbox.clone(), Arc::clone(&channels));
        services.spawn(async move { outbox.serve(&sending).await.map_err(UpError::from) });
        let dispatching = dispatcher.clone();
        services.spawn(async move { dispatching.serve().await.map_err(UpError::from) });
        let typing = dispatcher.clone();
        services.spawn(async move { typing.keep_typing().await.map_err(UpError::from) });
        let (asking, secrets, log_line) = (Arc::clone(&self.hands), self.secrets.clone(), Arc::clone(&log));
        // What is in the way of a channel is said at once, and stops no other.
        tokio::spawn(async move { check_remote(&asking.settings, &secrets).await.iter().for_each(|found| log_line(found)) });
        let (hands, store, wake) = (Arc::clone(&self.hands), Arc::clone(&self.open_store.store), Arc::clone(&dispatcher.wake));
        let log_line = Arc::clone(&log);
        services.spawn(async move { keep_time(&hands, &*store, Timestamp::now, || wake.notify_one(), &*log_line).await });
        let mut readers: JoinSet<Result<(), UpError>> = JoinSet::new();
        for channel in channels.values() {
            let (channel, receiver, queue) = (Arc::clone(channel), self.receiver.clone(), self.hands.queue.clone());
            let (wake, troubles, log) = (Arc::clone(&dispatcher.wake), self.hands.troubles.clone(), Arc::clone(&log));
            readers.spawn(async move { read(&*channel, &receiver, &queue, || wake.notify_one(), (&troubles, &*log)).await });
        }
        let ended = self.until_the_end(&mut services, &mut readers, &dispatcher, stop).await;
        readers.abort_all();
        self.close(services).await;
        ended
    }

    /// Waits until it is asked to stop, a part fails, or all work is done.
    async fn until_the_end(
        &self,
        services: &mut JoinSet<Result<(), UpError>>,
        readers: &mut JoinSet<Result<(), UpError>>,
        dispatcher: &Dispatcher,
        stop: impl Future<Output = ()>,
    ) -> Result<(), UpError> {
        let mut stop = std::pin::pin!(stop);
        let mut looks = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                () = &mut stop => return Ok(()),
                Some(ended) = services.join_next() => return ended.unwrap_or_else(|error| Err(UpError::Drive(error.to_string()))),
                Some(ended) = readers.join_next() => ended.unwrap_or_else(|error| Err(UpError::Drive(error.to_string())))?,
                _ = looks.tick(), if readers.is_empty() => {
                    if dispatcher.is_idle().await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Shuts down in reverse order: sessions reach their stops, waiting messages are sent, the rest stays stored.
    async fn close(&mut self, mut services: JoinSet<Result<(), UpError>>) {
        self.sessions.stop(GRACE).await;
        let flushed = async {
            while !self.hands.queue.is_flushed().await.unwrap_or(true) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // What is not sent by then is sent after the next start.
        let _ = tokio::time::timeout(FLUSH, flushed).await;
        services.abort_all();
        while services.join_next().await.is_some() {}
        self.host.close().await;
    }

    /// Takes up each edit of the graph that can be run.
    fn follow_edits(&mut self, log: &Arc<dyn Fn(&str) + Send + Sync>) {
        let Some(mut live) = self.graph.take() else { return };
        let (sender, mut edits) = mpsc::channel::<(Arc<Version>, Assembled)>(4);
        let (hands, sessions, log_line) = (Arc::downgrade(&self.hands), Arc::downgrade(&self.sessions), Arc::clone(log));
        let shared = self.shared.clone();
        tokio::spawn(async move {
            while let Some((version, assembled)) = edits.recv().await {
                let (Some(hands), Some(sessions)) = (hands.upgrade(), sessions.upgrade()) else { return };
                match &assembled.runnable {
                    Ok(_) => hands.commands.learn(CommandTable::of(&version.documents)),
                    Err(error) => log_line(&format!("the edited graph cannot be run, the one before stays in use: {error}")),
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
    }
}

/// Assembles the graph: with the functions of this crate, without terminal input, and with sessions that resume without a caller.
fn assembly(hands: &Arc<Hands>, host: Host) -> Assembly {
    let policy = Policy::new().unbound(Unbound::Fail).detached(true);
    let hands = Arc::clone(hands);
    Assembly::new().policy(policy).host(host).functions(move |bindings| tools::bound(bindings, &hands))
}
