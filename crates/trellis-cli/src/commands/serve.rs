//! `trellis serve [PATH…]`: graphs over HTTP, until somebody ends it.

use std::{
    env, fs,
    io::Write as _,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process,
};

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use trellis_host::{Policy, Unbound, assembly::Assembly, binding::Host};
use trellis_project::Project;
use trellis_server::{GraphSource, HostNames, Network, Served, Server, Settings, Tokens};

use crate::{
    Exit,
    commands::run::max_input,
    observability::Observers,
    open::{self, DEFAULT_PATH, Place},
    recording::Taped,
    report::printable,
    store_config::{StoreArgs, secrets, warn},
    terminal,
};

/// The port, or the first of those that are tried.
const PORT: u16 = 7317;
/// Ports that are tried where none is named.
const PORTS: u16 = 100;
/// The token that outlives a restart.
const TOKEN: &str = "TRELLIS_TOKEN";

/// Serves graphs over HTTP
///
/// It prints one line: the address, and behind `#` the token that every request must send as `Authorization: Bearer TOKEN`. Sessions are kept where
/// `trellis run` keeps them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis serve graphs/tour           serve a graph
  trellis serve                       serve every graph here
  trellis serve graphs --port 8080 --no-watch
  TRELLIS_TOKEN=… trellis serve       with a token that stays the same
  trellis serve --listen 0.0.0.0 --host flows.example.org --token-file tokens --behind-proxy 10.0.0.0/8

A tokens file has a line for each token: its SHA-256, its rights (read, walk, approve, operate, metrics) with
commas between, and a label. SIGHUP reads it again. SIGTERM or Ctrl-C ends the server: turns have 10 seconds,
and what still runs stays pending.

Exit codes: 0 ended; 2 wrong usage, or the program failed.")]
pub(crate) struct Serve {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    paths: Vec<PathBuf>,
    /// The port [default: 7317, or the next one that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The address to listen at, where it is not this machine alone; with `--host`, `--token-file` and `--behind-proxy`
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// A name that the server is known by, beside those of this machine; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Let pages of this origin use the server; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Proxies of this network add TLS, and their `X-Forwarded-For` counts; may be repeated
    #[arg(long, value_name = "CIDR")]
    behind_proxy: Vec<Network>,
    /// Take the tokens of this file
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Need no token: everybody on this machine may do everything
    #[arg(long)]
    no_token: bool,
    /// Approve every call that needs an approval
    #[arg(long)]
    yes: bool,
    /// Read the graphs again only when they are told to
    #[arg(long)]
    no_watch: bool,
    /// Record the results of calls in this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer calls from a recording instead of carrying them out
    #[arg(long, value_name = "FILE")]
    replay_tools: Option<PathBuf>,
    /// Print a line for each request to standard error
    #[arg(long)]
    log: bool,
    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = 1024)]
    connections: usize,
    #[command(flatten)]
    store: StoreArgs,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let is_local = self.listen.is_none_or(|address| address.is_loopback());
        self.admit(is_local)?;
        let mut places = Vec::new();
        if self.paths.is_empty() {
            places = open::places(None)?;
        }
        for path in &self.paths {
            places.extend(open::places(Some(path))?);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the host cannot start")?;
        let served = runtime.block_on(self.serve(&places, is_local));
        runtime.shutdown_background();
        served.map(|()| Exit::Fine)
    }

    /// Refuses to start a server that others can reach without what that needs.
    fn admit(&self, is_local: bool) -> anyhow::Result<()> {
        if is_local {
            return Ok(());
        }
        if self.no_token || self.yes {
            bail!(
                "`--no-token` and `--yes` are for this machine alone; leave `--listen` out, or give tokens of their own with `--token-file`"
            );
        }
        if self.token_file.is_none() {
            bail!("others can reach this address: add `--token-file FILE`");
        }
        if self.host.is_empty() {
            bail!("others can reach this address: add `--host NAME`, the name that they know it by");
        }
        if self.behind_proxy.is_empty() {
            bail!("others can reach this address: add `--behind-proxy CIDR`, the network of a proxy that has the certificate");
        }
        Ok(())
    }

    async fn serve(&self, places: &[Place], is_local: bool) -> anyhow::Result<()> {
        let taped = Taped::open(self.record.as_deref(), self.replay_tools.as_deref())?;
        let recorder = taped.recorder.clone();
        let (sources, hosts, seeing) = self.sources(places, taped).await?;
        let served = Served::open(sources, !self.no_watch).await?;
        let listener = self.bind().await?;
        let address = listener.local_addr()?;
        let (token, tokens) = self.tokens()?;
        let names = self.host.iter().fold(HostNames::local(address), |names, name| names.and(name));
        let names = self.allow_origin.iter().fold(names, |names, origin| names.allow_origin(origin));
        let mut settings = Settings::new(tokens, names).proxies(self.behind_proxy.clone());
        settings.bounds.connections = self.connections;
        settings.bounds.requests_a_second = if is_local { None } else { Some(100) };
        if self.log {
            settings = settings.log(|line| terminal::print_error(&format!("{line}\n")));
        }
        let graphs: Vec<_> = served.names().map(str::to_owned).collect();
        for broken in served.broken() {
            terminal::print_error(&format!("warning: `{}` has mistakes; `trellis check` shows them\n", printable(broken)));
        }
        if self.no_token {
            terminal::print_error("warning: everybody on this machine may use the server without a token\n");
        }
        if self.yes {
            terminal::print_error("warning: every call is approved\n");
        }
        let server = Server::new(served, settings);
        let shown = if address.ip().is_unspecified() { SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()) } else { address };
        let fragment = token.as_deref().map(|token| format!("#{token}")).unwrap_or_default();
        // Before the address: who reads it finds the file.
        let _told = Announcement::write(self.paths.first().map(PathBuf::as_path), shown, token.as_deref(), &graphs);
        terminal::print(&format!("http://{shown}/{fragment}\n"))?;
        let reloading = server.clone();
        tokio::spawn(async move {
            let Ok(mut hung_up) = signal(SignalKind::hangup()) else { return };
            while hung_up.recv().await.is_some() {
                if let Err(error) = reloading.tokens().reload() {
                    terminal::print_error(&format!("warning: the tokens stay as they are: {error}\n"));
                }
            }
        });
        server.serve(listener, ended()).await;
        for host in hosts {
            host.close().await;
        }
        for seeing in seeing {
            seeing.finish()?;
        }
        if let Some(recorder) = recorder {
            recorder.finish()?;
        }
        Ok(())
    }

    /// The graphs with their stores, what their bindings share, and who else sees their sessions.
    async fn sources(&self, places: &[Place], taped: Taped) -> anyhow::Result<(Vec<GraphSource>, Vec<Host>, Vec<Observers>)> {
        let policy = Policy::new().approve_all(self.yes).unbound(Unbound::Elsewhere).detached(true);
        let taped = std::sync::Arc::new(taped);
        let (mut sources, mut hosts, mut seeing) = (Vec::new(), Vec::new(), Vec::new());
        for place in places {
            let project = Project::open(&place.path)?;
            let keep = self.store.of(place, project.documents());
            let kept = keep.open().await?;
            warn(&keep).await;
            let host = Host::new().secrets(secrets(place.folder()));
            let assembly = Assembly::new().policy(policy).max_input(max_input()?).host(host.clone());
            let (observers, taped) = (Observers::new(keep.graph(), None)?, std::sync::Arc::clone(&taped));
            hosts.push(host);
            seeing.push(observers.clone());
            sources.push(GraphSource::new(&place.path, assembly, kept).over(move |sessions| taped.over(observers.over(sessions))));
        }
        Ok((sources, hosts, seeing))
    }

    async fn bind(&self) -> anyhow::Result<TcpListener> {
        let address = self.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let ports = match self.port {
            Some(port) => port..=port,
            None => PORT..=PORT + PORTS,
        };
        let mut refused = None;
        for port in ports {
            match TcpListener::bind(SocketAddr::new(address, port)).await {
                Ok(listener) => return Ok(listener),
                Err(error) => refused = Some(anyhow::Error::from(error).context(format!("nobody can listen at {address}:{port}"))),
            }
        }
        Err(refused.unwrap_or_else(|| anyhow::anyhow!("there is no port")))
    }

    /// The tokens, and the one that is printed.
    fn tokens(&self) -> anyhow::Result<(Option<String>, Tokens)> {
        if let Some(file) = &self.token_file {
            return Ok((None, Tokens::of_file(file)?));
        }
        if self.no_token {
            return Ok((None, Tokens::none()));
        }
        match env::var(TOKEN).ok().filter(|token| !token.is_empty()) {
            Some(token) => {
                let tokens = Tokens::chosen(&token).context(TOKEN)?;
                Ok((Some(token), tokens))
            }
            None => {
                let (token, tokens) = Tokens::random()?;
                Ok((Some(token), tokens))
            }
        }
    }
}

/// Waits for the first signal that ends the server; a second one ends it at once.
async fn ended() {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let mut raised: Vec<_> = signals.into_iter().flatten().collect();
    let (sender, mut heard) = tokio::sync::mpsc::channel::<()>(2);
    for mut signal in raised.drain(..) {
        let sender = sender.clone();
        tokio::spawn(async move { while signal.recv().await.is_some() && sender.send(()).await.is_ok() {} });
    }
    heard.recv().await;
    tokio::spawn(async move {
        if heard.recv().await.is_some() {
            process::exit(130);
        }
    });
}

/// A file that tells programs of the same user where the server is; it goes when the server does.
struct Announcement(Option<PathBuf>);

impl Announcement {
    fn write(path: Option<&Path>, address: SocketAddr, token: Option<&str>, graphs: &[String]) -> Self {
        let root = path.map_or_else(
            || PathBuf::from("."),
            |path| if path.is_file() { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() },
        );
        let folder = root.join(".trellis");
        let file = folder.join(format!("serve-{}.json", address.port()));
        let text = json!({ "address": format!("http://{address}"), "token": token, "pid": process::id(), "graphs": graphs });
        // Who cannot read it is told the address by hand.
        let written = fs::create_dir_all(&folder).and_then(|()| {
            let ignored = folder.join(".gitignore");
            if !ignored.exists() {
                fs::write(ignored, "*\n")?;
            }
            // Whole or not at all: another program may be looking for it.
            let part = file.with_extension("part");
            private(&part)?.write_all(format!("{text}\n").as_bytes())?;
            fs::rename(&part, &file)
        });
        Self(written.is_ok().then_some(file))
    }
}

/// A file that nobody else can read.
fn private(path: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // One that was left behind may have other permissions.
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // It may be gone already.
            let _ = fs::remove_file(file);
        }
    }
}
