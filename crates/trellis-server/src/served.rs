//! The graphs of a server by name, each with its program, its sessions and its store.
//!
//! **Invariant:** a graph retains the last program that could be run; one that never had one answers `no-program`.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{
        Arc, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use trellis_core::{Diagnostic, Document, Engine, Program, SessionId};
use trellis_host::{
    SendError, Sessions, Turn,
    assembly::{Assembled, Runnable},
    metrics::Metrics,
    sessions::{Drive, Driven},
    store::SessionStore,
};
use trellis_project::Version;

use crate::{
    hub::{Hub, News, ServerNews},
    layouts::Layouts,
    mcp_metrics::McpMetrics,
    readiness::{Readiness, StoreTrial},
    redaction::Redactions,
    renewal,
    source::GraphSource,
    stored_here::StoredHere,
    task_notes::TaskNotes,
    trouble::{Code, Trouble},
};

type TurnOwner = dyn Fn(&Turn) + Send + Sync;

/// The graphs that a server serves.
#[derive(Debug)]
pub struct Served {
    graphs: BTreeMap<Arc<str>, Arc<ServedGraph>>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) metrics: Metrics,
    pub(crate) mcp: McpMetrics,
    pub(crate) trial: StoreTrial,
    is_stopping: AtomicBool,
    /// What else must work for the server to be ready.
    pub(crate) readiness: Readiness,
}

/// A graph that cannot be run as its files are.
#[derive(Debug)]
#[non_exhaustive]
pub struct BrokenGraph<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its folder or file.
    pub path: &'s Path,
    /// Everything that was found in its files and on this host, sorted.
    pub findings: Arc<Vec<Diagnostic>>,
    /// Its files.
    pub documents: Arc<Vec<Arc<Document>>>,
}

/// A graph that is served.
pub(crate) struct ServedGraph {
    pub(crate) name: Arc<str>,
    pub(crate) source: GraphSource,
    pub(crate) redactions: Redactions,
    pub(crate) layouts: Layouts,
    pub(crate) task_notes: TaskNotes,
    pub(crate) stored_here: StoredHere,
    hub: Arc<Hub>,
    /// Hears of turns that requests made, where somebody else drives the sessions.
    owner: Option<Box<TurnOwner>>,
    now: RwLock<GraphVersion>,
    /// Held while a version is taken up, so that they come one after the other.
    taking: tokio::sync::Mutex<()>,
}

/// The current version of a graph.
#[derive(Clone, Default)]
pub(crate) struct GraphVersion {
    /// The sessions, once there was a program that could be run.
    pub(crate) sessions: Option<Arc<Sessions>>,
    /// The program that runs.
    pub(crate) program: Option<Arc<Program>>,
    /// Everything that was found in the newest version, sorted.
    pub(crate) findings: Arc<Vec<Diagnostic>>,
    /// The files of the newest version.
    pub(crate) documents: Arc<Vec<Arc<Document>>>,
    pub(crate) nodes: usize,
    pub(crate) unchecked: usize,
    /// The reasons why files could not be read.
    pub(crate) problems: Vec<String>,
    /// True if the newest version runs.
    pub(crate) is_sound: bool,
    /// The time at which the running version was loaded; if none runs, the newest.
    pub(crate) since: u64,
}

impl Served {
    /// Graphs by their names, whose sessions `metrics` count.
    pub(crate) fn new(graphs: impl IntoIterator<Item = Arc<ServedGraph>>, hub: Arc<Hub>, metrics: Metrics) -> Self {
        let graphs = graphs.into_iter().map(|graph| (Arc::clone(&graph.name), graph)).collect();
        let (trial, readiness) = (StoreTrial::default(), Readiness::default());
        Self { graphs, hub, metrics, mcp: McpMetrics::default(), trial, is_stopping: AtomicBool::new(false), readiness }
    }

    /// Serves one graph whose `sessions` somebody else drives, watches and tells of through the [`SharedGraph`]. `turned` hears of the turns that
    /// requests make; `metrics` are those that count the sessions.
    pub fn shared(
        source: GraphSource,
        sessions: Arc<Sessions>,
        metrics: Metrics,
        turned: impl Fn(&Turn) + Send + Sync + 'static,
    ) -> (Self, SharedGraph) {
        let hub = Arc::new(Hub::new());
        let now = GraphVersion { sessions: Some(Arc::clone(&sessions)), ..GraphVersion::default() };
        let graph =
            Arc::new(ServedGraph { owner: Some(Box::new(turned)), now: RwLock::new(now), ..ServedGraph::new(source, Arc::clone(&hub)) });
        graph.observe(&sessions);
        let shared = SharedGraph(Arc::clone(&graph));
        (Self::new([graph], hub, metrics), shared)
    }

    /// Sets what else must work for the server to be ready: `unready` returns the reason why it is not.
    pub fn ready_unless<F>(&self, unready: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.readiness.set(unready);
    }

    /// Returns the sender of news to all who follow the server.
    pub fn news(&self) -> News {
        News(Arc::clone(&self.hub))
    }

    /// The names of the graphs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.graphs.keys().map(|name| &**name)
    }

    /// The graphs that cannot be run as their files are.
    pub fn broken(&self) -> impl Iterator<Item = BrokenGraph<'_>> {
        self.graphs.values().filter_map(|graph| {
            let GraphVersion { is_sound, findings, documents, .. } = graph.now();
            (!is_sound).then(|| BrokenGraph { name: &graph.name, path: &graph.source.path, findings, documents })
        })
    }

    /// Returns the counts and times of the sessions and of MCP, in the format of Prometheus.
    pub fn metrics(&self) -> String {
        // The counts of sessions end the text.
        format!("{}{}", self.mcp.render(), self.metrics.render())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<ServedGraph>> {
        self.graphs.values()
    }

    /// The only graph, where there is one.
    pub(crate) fn only(&self) -> Option<&Arc<ServedGraph>> {
        self.graphs.values().next().filter(|_| self.graphs.len() == 1)
    }

    /// The graph of this name; the only one, where none is named.
    ///
    /// # Errors
    /// There is none, or a name is needed.
    pub(crate) fn graph(&self, name: Option<&str>) -> Result<&Arc<ServedGraph>, Trouble> {
        let Some(name) = name else {
            return self
                .only()
                .ok_or_else(|| Trouble::request("/graph", format!("several graphs are served; `graph` is one of {}", self.listed())));
        };
        self.graphs
            .get(name)
            .ok_or_else(|| Trouble::new(Code::UnknownGraph, format!("there is no graph `{name}`; there is {}", self.listed())))
    }

    fn listed(&self) -> String {
        self.graphs.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }

    /// The graph of a session, by its head; the one that is named, where one is.
    ///
    /// # Errors
    /// There is no such session, or several graphs have one of that name.
    pub(crate) async fn graph_of(&self, id: &SessionId, named: Option<&str>) -> Result<&Arc<ServedGraph>, Trouble> {
        if let (Some(_), _) | (None, true) = (named, self.graphs.len() == 1) {
            return self.graph(named);
        }
        let mut found = Vec::new();
        for graph in self.graphs.values() {
            if graph.has(id).await? {
                found.push(graph);
            }
        }
        match found[..] {
            [graph] => Ok(graph),
            [] => Err(Trouble::new(Code::UnknownSession, format!("there is no session `{id}`"))),
            _ => {
                let names = found.iter().map(|graph| format!("`{}`", graph.name)).collect::<Vec<_>>().join(", ");
                Err(Trouble::new(Code::Ambiguous, format!("{names} have a session `{id}`: `?graph=` says which is meant")))
            }
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Ends every session's turn here, within the grace period, and everything that listens.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.is_stopping.store(true, Ordering::Release);
        self.hub.close();
        let stops = self.graphs.values().filter_map(|graph| graph.now().sessions).map(|sessions| async move { sessions.stop(grace).await });
        futures_util::future::join_all(stops).await;
    }
}

impl ServedGraph {
    /// A graph that has no version yet.
    pub(crate) fn new(source: GraphSource, hub: Arc<Hub>) -> Self {
        Self {
            name: Arc::clone(&source.store.graph),
            redactions: Redactions::default(),
            layouts: Layouts::default(),
            task_notes: TaskNotes::default(),
            stored_here: StoredHere::default(),
            source,
            hub,
            owner: None,
            now: RwLock::default(),
            taking: tokio::sync::Mutex::default(),
        }
    }

    /// Returns whether somebody else drives its sessions.
    pub(crate) fn is_shared(&self) -> bool {
        self.owner.is_some()
    }

    /// Returns the current version of the graph.
    pub(crate) fn now(&self) -> GraphVersion {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its sessions.
    ///
    /// # Errors
    /// It never had a program that could be run.
    pub(crate) fn sessions(&self) -> Result<Arc<Sessions>, Trouble> {
        self.now().sessions.ok_or_else(|| self.no_program())
    }

    /// The engine of the program that runs.
    ///
    /// # Errors
    /// As [`ServedGraph::sessions`].
    pub(crate) fn engine(&self) -> Result<Engine, Trouble> {
        Ok(self.sessions()?.engine())
    }

    pub(crate) fn store(&self) -> &dyn SessionStore {
        &*self.source.store.store
    }

    /// Returns whether it has a session, in memory or in its store.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn has(&self, id: &SessionId) -> Result<bool, Trouble> {
        if self.now().sessions.is_some_and(|sessions| sessions.look(id, |_| ()).is_some()) {
            return Ok(true);
        }
        if trellis_host::store::check_name(id.as_str()).is_err() {
            return Ok(false);
        }
        let stored = self.store().load(std::slice::from_ref(id)).await?;
        Ok(stored.into_iter().flatten().any(|stored| stored.head.graph == self.name))
    }

    /// Takes a version of the files: its sessions continue with it, if it can be run.
    ///
    /// # Errors
    /// A hook objects, or a function does not belong to the graph.
    pub(crate) async fn take(self: &Arc<Self>, version: &Version, assembled: Assembled) -> Result<(), Trouble> {
        let _taking = self.taking.lock().await;
        // Before anything of it runs.
        self.redactions.learn_graph(&version.documents);
        let mut findings = [version.diagnostics.clone(), assembled.findings].concat();
        findings.sort_by(|one, other| one.order().cmp(&other.order()));
        let mut now = self.now();
        let fingerprint = |now: &GraphVersion| now.program.as_ref().map(|program| Arc::clone(program.fingerprint()));
        let before = (now.is_sound, fingerprint(&now));
        now.is_sound = assembled.runnable.is_ok();
        let mut vetoed = None;
        // The program that its sessions began with is there.
        let is_first = now.program.is_none() && self.owner.is_some();
        if let Ok(runnable) = assembled.runnable
            && !is_first
        {
            match &now.sessions {
                Some(sessions) => vetoed = sessions.swap(runnable.engine, runnable.bindings).await.err(),
                None => now.sessions = Some(self.begin(runnable)?),
            }
        }
        if vetoed.is_none() && (now.is_sound || now.sessions.is_none()) {
            now.since = crate::clock::millis(version.at);
        }
        now.findings = Arc::new(findings);
        now.documents = Arc::new(version.documents.clone());
        (now.nodes, now.unchecked) = (version.nodes, version.unchecked.len());
        now.problems.clone_from(&version.problems);
        if now.is_sound && vetoed.is_none() {
            now.program.clone_from(&version.program);
        }
        let after = (now.is_sound, fingerprint(&now));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
        let is_reload = after.0 && before != after;
        self.hub.publish(ServerNews::Graph { graph: Arc::clone(&self.name), is_reload });
        if let (true, None, Some(sessions)) = (is_reload, &self.owner, self.now().sessions) {
            renewal::begin(&self.name, sessions, &self.hub);
        }
        match vetoed {
            Some(vetoed) => Err(Trouble::new(Code::Vetoed, vetoed.to_string())),
            None => Ok(()),
        }
    }

    /// Returns the sessions of its first program, and starts the task that resumes them.
    fn begin(self: &Arc<Self>, runnable: Runnable) -> Result<Arc<Sessions>, Trouble> {
        let sessions = self.source.assembly.sessions(runnable, Some(&self.source.store));
        let sessions = sessions.map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
        let sessions = Arc::new((self.source.over)(sessions));
        self.observe(&sessions);
        let (driven, graph): (_, Weak<Self>) = (Arc::clone(&sessions), Arc::downgrade(self));
        tokio::spawn(async move {
            let report = |driven: Driven<'_>| {
                if let (Driven::Turn(id, turn), Some(graph)) = (driven, graph.upgrade()) {
                    graph.hub.turn(&graph.name, id, turn);
                }
            };
            driven.drive(Drive::Forever, report).await
        });
        Ok(sessions)
    }

    /// Hears what happens in its sessions.
    fn observe(self: &Arc<Self>, sessions: &Arc<Sessions>) {
        self.redactions.watch(sessions);
        let (hub, name, graph) = (Arc::clone(&self.hub), Arc::clone(&self.name), Arc::downgrade(self));
        sessions.observe(move |id, event| {
            if let Some(graph) = graph.upgrade() {
                graph.redactions.observe(id, event);
                graph.stored_here.note(id, event);
            }
            hub.observe(&name, id, event);
        });
    }

    /// Reports the turn of a request to listeners; where somebody else drives the sessions, they do that.
    pub(crate) fn report(&self, turn: &Turn) {
        match &self.owner {
            Some(owner) => owner(turn),
            None => self.hub.turn(&self.name, &turn.session, Ok(turn.clone())),
        }
    }

    /// The program that runs.
    ///
    /// # Errors
    /// As [`ServedGraph::sessions`].
    pub(crate) fn program(&self) -> Result<Arc<Program>, Trouble> {
        self.now().program.ok_or_else(|| self.no_program())
    }

    fn no_program(&self) -> Trouble {
        Trouble::new(Code::NoProgram, format!("`{}` has mistakes, and no earlier version runs", self.name))
    }
}

/// A served graph whose sessions somebody else drives. Clones are the same.
#[derive(Clone, Debug)]
pub struct SharedGraph(Arc<ServedGraph>);

impl SharedGraph {
    /// Tells listeners where a session stopped, or why it did not continue.
    pub fn turned(&self, id: &SessionId, turn: Result<Turn, SendError>) {
        self.0.hub.turn(&self.0.name, id, turn);
    }

    /// Takes a version of the files: the sessions continue with it, if it can be run. The first one is that with which they began.
    ///
    /// # Errors
    /// A hook objects.
    pub async fn take(&self, version: &Version, assembled: Assembled) -> Result<(), Trouble> {
        self.0.take(version, assembled).await
    }
}

impl fmt::Debug for ServedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedGraph").field("name", &self.name).field("source", &self.source).finish_non_exhaustive()
    }
}
