//! Tools of MCP servers: `mcp: server/tool` (language 9.13–9.16).
//!
//! `servers` of a project file say how a server is reached: a process, or a URL. The tools of one server share one connection ([`Servers`]).
//!
//! ```text
//! Bindings ──▶ McpTool ──Lease──▶ Server ──▶ Connection ──rmcp──▶ Tapped<Stdio | HTTP>
//!                 └─ Flight: sent, progress, answer or cancelled      └─ progress, late answers, the end
//! ```
//!
//! **Invariant:** no text of a server is part of the program: its descriptions reach no prompt, and its tools are called by authors only.

mod binding;
mod call;
mod config;
mod connection;
mod failure;
mod library;
mod process;
mod result;
mod servers;
mod stdio;
mod tap;
mod tools;

use std::{sync::Arc, time::Duration};

use trellis_core::{
    Code, Diagnostic, Mapping, ToolError, Value, diagnostic::did_you_mean, schema::Schema, syntax::project::HostConfig, template::Shape,
};

use self::{
    call::Flight,
    servers::{Lease, Server},
    tools::ToolList,
};
pub use self::{
    library::{ServerLibrary, server_library},
    servers::Servers,
};
use super::{
    DEFAULT_TIMEOUT, Job,
    config::ConfigReader,
    kind::{Answer, Binding, Carrier, Obstacle, Pending, Site, within_reach},
    limits::Turnstiles,
};

/// A tool of a server.
#[derive(Debug)]
pub(super) struct McpTool {
    server: Arc<Server>,
    tool: Arc<str>,
    /// The shape of the arguments that are handed on, where those are not the call's own.
    args: Option<Shape>,
}

/// Reads `mcp:` and `args:`.
pub(super) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let (server, limits, tool) = binding::read(reader, site)?;
    let args = reader.shape("args").map(|shape| shape.value.clone());
    let turnstile = format!("{}\0servers\0{}", server.folder.display(), server.name);
    let entrance = site.host.shared::<Turnstiles>().get(turnstile, limits);
    let server = site.host.shared::<Servers>().get(server, &site.host.secrets, &site.host.http);
    Some(Carrier::through(McpTool { server, tool, args }, entrance))
}

/// Findings about the servers that a project file defines.
pub(super) fn check_servers(config: &HostConfig) -> Vec<Diagnostic> {
    binding::check_servers(config)
}

impl Binding for McpTool {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move {
            let (mut lease, mut flight) = (None, None);
            let answer = job.within(self.attempt(&job, &mut lease, &mut flight)).await;
            let facts = lease.as_ref().map(|lease: &Lease| lease.connection().facts());
            let result = match (answer, &lease, flight.take()) {
                (Err(error), Some(lease), Some(flight)) => self.give_up(flight, lease, error, &job).await,
                (answer, ..) => answer,
            };
            Answer::from(result).with_meta(facts)
        })
    }

    fn timeout(&self) -> Option<Duration> {
        Some(DEFAULT_TIMEOUT)
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        let name = &self.server.config().name;
        let obstacle = |why: String| match why.split_once("; ") {
            Some((why, remedy)) => Obstacle::new("mcp", format!("the server `{name}`: {why}")).help(remedy).about(name),
            None => Obstacle::new("mcp", format!("the server `{name}`: {why}")).about(name),
        };
        self.server.foreseen().into_iter().map(obstacle).collect()
    }

    fn reach(&self) -> Pending<'_, Vec<Obstacle>> {
        Box::pin(async move {
            let name = &self.server.config().name;
            match within_reach(&format!("the server `{name}`"), self.tools()).await {
                Ok(tools) if tools.lacks(&self.tool) => {
                    let message = format!("the server `{name}` has no tool `{}`", self.tool);
                    let found = Obstacle { code: Code::UnknownTool, ..Obstacle::new("mcp", message) };
                    vec![match did_you_mean(&self.tool, tools.names()) {
                        Some(help) => found.help(help),
                        None => found,
                    }]
                }
                Ok(_) => Vec::new(),
                // `obstacles` reports a server that cannot start.
                Err(_) if !self.server.foreseen().is_empty() => Vec::new(),
                Err(error) => vec![Obstacle::new("mcp", error.message).about(name)],
            }
        })
    }

    /// Returns the tool's `inputSchema`; `None` if `args` builds its arguments.
    fn takes(&self) -> Pending<'_, Option<Value>> {
        Box::pin(async move {
            let tools = if self.args.is_none() { self.tools().await.ok()? } else { return None };
            Some(tools.get(&self.tool)?.input.as_ref()?.source().clone())
        })
    }
}

impl McpTool {
    async fn tools(&self) -> Result<Arc<ToolList>, ToolError> {
        self.server.connection().await?.connection().tools().await
    }

    /// Carries a call out. While it is under way, `lease` and `flight` hold the means to cancel it.
    async fn attempt(
        &self,
        job: &Job<'_>,
        lease: &mut Option<Lease>,
        flight: &mut Option<(Flight, Option<Schema>)>,
    ) -> Result<Value, ToolError> {
        let args = &self.arguments(job)?;
        let lease = &*lease.insert(self.server.connection().await?);
        let output = call::accepted(lease, &self.server.config().name, &self.tool, args).await?;
        let (running, _) = flight.insert((Flight::begin(lease, &self.tool, args, job).await?, output.clone()));
        let answer = running.answer(lease, job).await;
        *flight = None;
        call::value(answer?, job.tool(), output.as_ref(), lease, job)
    }

    /// Returns the arguments that are sent: those that `args` makes of the call's, else these (language 9.2).
    fn arguments(&self, job: &Job<'_>) -> Result<Mapping, ToolError> {
        let Some(shape) = &self.args else { return Ok(job.args.clone()) };
        match job.shaped(shape)? {
            Value::Map(args) => Ok(args),
            _ => Err(ToolError::coded("template", format!("the `args` of `{}` are no mapping", job.tool())).finally()),
        }
    }
    /// Calls off a call that was stopped, or whose time is up.
    async fn give_up(
        &self,
        (flight, output): (Flight, Option<Schema>),
        lease: &Lease,
        error: ToolError,
        job: &Job<'_>,
    ) -> Result<Value, ToolError> {
        let answer = flight.cancel(lease, error).await?;
        call::value(answer, job.tool(), output.as_ref(), lease, job)
    }
}
