//! The functions that carry calls of the graph out (orchestrator 6).
//!
//! What a graph can say stands in the graph; here is what has hands: the chat, its commands, memory, files, the web, the shell.

mod commands;
mod consolidate;
mod decide;
mod files;
mod references;
mod schedules;
mod shell;
mod talk;
mod tasks;
mod typed;
mod web;

use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::Notify;
use trellis_core::{Mapping, SessionId, ToolError, Value};
use trellis_host::{Bindings, CallContext, Sessions, secrets::Vault};

use crate::{
    config::Settings,
    decisions::Decisions,
    inbound::LiveCommands,
    message::ChatPlace,
    outbound::{Outbox, SecretMask},
    queue::{InboundRow, Queue},
    schedule::Jobs,
    seal::Sealer,
    workspace::{History, Memory, Workspace},
};

/// Everything that functions work with.
#[derive(Debug)]
pub struct Hands {
    /// The settings.
    pub settings: Settings,
    /// The workspace.
    pub workspace: Workspace,
    /// What was said.
    pub history: History,
    /// What is remembered.
    pub memory: Memory,
    /// The messages that came in.
    pub queue: Queue,
    /// The messages that go out.
    pub outbox: Outbox,
    /// Hides the values of secrets.
    pub mask: SecretMask,
    /// The secrets.
    pub vault: Arc<Vault>,
    /// Seals what is written down.
    pub sealer: Sealer,
    /// What was decided.
    pub decisions: Decisions,
    /// What happens by itself.
    pub jobs: Jobs,
    /// The commands of the graph.
    pub commands: LiveCommands,
    /// Told when there may be something to begin.
    pub wake: Arc<Notify>,
    /// The sessions, once there are some.
    pub sessions: OnceLock<Weak<Sessions>>,
}

type Returned = Result<Value, ToolError>;

/// Registers the functions.
#[must_use]
pub fn bound(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = talk::bound(bindings, hands);
    let bindings = commands::bound(bindings, hands);
    let bindings = files::bound(bindings, hands);
    let bindings = consolidate::bound(bindings, hands);
    let bindings = decide::bound(bindings, hands);
    let bindings = schedules::bound(bindings, hands);
    let bindings = tasks::bound(bindings, hands);
    let bindings = web::bound(bindings, hands);
    // A graph of one's own may leave some of them out.
    shell::bound(bindings, hands).shared()
}

impl Hands {
    /// The chat that a session belongs to.
    async fn place(&self, session: &SessionId) -> Result<ChatPlace, ToolError> {
        self.first_row(session).await.map(|row| row.message.place)
    }

    /// The message that a session began with.
    async fn first_row(&self, session: &SessionId) -> Result<InboundRow, ToolError> {
        let row = self.queue.of_run(session.as_str()).await.map_err(stored)?;
        row.ok_or_else(|| ToolError::coded("not_found", format!("session `{session}` belongs to no chat")).finally())
    }

    fn live(&self) -> Result<Arc<Sessions>, ToolError> {
        let sessions = self.sessions.get().and_then(Weak::upgrade);
        sessions.ok_or_else(|| ToolError::new("the sessions are not there yet"))
    }
}

/// A function over the hands as a binding.
fn function<F, Fut>(bindings: Bindings, hands: &Arc<Hands>, name: &str, run: F) -> Bindings
where
    F: Fn(Arc<Hands>, CallContext, Mapping) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Returned> + Send + 'static,
{
    let hands = Arc::clone(hands);
    bindings.function_async(name, move |context, args| run(Arc::clone(&hands), context, args))
}

/// A text of the arguments; the contract says that it is there.
fn text<'a>(args: &'a Mapping, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A store or a file that failed.
fn stored(error: impl std::fmt::Display) -> ToolError {
    ToolError::coded("store", error.to_string())
}

/// Does something that waits for a disk.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(ToolError::new(error.to_string())))
}

#[cfg(test)]
mod tests;
