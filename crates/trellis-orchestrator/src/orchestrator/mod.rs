//! Everything put together: a workspace, a graph, channels (orchestrator 1).

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
use trellis_core::Diagnostic;
use trellis_host::{
    Policy, Secrets, Sessions, Unbound,
    assembly::{Assembly, LiveGraph, NotRunnable, Runnable, StoreSettings},
    binding::Host,
    secrets::{Vault, VaultError},
    sessions::{Drive, Driven, UnknownFunctions},
    store::{SessionStore, StoreError},
};

pub use self::check::{Found, check};
use self::{reading::read, timekeeping::keep_time};
use crate::{
    channel::{Channel, ChannelSetup, check_remote, open_remote},
    config::{self, Settings},
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

/// It could not be started, or could not go on.
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
    /// Where they are kept.
    store: Arc<dyn SessionStore>,
    host: Host,
    secrets: Secrets,
    graph: Option<LiveGraph>,
    receiver: Receiver,
    /// What was found on the way that somebody should know.
    warnings: Vec<String>,
    _lock: WorkspaceLock,
}

/// Reads the settings of a workspace.
///
/// # Errors
/// The file cannot be read, or has mistakes.
pub fn settings(workspace: &Workspace) -> Result<Settings, UpError> {
    let text = workspace.text(config::FILE)?.unwrap_or_default();
    let (settings, found) = config::read(config::FILE, &text);
    if found.iter().any(Diagnostic::is_error) {
        return Err(UpError::Settings { file: workspace.path(config::FILE), text, found });
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
            workspace,
        });
        let host = Host::new().secrets(secrets.clone());
        let assembly = assembly(&hands, host.clone());
        let live = LiveGraph::open(&graph, assembly)?;
        let runnable = live.assemble().runnable.map_err(UpError::Graph)?;
        hands.commands.learn(CommandTable::of(&live.live().version().documents));
        let address = format!("sqlite:{}", hands.workspace.path("runtime/sessions.db").display());
        let kept = StoreSettings::of(&graph, &live.live().version().documents).address_or_default(Some(address)).open().await?;
        let sessions = Arc::new(live.assembly().sessions(runnable, Some(&kept))?);
        hands.sessions.get_or_init(|| Arc::downgrade(&sessions));
        let receiver = Receiver::new(queue, sealer, hands.commands.clone(), hands.history.clone());
        Ok(Self { hands, sessions, store: kept.store, host, secrets, graph: Some(live), receiver, warnings, _lock: lock })
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
    /// A token is not there.
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
        let dispatcher = Dispatcher::new(Arc::clone(&self.hands), Arc::clone(&self.sessions), Arc::clone(&channels));
        self.hands.queue.recover(self.hands.settings.language.text("again")).await?;
        dispatcher.recover().await?;
        self.warnings.iter().for_each(|warning| log(warning));
        self.follow_edits(&log);
        let mut services: JoinSet<Result<(), UpError>> = JoinSet::new();
        let (turns, mut turned) = mpsc::unbounded_channel();
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
        let (asking, secrets, told) = (Arc::clone(&self.hands), self.secrets.clone(), Arc::clone(&log));
        // What is in the way of a channel is said at once, and stops no other.
        tokio::spawn(async move { check_remote(&asking.settings, &secrets).await.iter().for_each(|found| told(found)) });
        let (hands, store, wake) = (Arc::clone(&self.hands), Arc::clone(&self.store), Arc::clone(&dispatcher.wake));
        let told = Arc::clone(&log);
        services.spawn(async move { keep_time(&hands, &*store, Timestamp::now, || wake.notify_one(), &*told).await });
        let mut readers: JoinSet<Result<(), UpError>> = JoinSet::new();
        for channel in channels.values() {
            let (channel, receiver, queue) = (Arc::clone(channel), self.receiver.clone(), self.hands.queue.clone());
            let (wake, log) = (Arc::clone(&dispatcher.wake), Arc::clone(&log));
            readers.spawn(async move { read(&*channel, &receiver, &queue, || wake.notify_one(), &*log).await });
        }
        let ended = self.until_the_end(&mut services, &mut readers, &dispatcher, stop).await;
        readers.abort_all();
        self.close(services).await;
        ended
    }

    /// Waits until it is told to stop, something fails, or everything is done.
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

    /// Ends in reverse: sessions come to their stops, what waits to be sent is, the rest stays where it is stored.
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
        let (sender, mut edits) = mpsc::channel::<(CommandTable, Runnable)>(4);
        let (hands, sessions, told) = (Arc::downgrade(&self.hands), Arc::downgrade(&self.sessions), Arc::clone(log));
        tokio::spawn(async move {
            while let Some((commands, runnable)) = edits.recv().await {
                let (Some(hands), Some(sessions)) = (hands.upgrade(), sessions.upgrade()) else { return };
                hands.commands.learn(commands);
                if let Err(error) = sessions.swap(runnable.engine, runnable.bindings).await {
                    told(&error.to_string());
                }
            }
        });
        let told = Arc::clone(log);
        let watching = thread::Builder::new().name("edits of the graph".to_owned()).spawn(move || {
            while let Some(reload) = live.next() {
                match reload.assembled.map(|assembled| assembled.runnable) {
                    Some(Ok(runnable)) => {
                        let commands = CommandTable::of(&reload.edit.version.documents);
                        if sender.blocking_send((commands, runnable)).is_err() {
                            return;
                        }
                    }
                    Some(Err(error)) => told(&format!("the edited graph cannot be run, the one before stays in use: {error}")),
                    None => told("the graph is gone; the one that was read before stays in use"),
                }
            }
        });
        if let Err(error) = watching {
            log(&format!("edits of the graph are not seen: {error}"));
        }
    }
}

/// The assembly of the graph: functions of this crate, nothing typed in, sessions that go on by themselves.
fn assembly(hands: &Arc<Hands>, host: Host) -> Assembly {
    let policy = Policy::new().unbound(Unbound::Fail).detached(true);
    let hands = Arc::clone(hands);
    Assembly::new().policy(policy).host(host).functions(move |bindings| tools::bound(bindings, &hands))
}
