//! The functions that the graph calls (orchestrator 6).
//!
//! They have the effects that a graph cannot express: on the chat, its commands, memory, files, the web, the shell.

mod commands;
mod consolidate;
mod decide;
mod diagram;
mod files;
mod folder;
mod log;
mod references;
mod request_file;
mod schedules;
mod shell;
mod talk;
mod tasks;
mod typed;
mod web;

use std::{
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::{Arc, OnceLock, Weak},
};

use tokio::sync::Notify;
use trellis_core::{Mapping, SessionId, ToolError, Value};
use trellis_host::{Bindings, CallContext, Sessions, secrets::Vault};
use trellis_server::{Right, Tokens};

pub use self::{log::HandsLog, request_file::FileRequests};
pub(crate) use self::{
    shell::{end_orphans, obstacle as shell_obstacle},
    talk::away_key,
};
use crate::{
    channel::{ChannelTroubles, Web},
    config::Settings,
    decisions::Decisions,
    inbound::LiveCommands,
    message::{ChatPlace, Incoming},
    outbound::{Outbox, SecretMask},
    queue::{InboundRow, Queue},
    schedule::Jobs,
    seal::Sealer,
    workspace::{History, Memory, Workspace},
};

/// The state that functions work with.
#[derive(Debug)]
pub struct Hands {
    /// The settings.
    pub settings: Settings,
    /// The workspace.
    pub workspace: Workspace,
    /// The history of the chats.
    pub history: History,
    /// The memory.
    pub memory: Memory,
    /// The messages that came in.
    pub queue: Queue,
    /// The messages that go out.
    pub outbox: Outbox,
    /// Redacts the values of secrets.
    pub mask: SecretMask,
    /// The secrets.
    pub vault: Arc<Vault>,
    /// Seals notes before they are stored.
    pub sealer: Sealer,
    /// The decisions.
    pub decisions: Decisions,
    /// The scheduled jobs.
    pub jobs: Jobs,
    /// The commands of the graph.
    pub commands: LiveCommands,
    /// Calls that wait for a file.
    pub files: FileRequests,
    /// Notified when there may be something to begin.
    pub wake: Arc<Notify>,
    /// The sessions, once there are some.
    pub sessions: OnceLock<Weak<Sessions>>,
    /// The tokens of those who write in the browser, once there is one.
    pub web_tokens: OnceLock<Tokens>,
    /// The present errors of channels.
    pub troubles: ChannelTroubles,
    /// Gets what fails.
    pub log: HandsLog,
}

type Returned = Result<Value, ToolError>;

/// The code of a store or a file that failed.
const STORE: &str = "store";

/// Registers the functions.
#[must_use]
pub fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    let bindings = talk::bind(bindings, hands);
    let bindings = commands::bind(bindings, hands);
    let bindings = files::bind(bindings, hands);
    let bindings = consolidate::bind(bindings, hands);
    let bindings = decide::bind(bindings, hands);
    let bindings = diagram::bind(bindings, hands);
    let bindings = request_file::bind(bindings, hands);
    let bindings = schedules::bind(bindings, hands);
    let bindings = tasks::bind(bindings, hands);
    let bindings = web::bind(bindings, hands);
    // A custom graph may lack some of them.
    shell::bind(bindings, hands).shared()
}

impl Hands {
    /// The chat that a session belongs to.
    async fn place(&self, session: &SessionId) -> Result<ChatPlace, ToolError> {
        self.first_row(session).await.map(|row| row.message.place)
    }

    /// The message that a session began with.
    async fn first_row(&self, session: &SessionId) -> Result<InboundRow, ToolError> {
        let row = self.queue.of_run(session.as_str()).await.map_err(store_error)?;
        row.ok_or_else(|| ToolError::coded("not_found", format!("session `{session}` belongs to no chat")).finally())
    }

    /// Returns whether the person who wrote a message may approve calls (orchestrator 3.6): in the browser everybody with a token that has this
    /// right.
    pub fn may_approve(&self, message: &Incoming) -> bool {
        if !Web::has(&message.place) {
            return self.settings.may_approve(message);
        }
        self.web_tokens.get().is_some_and(|tokens| tokens.rights_of(&message.sender).has(Right::Approve))
    }

    /// The folder of files, which is made where it is missing.
    fn files_folder(&self) -> Result<PathBuf, ToolError> {
        let folder = self.workspace.path(&self.settings.files);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(store_error)?;
        Ok(folder)
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
    let (hands, tool) = (Arc::clone(hands), name.to_owned());
    bindings.function_async(name, move |context, args| {
        let (returned, hands, tool) = (run(Arc::clone(&hands), context, args), Arc::clone(&hands), tool.clone());
        async move {
            returned.await.inspect_err(|error| {
                if error.code.as_ref().is_some_and(|code| code.as_str() == Some(STORE)) {
                    hands.log.say(&format!("`{tool}`: {}", error.message));
                }
            })
        }
    })
}

/// A text of the arguments; the contract says that it is there.
fn text<'a>(args: &'a Mapping, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The error of a store or a file that failed.
fn store_error(error: impl std::fmt::Display) -> ToolError {
    ToolError::coded(STORE, error.to_string())
}

/// Does something that waits for a disk.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(ToolError::new(error.to_string())))
}

#[cfg(test)]
mod tests;
