//! Assembles graphs for a server: each with its store, the resources of its bindings, and its observers.

use std::{
    future, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::ValueEnum;
use trellis_host::{Policy, Unbound, assembly::Assembly, binding::Host, recording::Recorder};
use trellis_project::Project;
use trellis_server::{
    BrokenGraph, GraphSource, Served,
    mcp::{McpApprovals, McpSettings},
};

use crate::{
    assemble::max_input,
    observability::Observers,
    open::{self, DEFAULT_PATH, Place, shell_word},
    output::OutputFile,
    recording::Taped,
    report::{self, Checked, printable},
    store_config::{StoreArgs, secrets, warn},
    terminal::{self, Width},
};

/// Time between two writes of the metrics.
const BETWEEN_METRICS: Duration = Duration::from_secs(15);

/// Graphs to serve, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct ServingArgs {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    pub(crate) paths: Vec<PathBuf>,
    /// Approval of calls over MCP: by whom
    #[arg(long, value_name = "HOW", value_enum, default_value_t = ApprovalChoice::Form)]
    pub(crate) mcp_approve: ApprovalChoice,
    /// Tools that are offered over MCP
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = ToolChoice::All)]
    tools: ToolChoice,
    /// Approve every call that needs an approval
    #[arg(long)]
    pub(crate) yes: bool,
    /// Do not reload graphs when their files change
    #[arg(long)]
    no_watch: bool,
    /// Record the results of calls in this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer calls from a recording instead of carrying them out
    #[arg(long, value_name = "FILE")]
    replay_tools: Option<PathBuf>,
    /// Write metrics to this file, in the text format of Prometheus
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// A choice of those who may approve calls over MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalChoice {
    /// A person, by a form of the client.
    Form,
    /// Nobody: elsewhere only.
    Never,
    /// The model, too, by a tool call.
    Call,
}

/// A choice of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ToolChoice {
    /// Flows, and what walks and lists sessions.
    All,
    /// Flows, and what resumes them.
    Flows,
}

impl From<ApprovalChoice> for McpApprovals {
    fn from(choice: ApprovalChoice) -> Self {
        match choice {
            ApprovalChoice::Form => Self::Form,
            ApprovalChoice::Never => Self::Never,
            ApprovalChoice::Call => Self::Call,
        }
    }
}

impl ServingArgs {
    /// Finds the graphs at the paths, or here where none is named.
    ///
    /// # Errors
    /// There is no graph at a path.
    pub(crate) fn places(&self) -> anyhow::Result<Vec<Place>> {
        if self.paths.is_empty() {
            return open::places(None);
        }
        let mut places = Vec::new();
        for path in &self.paths {
            places.extend(open::places(Some(path))?);
        }
        Ok(places)
    }

    /// Sets what clients of MCP may do.
    pub(crate) fn set(&self, mcp: &mut McpSettings) {
        mcp.approvals = self.mcp_approve.into();
        mcp.only_flows = self.tools == ToolChoice::Flows;
    }

    /// The folder or file of the first graph; none where the folder of this process is served.
    pub(crate) fn first_path(&self) -> Option<&Path> {
        self.paths.first().map(PathBuf::as_path)
    }

    /// Opens graphs with their stores, and warns about unusual settings.
    ///
    /// # Errors
    /// A graph, its store, a recording or the file of the metrics cannot be opened.
    pub(crate) async fn open(&self, places: &[Place]) -> anyhow::Result<(Served, Serving)> {
        let taped = Arc::new(Taped::open(self.record.as_deref(), self.replay_tools.as_deref())?);
        if let Some(file) = &self.metrics {
            // Better now than after the work.
            OutputFile::create(file)?;
        }
        let policy = Policy::new().approve_all(self.yes).unbound(Unbound::Elsewhere).detached(true);
        let mut serving =
            Serving { hosts: Vec::new(), seeing: Vec::new(), recorder: taped.recorder.clone(), metrics: self.metrics.clone() };
        let mut sources = Vec::new();
        for place in places {
            let project = Project::open(&place.path)?;
            let keep = self.store.of(place, project.documents());
            let store = keep.open().await?;
            warn(&keep).await;
            let host = Host::new().secrets(secrets(place.folder()));
            let assembly = Assembly::new().policy(policy).max_input(max_input()?).host(host.clone());
            let (observers, taped) = (Observers::new(keep.graph(), None)?, Arc::clone(&taped));
            serving.hosts.push(host);
            serving.seeing.push(observers.clone());
            sources.push(GraphSource::new(&place.path, assembly, store).over(move |sessions| taped.over(observers.over(sessions))));
        }
        let served = Served::open(sources, !self.no_watch).await?;
        for broken in served.broken() {
            let place = places.iter().find(|place| place.path == broken.path);
            terminal::print_error(&report::human(&[mistakes(&broken, place)], Width::of(&io::stderr())));
            let (name, check) = (printable(broken.name), shell_word(broken.path));
            terminal::print_error(&format!("warning: `{name}` cannot be run; `trellis check --host {check}` shows why\n"));
        }
        if self.yes {
            terminal::print_error("warning: every call is approved\n");
        }
        if self.mcp_approve == ApprovalChoice::Call {
            terminal::print_error("warning: models may approve calls over MCP\n");
        }
        Ok((served, serving))
    }
}

/// Returns the mistakes of a graph, ready to be shown.
fn mistakes(broken: &BrokenGraph<'_>, place: Option<&Place>) -> Checked {
    Checked {
        shown_below: place.map(Place::shown_below).unwrap_or_default(),
        below: String::new(),
        documents: broken.documents.to_vec(),
        diagnostics: broken.findings.iter().filter(|found| found.is_error()).cloned().collect(),
        nodes: 0,
        unchecked: Vec::new(),
    }
}

/// The hosts, observers and recorder that end with the server.
pub(crate) struct Serving {
    hosts: Vec<Host>,
    seeing: Vec<Observers>,
    recorder: Option<Recorder>,
    metrics: Option<PathBuf>,
}

impl Serving {
    /// Writes metrics now and then until `served` ends, and then the last ones; ends what the bindings share, and what observers still have to tell.
    ///
    /// # Errors
    /// Metrics or a recording cannot be written.
    pub(crate) async fn until<T>(self, served: impl Future<Output = T>, metrics: impl Fn() -> String) -> anyhow::Result<T> {
        let writing = async {
            self.write_now_and_then(&metrics).await;
            future::pending().await
        };
        let ended = tokio::select! {
            ended = served => ended,
            never = writing => never,
        };
        let written = match &self.metrics {
            Some(file) => OutputFile::create(file).and_then(|file| file.write_text(&metrics())),
            None => Ok(()),
        };
        for host in self.hosts {
            host.close().await;
        }
        for seeing in self.seeing {
            seeing.finish()?;
        }
        if let Some(recorder) = self.recorder {
            recorder.finish()?;
        }
        written.map(|()| ended)
    }

    /// A device or a pipe gets the last numbers only, since it is read once.
    async fn write_now_and_then(&self, metrics: impl Fn() -> String) {
        let Some(file) = self.metrics.as_deref().filter(|file| !OutputFile::is_stream(file)) else { return };
        loop {
            tokio::time::sleep(BETWEEN_METRICS).await;
            let written = OutputFile::create(file).and_then(|file| file.write_text(&metrics()));
            if let Err(error) = written {
                return terminal::print_error(&format!("warning: the metrics are not written any more: {error}\n"));
            }
        }
    }
}
