//! `trellis serve [PATH…]`: serves graphs over HTTP until it is interrupted.

use anyhow::{Context as _, bail};
use trellis_server::Server;

use crate::{
    Exit,
    browser::LeadingPage,
    ending::{self, EndSignals},
    listening::{Announcement, ListenArgs, private},
    open::Place,
    serving::{ApprovalChoice, ServingArgs},
    terminal,
};

/// Serves graphs over HTTP and to a browser
///
/// It prints one line: the address, and behind `#` the token that every request must send as `Authorization: Bearer TOKEN`. A browser at that address
/// shows the studio. Sessions are stored where `trellis run` stores them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis serve graphs/tour           serve a graph
  trellis serve                       serve every graph here
  trellis serve --open                and open the studio in the browser
  trellis serve graphs --port 8080 --no-watch
  TRELLIS_TOKEN=… trellis serve       with a token that stays the same
  trellis serve --listen 0.0.0.0 --host flows.example.org --token-file tokens --behind-proxy 10.0.0.0/8

A tokens file has a line for each token: its SHA-256, its rights (read, walk, approve, operate, metrics) with
commas between, and a label. SIGHUP reads it again; without such a file it ends the server, as SIGTERM and
Ctrl-C do: turns have 10 seconds, and what still runs stays pending.

Exit codes: 0 ended; 2 wrong usage, or the program failed.")]
pub(crate) struct Serve {
    #[command(flatten)]
    graphs: ServingArgs,
    #[command(flatten)]
    at: ListenArgs,
    /// Open the studio in the browser
    #[arg(long)]
    open: bool,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        self.admit()?;
        let places = self.graphs.places()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the host cannot start")?;
        let signals = runtime.block_on(async { EndSignals::listen(self.at.ends_at_hangup()) });
        ending::run(runtime, &signals, self.serve(&places, &signals)).map(|()| Exit::Fine)
    }

    /// Refuses to start a server that others can reach without what that needs.
    fn admit(&self) -> anyhow::Result<()> {
        if !self.at.is_local() && self.graphs.yes {
            bail!("`--yes` is for this machine alone; leave {} out", self.at.opened_by());
        }
        if !self.at.is_local() && self.graphs.mcp_approve == ApprovalChoice::Call {
            bail!("`--mcp-approve call` is for this machine alone; leave {} out, or take `form` or `never`", self.at.opened_by());
        }
        self.at.admit()
    }

    async fn serve(&self, places: &[Place], signals: &EndSignals) -> anyhow::Result<()> {
        let (served, serving) = self.graphs.open(places).await?;
        let mut listening = self.at.open().await?;
        let graphs: Vec<_> = served.names().map(str::to_owned).collect();
        self.graphs.set(&mut listening.settings.mcp);
        // Before the address: who reads it finds the file.
        let _announcement = Announcement::write(self.graphs.first_path(), &listening, &graphs);
        let location = listening.location();
        let server = Server::new(served, listening.settings);
        terminal::print(&format!("{location}\n"))?;
        let _leading = if self.open { self.lead(listening.port, &location) } else { None };
        self.at.reload_tokens(&server);
        serving.until(server.serve_all(listening.listeners, signals.first()), || server.metrics()).await
    }

    /// Opens the browser; where that cannot be, the printed address is opened by hand.
    fn lead(&self, port: u16, location: &str) -> Option<LeadingPage> {
        let path = Announcement::folder(self.graphs.first_path()).join(format!("open-{port}.html"));
        let opened = private(&path).and_then(|file| LeadingPage::open(file, &path, location));
        let warn = |error| terminal::print_error(&format!("warning: no browser was opened ({error}); open the address above\n"));
        opened.map_err(warn).ok()
    }
}
