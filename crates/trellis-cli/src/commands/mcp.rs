//! `trellis mcp [PATH…]`: serves graphs as tools of a model, over standard input and output.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use trellis_server::mcp::{McpSettings, serve_author, serve_stdio};

use crate::{
    Exit,
    author::author_tools,
    ending::{self, EndSignals},
    open,
    serving::ServingArgs,
};

/// Serves graphs to a model over MCP
///
/// A client of the Model Context Protocol starts this program and speaks to it over standard input and output. Each graph is a tool. Sessions are
/// stored where `trellis run` stores them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis mcp graphs/tour             serve a graph
  trellis mcp                         serve every graph here
  trellis mcp graphs --mcp-approve never
  trellis mcp --author graphs         check, explain and walk graphs, for programs that write them

In the configuration of a client:
  {\"mcpServers\": {\"flows\": {\"command\": \"trellis\", \"args\": [\"mcp\", \"/path/to/graphs\"]}}}

It ends when standard input ends, and at SIGTERM or Ctrl-C, which stop what runs; sessions stay stored. Warnings go to standard error.

Exit codes: 0 ended; 2 wrong usage, or the program failed.")]
pub(crate) struct Mcp {
    #[command(flatten)]
    graphs: ServingArgs,
    /// Offer tools that check, explain, draw and walk graphs, for programs that write them; the graphs themselves are no tools, and nothing is called
    #[arg(long, conflicts_with_all = ["tools", "mcp_approve", "yes", "record", "replay_tools", "metrics", "store"])]
    author: bool,
}

impl Mcp {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.author {
            return self.author();
        }
        let places = self.graphs.places()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the host cannot start")?;
        let signals = runtime.block_on(async { EndSignals::listen(true) });
        ending::run(runtime, &signals, self.serve(&places, &signals)).map(|()| Exit::Fine)
    }

    fn author(&self) -> anyhow::Result<Exit> {
        let root = match &self.graphs.paths[..] {
            [] => PathBuf::from("."),
            [root] => root.clone(),
            _ => anyhow::bail!("`--author` takes one folder; graphs below it are named by each tool"),
        };
        let root = root.canonicalize().with_context(|| root.display().to_string())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the host cannot start")?;
        let ended = runtime.block_on(serve_author(author_tools(&root)));
        runtime.shutdown_background();
        ended?;
        Ok(Exit::Fine)
    }

    async fn serve(&self, places: &[open::Place], signals: &EndSignals) -> anyhow::Result<()> {
        let (served, serving) = self.graphs.open(places).await?;
        let served = Arc::new(served);
        let mut settings = McpSettings::default();
        self.graphs.set(&mut settings);
        serving.until(serve_stdio(Arc::clone(&served), settings, signals.first()), || served.metrics()).await??;
        Ok(())
    }
}
