//! The address of a server, its users, and the file by which programs of the same user find it.

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

use crate::{listen_values, terminal};

/// The port, or the first of those that are tried.
const PORT: u16 = 7317;
/// Ports that are tried where none is named.
const PORTS: u16 = 100;
/// Open files beside those of connections: stores, watched folders, tools.
const OTHER_FILES: usize = 512;
/// The token that outlives a restart.
const TOKEN: &str = "TRELLIS_TOKEN";

/// The address of a server, and its terms.
#[derive(Debug, clap::Args)]
pub(crate) struct ListenArgs {
    /// The port [default: 7317, or the next one that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The address to listen at, where it is not this machine alone; with `--host`, `--token-file` and `--tls` or `--behind-proxy`
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// A name that the server is known by, beside those of this machine; may be repeated
    #[arg(long, value_name = "NAME", value_parser = listen_values::host)]
    host: Vec<String>,
    /// Let pages of this origin use the server; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = listen_values::origin)]
    allow_origin: Vec<String>,
    /// Proxies of this network add TLS, and their `X-Forwarded-For` counts; with `--host` and `--token-file`; may be repeated
    #[arg(long, value_name = "CIDR")]
    behind_proxy: Vec<Network>,
    /// Speak TLS, with the certificates and the key of these files (PEM)
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    tls: Vec<PathBuf>,
    /// Take the tokens of this file, which SIGHUP reads again
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Need no token: everybody on this machine may do everything
    #[arg(long)]
    no_token: bool,
    /// Print a line for each request to standard error
    #[arg(long)]
    log: bool,
    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = listen_values::connections)]
    connections: usize,
}

/// A server that is about to be.
pub(crate) struct Listening {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) settings: Settings,
    /// Its address, without a token.
    pub(crate) place: String,
    pub(crate) port: u16,
    /// The token that is printed.
    pub(crate) token: Option<String>,
}

impl Listening {
    /// The address that a browser opens, with the token.
    pub(crate) fn location(&self) -> String {
        let fragment = self.token.as_deref().map(|token| format!("#{token}")).unwrap_or_default();
        format!("{}/{fragment}", self.place)
    }

    /// The same as it may stand in a log: without a token that somebody chose, who knows it.
    pub(crate) fn shown_location(&self) -> String {
        let is_chosen = self.token.is_some() && env::var(TOKEN).ok() == self.token;
        if is_chosen { format!("{}/", self.place) } else { self.location() }
    }
}

impl ListenArgs {
    /// Returns whether only this machine can reach it. Others reach it through a proxy, wherever it listens.
    pub(crate) fn is_local(&self) -> bool {
        self.is_loopback() && self.behind_proxy.is_empty()
    }

    fn is_loopback(&self) -> bool {
        self.listen.is_none_or(|address| address.is_loopback())
    }

    /// The options that let others reach it, in words.
    pub(crate) fn opened_by(&self) -> &'static str {
        match (self.is_loopback(), self.behind_proxy.is_empty()) {
            (true, _) => "`--behind-proxy`",
            (false, true) => "`--listen`",
            (false, false) => "`--listen` and `--behind-proxy`",
        }
    }

    /// Returns whether SIGHUP ends the server: without a file of tokens there is nothing to read again.
    pub(crate) fn ends_at_hangup(&self) -> bool {
        self.token_file.is_none()
    }

    /// Refuses to start a server that others can reach without what that needs.
    pub(crate) fn admit(&self) -> anyhow::Result<()> {
        if self.is_local() {
            return Ok(());
        }
        if self.no_token {
            let opened_by = self.opened_by();
            bail!("`--no-token` is for this machine alone; leave {opened_by} out, or give tokens of their own with `--token-file`");
        }
        let reached = if self.is_loopback() { "others can reach this server through its proxy" } else { "others can reach this address" };
        if self.token_file.is_none() {
            bail!("{reached}: add `--token-file FILE`");
        }
        if self.host.is_empty() {
            bail!("{reached}: add `--host NAME`, the name that they know it by");
        }
        if self.behind_proxy.is_empty() && self.tls.is_empty() {
            bail!("{reached}: add `--tls CERT KEY`, or `--behind-proxy CIDR`, the network of a proxy that has the certificate");
        }
        Ok(())
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// Nobody can listen there, or tokens or certificates cannot be used.
    pub(crate) async fn open(&self) -> anyhow::Result<Listening> {
        raise_file_limit(self.connections);
        let listeners = self.bind().await?;
        let address = listeners[0].local_addr()?;
        let (token, tokens) = self.tokens()?;
        let names = self.host.iter().fold(HostNames::local(address), |names, name| names.and(name));
        let names = self.allow_origin.iter().fold(names, |names, origin| names.allow_origin(origin));
        let mut settings = Settings::new(tokens, names).proxies(self.behind_proxy.clone());
        settings.bounds.connections = self.connections;
        settings.bounds.requests_a_second = if self.is_local() { None } else { Some(100) };
        if let [certificates, key] = &self.tls[..] {
            settings = settings.tls(certificates, key)?;
        }
        let logs_all = self.log;
        settings = settings.log(move |line| {
            // What the client is not told, somebody should know.
            if logs_all || line.trouble.is_some() {
                terminal::print_error(&format!("{line}\n"));
            }
        });
        if self.no_token {
            terminal::print_error("warning: everybody on this machine may use the server without a token\n");
        }
        let shown = if address.ip().is_unspecified() { SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()) } else { address };
        let scheme = if self.tls.is_empty() { "http" } else { "https" };
        let place = format!("{scheme}://{shown}");
        settings.mcp.pages = Some(self.known_as(&place, shown.port()));
        Ok(Listening { listeners, settings, place, port: shown.port(), token })
    }

    /// The address of the pages as people reach them: by the first `--host`, else at `place`. A proxy in front has the port of `https`.
    fn known_as(&self, place: &str, port: u16) -> String {
        let is_proxied = !self.behind_proxy.is_empty();
        let scheme = if is_proxied || !self.tls.is_empty() { "https" } else { "http" };
        match self.host.first() {
            None => place.to_owned(),
            Some(name) if is_proxied || listen_values::has_port(name) => format!("{scheme}://{name}"),
            Some(name) => format!("{scheme}://{name}:{port}"),
        }
    }

    /// Reads the file of the tokens again at each SIGHUP, if there is one.
    pub(crate) fn reload_tokens(&self, server: &Server) {
        if self.token_file.is_none() {
            return;
        }
        let reloading = server.clone();
        tokio::spawn(async move {
            let Ok(mut hung_up) = signal(SignalKind::hangup()) else { return };
            while hung_up.recv().await.is_some() {
                if let Err(error) = reloading.tokens().reload() {
                    terminal::print_error(&format!("warning: the tokens stay as they are: {error}\n"));
                }
            }
        });
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
                Err(error) => {
                    let in_use = error.kind() == io::ErrorKind::AddrInUse;
                    let hint = if in_use { ": another program does; name another port with `--port`, or 0 for any" } else { "" };
                    refused = Some(anyhow::Error::from(error).context(format!("nobody can listen at {address}:{port}{hint}")));
                }
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

/// Raises the number of files that this process may open, since each connection is one. Tools inherit it, so it is no larger than it must be.
fn raise_file_limit(connections: usize) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(connections + OTHER_FILES).unwrap_or(u64::MAX);
    let wanted = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        // If the system refuses, connections wait when there are too many.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// A file that tells programs of the same user where the server is; it goes when the server does.
pub(crate) struct Announcement(Option<PathBuf>);

impl Announcement {
    /// The folder that it is in.
    pub(crate) fn folder(path: Option<&Path>) -> PathBuf {
        let root = path.map_or_else(
            || PathBuf::from("."),
            |path| if path.is_file() { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() },
        );
        root.join(".trellis")
    }

    pub(crate) fn write(path: Option<&Path>, at: &Listening, graphs: &[String]) -> Self {
        let (folder, port) = (Self::folder(path), at.port);
        let file = folder.join(format!("serve-{port}.json"));
        let text = json!({ "address": at.place, "token": at.token, "pid": process::id(), "graphs": graphs });
        // Without the file, a person can still pass the address on.
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
pub(crate) fn private(path: &Path) -> io::Result<fs::File> {
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
