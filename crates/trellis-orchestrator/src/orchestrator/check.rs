//! What is in the way, found without starting anything (orchestrator 1.1).

use std::path::Path;

use trellis_host::{
    Policy, Secrets, Unbound,
    assembly::{Assembly, LiveGraph},
    secrets::Vault,
};

use super::{DECISIONS, UpError, settings, vault};
use crate::{channel::check_remote, decisions::Decisions, queue::Queue, schedule::Jobs, workspace::Workspace};

/// What was found, a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What is in the way.
    pub obstacles: Vec<String>,
    /// What may not be meant.
    pub warnings: Vec<String>,
}

/// Checks settings, vault, queue and graph, and asks each provider who its token belongs to. Tokens are in `secrets` or in the vault.
///
/// # Errors
/// The settings have mistakes, or there is no graph.
pub async fn check(graph: &Path, workspace: &Workspace, secrets: Secrets) -> Result<Found, UpError> {
    let (settings, vault) = (settings(workspace)?, vault(workspace));
    let secrets = Secrets::chain([Some(secrets), vault.as_ref().ok().cloned().map(Vault::secrets)].into_iter().flatten());
    let opened = [
        vault.err().map(|error| error.to_string()),
        Queue::open(&workspace.path("runtime/queue.db")).err().map(|error| error.to_string()),
        Jobs::open(&workspace.path("runtime/cron/cron-store.json")).err().map(|error| error.to_string()),
        Decisions::open(&workspace.path(DECISIONS)).err().map(|error| error.to_string()),
    ];
    let mut obstacles: Vec<String> = opened.into_iter().flatten().collect();
    let agent = format!("agents/{}.md", settings.agent);
    if workspace.text(&agent)?.is_none() {
        obstacles.push(format!("`{}` is not there: it says who the agent is", workspace.path(&agent).display()));
    }
    let live = LiveGraph::open(graph, Assembly::new().policy(Policy::new().unbound(Unbound::Elsewhere)))?;
    if let Err(error) = live.assemble().runnable {
        obstacles.push(format!("the graph cannot be run: {error}; `trellis check` shows what is wrong"));
    }
    drop(live);
    obstacles.extend(check_remote(&settings, &secrets).await);
    let silent = settings.without_approvers().map(|provider| {
        let name = provider.as_str();
        format!("channel `{name}`: nobody may approve calls there; list people in `approvers`, such as `{name}:USER`")
    });
    Ok(Found { obstacles, warnings: silent.collect() })
}
