//! MCP: graphs as tools, questions as forms, sessions as resources and tasks.
//!
//! ```text
//! tools/call ─▶ handler ─▶ flows, tools ─▶ act ─▶ Walked ─▶ walk ─┬─▶ ask: a form, while somebody can be asked
//!                                                                  └─▶ turn_report: text and structured content
//! ```
//!
//! **Invariant:** the needs of a session are matched in `ask` alone; the form of a question depends on the capabilities that the client
//! declared, never on its name.

mod apps;
mod arguments;
mod ask;
mod asking;
mod author;
mod changes;
mod counted;
mod facts;
mod flows;
mod handler;
mod input;
mod opened;
mod progress;
mod prompts;
mod question;
mod resources;
mod round;
mod schemas;
mod stdio;
mod streams;
mod tasks;
mod tools;
mod turn_report;
mod walk;

use std::{fmt, sync::Arc};

use rmcp::{RoleServer, service::RequestContext};

pub use self::{
    author::{AuthorTool, serve_author},
    stdio::{McpEnded, serve_stdio},
};
pub(crate) use self::{handler::McpHandler, streams::routes};
pub use crate::settings::{McpApprovals, McpSettings};
use crate::{
    gate::{Caller, Right, Rights},
    served::Served,
    trouble::{Code, Trouble},
};

/// The state that all clients of one server share.
pub(crate) struct McpDoor {
    pub(crate) served: Arc<Served>,
    pub(crate) settings: McpSettings,
    /// The caller that started it, over standard streams; over HTTP the gates determine the sender of a request.
    pub(crate) local: Option<Caller>,
}

impl McpDoor {
    /// Returns the sender of a request.
    ///
    /// # Errors
    /// It did not pass a gate.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, Trouble> {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let gated = parts.and_then(|parts| parts.extensions.get::<Caller>());
        let caller = self.local.as_ref().or(gated).cloned();
        caller.ok_or_else(|| Trouble::new(Code::Internal, Code::Internal.title()).logged("a request without gates"))
    }
}

impl fmt::Debug for McpDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpDoor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Checks that a caller has a right.
///
/// # Errors
/// The token does not have it.
fn admit(caller: &Caller, right: Right) -> Result<(), Trouble> {
    if caller.rights.has(right) {
        return Ok(());
    }
    let detail = format!("the token `{}` does not have the right `{right}`", caller.label);
    Err(Trouble::new(Code::Forbidden, detail).with("right", right.as_str()))
}

/// Returns the caller that started a server over standard streams.
fn starter() -> Caller {
    Caller { rights: Rights::all(), label: "mcp".into() }
}
