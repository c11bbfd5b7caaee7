//! `trellis serve [PATH…]`: graphs over HTTP, until somebody ends it.

use std::{
    env, fs,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    process,
};

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use trellis_server::{HostNames, Network, Server, Settings, Tokens};

use crate::{
    Exit,
    browser::LeadingPage,
    ending::ended,
    open::Place,
    serving::{ApprovalChoice, ServingArgs},
    terminal,
};

/// The port, or the first of those that are tried.
const PORT: u16 = 7317;
/// Ports that are tried where none is named.
const PORTS: u16 = 100;
/// The token that outlives a restart.
const TOKEN: &str = "TRELLIS_TOKEN";

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
commas between, and a label. SIGHUP reads it again. SIGTERM or Ctrl-C ends the server: turns have 10 seconds,
and what still runs stays pending.

Exit codes: 0 ended; 2 wrong usage, or the program failed.")]
pub(crate) struct Serve {
    #[command(flatten)]
    graphs: ServingArgs,
    /// The port [default: 7317, or the next one that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The address to listen at, where it is not this machine alone; with `--host`, `--token-file` and `--tls` or `--behind-proxy`
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
    /// Speak TLS, with the certificates and the key of these files (PEM)
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Vec<PathBuf>,
    /// Take the tokens of this file
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Need no token: everybody on this machine may do everything
    #[arg(long)]
    no_token: bool,
    /// Open the studio in the browser
    #[arg(long)]
    open: bool,
    /// Print a line for each request to standard error
    #[arg(long)]
    log: bool,
    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = 1024)]
    connections: usize,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let is_local = self.listen.is_none_or(|address| address.is_loopback());
        self.admit(is_local)?;
        let places = self.graphs.places()?;
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
        if self.no_token || self.graphs.yes {
            bail!(
                "`--no-token` and `--yes` are for this machine alone; leave `--listen` out, or give tokens of their own with `--token-file`"
            );
        }
        if self.graphs.mcp_approve == ApprovalChoice::Call {
            bail!("`--mcp-approve call` is for this machine alone; leave `--listen` out, or take `form` or `never`");
        }
        if self.token_file.is_none() {
            bail!("others can reach this address: add `--token-file FILE`");
        }
        if self.host.is_empty() {
            bail!("others can reach this address: add `--host NAME`, the name that they know it by");
        }
        if self.behind_proxy.is_empty() && self.tls.is_empty() {
            bail!(
                "others can reach this address: add `--tls CERT KEY`, or `--behind-proxy CIDR`, the network of a proxy that has the certificate"
            );
        }
        Ok(())
    }

    async fn serve(&self, places: &[Place], is_local: bool) -> anyhow::Result<()> {
        let (served, serving) = self.graphs.open(places).await?;
        let listeners = self.bind().await?;
        let address = listeners[0].local_addr()?;
        let (token, tokens) = self.tokens()?;
        let names = self.host.iter().fold(HostNames::local(address), |names, name| names.and(name));
        let names = self.allow_origin.iter().fold(names, |names, origin| names.allow_origin(origin));
        let mut settings = Settings::new(tokens, names).proxies(self.behind_proxy.clone());
        settings.bounds.connections = self.connections;
        settings.bounds.requests_a_second = if is_local { None } else { Some(100) };
        if let [certificates, key] = &self.tls[..] {
            settings = settings.tls(certificates, key)?;
        }
        if self.log {
            settings = settings.log(|line| terminal::print_error(&format!("{line}\n")));
        }
        let graphs: Vec<_> = served.names().map(str::to_owned).collect();
        if self.no_token {
            terminal::print_error("warning: everybody on this machine may use the server without a token\n");
        }
        let shown = if address.ip().is_unspecified() { SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()) } else { address };
        let scheme = if self.tls.is_empty() { "http" } else { "https" };
        let place = format!("{scheme}://{shown}");
        settings.mcp.approvals = self.graphs.mcp_approve.into();
        settings.mcp.pages = Some(place.clone());
        let server = Server::new(served, settings);
        let fragment = token.as_deref().map(|token| format!("#{token}")).unwrap_or_default();
        // Before the address: who reads it finds the file.
        let _told = Announcement::write(self.graphs.first_path(), (&place, shown.port()), token.as_deref(), &graphs);
        let location = format!("{place}/{fragment}");
        terminal::print(&format!("{location}\n"))?;
        let _leading = if self.open { self.lead(shown.port(), &location) } else { None };
        let reloading = server.clone();
        tokio::spawn(async move {
            let Ok(mut hung_up) = signal(SignalKind::hangup()) else { return };
            while hung_up.recv().await.is_some() {
                if let Err(error) = reloading.tokens().reload() {
                    terminal::print_error(&format!("warning: the tokens stay as they are: {error}\n"));
                }
            }
        });
        serving.until(server.serve_all(listeners, ended()), || server.metrics()).await
    }

    /// Opens the browser; where that cannot be, the printed address is opened by hand.
    fn lead(&self, port: u16, location: &str) -> Option<LeadingPage> {
        let path = Announcement::folder(self.graphs.first_path()).join(format!("open-{port}.html"));
        let opened = private(&path).and_then(|file| LeadingPage::open(file, &path, location));
        let warn = |error| terminal::print_error(&format!("warning: no browser was opened ({error}); open the address above\n"));
        opened.map_err(warn).ok()
    }

    async fn bind(&self) -> anyhow::Result<Vec<TcpListener>> {
        let address = self.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let ports = match self.port {
            Some(port) => port..=port,
            None => PORT..=PORT + PORTS,
        };
        let mut refused = None;
        for port in ports {
            match self.bind_at(SocketAddr::new(address, port)).await {
                Ok(listeners) => return Ok(listeners),
                Err(error) => refused = Some(anyhow::Error::from(error).context(format!("nobody can listen at {address}:{port}"))),
            }
        }
        Err(refused.unwrap_or_else(|| anyhow::anyhow!("there is no port")))
    }

    /// Listens at an address; of this machine's own, at both, since `localhost` may be either.
    async fn bind_at(&self, address: SocketAddr) -> io::Result<Vec<TcpListener>> {
        let first = TcpListener::bind(address).await?;
        if self.listen.is_some() {
            return Ok(vec![first]);
        }
        match TcpListener::bind((Ipv6Addr::LOCALHOST, first.local_addr()?.port())).await {
            Ok(second) => Ok(vec![first, second]),
            // Another program would be `localhost` to some.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
            Err(_) => Ok(vec![first]),
        }
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

/// A file that tells programs of the same user where the server is; it goes when the server does.
struct Announcement(Option<PathBuf>);

impl Announcement {
    /// The folder that it is in.
    fn folder(path: Option<&Path>) -> PathBuf {
        let root = path.map_or_else(
            || PathBuf::from("."),
            |path| if path.is_file() { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() },
        );
        root.join(".trellis")
    }

    fn write(path: Option<&Path>, (address, port): (&str, u16), token: Option<&str>, graphs: &[String]) -> Self {
        let folder = Self::folder(path);
        let file = folder.join(format!("serve-{port}.json"));
        let text = json!({ "address": address, "token": token, "pid": process::id(), "graphs": graphs });
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
fn private(path: &Path) -> io::Result<fs::File> {
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
