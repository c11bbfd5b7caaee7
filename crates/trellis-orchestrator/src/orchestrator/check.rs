//! Checks a workspace without starting anything (orchestrator 1.1).

use std::{env, path::Path, process::Stdio, sync::Arc, time::Duration};

use tokio::process::Command;
use trellis_core::{Diagnostic, Document};
use trellis_host::{
    Policy, Secrets, Unbound,
    assembly::{Assembly, LiveGraph},
    binding::HostModels,
    secrets::Vault,
};

use super::{DECISIONS, UpError, vault};
use crate::{
    channel::check_remote,
    config::{self, HeadlessModel},
    decisions::Decisions,
    events::check_files,
    queue::Queue,
    schedule::Jobs,
    tools::shell_obstacle,
    workspace::{Workspace, WorkspaceError},
};

/// The time in which a program says its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Programs that answer a prompt by a model of their own; other names are mistakes of the settings.
const PROGRAMS: [&str; 2] = ["claude", "codex"];

/// The findings, a line each.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The mistakes of the settings.
    pub mistakes: Vec<Diagnostic>,
    /// The text of the settings.
    pub text: String,
    /// The obstacles.
    pub obstacles: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Checks settings, vault, queue, files and graph, asks each provider who its token belongs to, and each program with a model for its version. Tokens
/// are in `secrets` or in the vault. What does not depend on a mistake of the settings is checked all the same.
///
/// # Errors
/// A file of the workspace cannot be read.
pub async fn check(graph: &Path, workspace: &Workspace, secrets: Secrets) -> Result<Found, UpError> {
    let holder = workspace.lock().err().filter(|error| matches!(error, WorkspaceError::Held { .. })).map(|error| error.to_string());
    let (text, unreadable) = match workspace.text(config::CONFIG_FILE) {
        Ok(text) => (text.unwrap_or_default(), None),
        Err(error) => (String::new(), Some(error.to_string())),
    };
    let (settings, mut mistakes) = config::read(config::CONFIG_FILE, &text);
    let vault = vault(workspace);
    let secrets = Secrets::chain([Some(secrets), vault.as_ref().ok().cloned().map(Vault::secrets)].into_iter().flatten());
    let opened = [
        vault.err().map(|error| error.to_string()),
        unreadable,
        // The queue of a program that runs is its own.
        holder.is_none().then(|| Queue::open(&workspace.path("runtime/queue.db")).err()).flatten().map(|error| error.to_string()),
        Jobs::open(&workspace.path("runtime/cron/cron-store.json")).err().map(|error| error.to_string()),
        Decisions::open(&workspace.path(DECISIONS)).err().map(|error| error.to_string()),
        check_files(workspace).err().map(|error| error.to_string()),
        shell_obstacle(&settings.shell),
    ];
    let mut obstacles: Vec<String> = opened.into_iter().flatten().collect();
    let agent = format!("agents/{}.md", settings.agent);
    if workspace.text(&agent)?.is_none() {
        obstacles.push(format!("`{}` is not there: it says who the agent is", workspace.path(&agent).display()));
    }
    match LiveGraph::open(graph, Assembly::new().policy(Policy::new().unbound(Unbound::Elsewhere))) {
        Err(error) => obstacles.push(error.to_string()),
        Ok(live) => {
            if let Err((reason, found)) = super::runnable(&live) {
                obstacles.push(format!("the graph cannot be run: {}", super::refusal(&reason, &found)));
            }
            // Findings that need no graph are among those of the settings.
            let of_graph = settings.models.models(workspace.folder()).map(|models| models.check_with(&live.live().version().documents));
            let of_graph = of_graph.into_iter().flatten().map(config::without_models);
            mistakes.extend(of_graph.filter(|finding| !mistakes.iter().any(|known| known.message == finding.message)).collect::<Vec<_>>());
        }
    }
    obstacles.extend(check_remote(&settings, &secrets).await);
    for HeadlessModel { provider, program } in settings.models.headless.iter().filter(|model| PROGRAMS.contains(&&*model.program)) {
        obstacles.extend(version(program).await.err().map(|why| format!("provider `{provider}`: `{program} --version` {why}")));
    }
    let silent = settings.without_approvers().map(|provider| {
        let name = provider.as_str();
        format!("channel `{name}`: nobody may approve calls there; list people in `approvers`, such as `{name}:USER`")
    });
    mistakes.sort_by(|one, other| one.order().cmp(&other.order()));
    Ok(Found { mistakes, text, obstacles, warnings: silent.chain(holder).collect() })
}

/// Asks a program for its version, which it says without asking a model (orchestrator 5.1).
///
/// # Errors
/// Why it does not say it.
async fn version(program: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().envs(["PATH", "HOME"].iter().filter_map(|name| Some((*name, env::var_os(name)?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let ended = tokio::time::timeout(VERSION_TIMEOUT, child.wait_with_output()).await;
    let ended = ended.map_err(|_| format!("says nothing within {} s", VERSION_TIMEOUT.as_secs()))?;
    let output = ended.map_err(|error| format!("was lost: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint: String = complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().chars().take(300).collect();
    Err(format!("fails ({}){}{complaint}", output.status, if complaint.is_empty() { "" } else { ": " }))
}

/// Looks for mistakes in the models of the settings, whose roles may name providers of the graph.
///
/// # Errors
/// There are some.
pub(super) fn models(workspace: &Workspace, models: Option<&HostModels>, documents: &[Arc<Document>]) -> Result<(), UpError> {
    let found: Vec<Diagnostic> = models.map(|models| models.check_with(documents)).unwrap_or_default();
    if !found.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let text = workspace.text(config::CONFIG_FILE)?.unwrap_or_default();
    let found = found.into_iter().map(config::without_models).collect();
    Err(UpError::Settings { file: workspace.path(config::CONFIG_FILE), text, found })
}
