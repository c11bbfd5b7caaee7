//! A PostgreSQL.

use std::{fs, os::unix::fs::MetadataExt, path::Path, process::Command};

use super::{Kind, PASSWORD, Server, asked, program};

/// A PostgreSQL of its own.
pub(crate) type Postgres = Server<Settings>;

/// Its additional arguments.
#[derive(Debug)]
pub(crate) struct Settings(&'static [&'static str]);

impl Postgres {
    /// Makes a cluster, starts it and waits until it answers.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Makes one with these settings.
    pub(crate) fn start_with(settings: &'static [&'static str]) -> Self {
        Self::launch(Settings(settings))
    }
}

impl Kind for Settings {
    const NAME: &'static str = "postgres";
    /// An immediate shutdown: what a crash leaves, but no orphans.
    const SIGNAL: &'static str = "QUIT";
    const TAKEN: &'static str = "could not bind";

    fn prepare(&self, folder: &Path) {
        let password = folder.join("password");
        fs::write(&password, PASSWORD).expect("a file in a temporary folder");
        let user = unprivileged(folder);
        if let Some(user) = &user {
            let owned = Command::new("chown").arg("-R").arg(user).arg(folder).status();
            assert!(owned.is_ok_and(|status| status.success()), "the temporary folder cannot be given to `{user}`");
        }
        let mut make = as_user(user.as_deref(), program("initdb", "postgresql"));
        let data = folder.join("data").display().to_string();
        let rest = ["-D", &data, "-U", "trellis", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"];
        make.extend(rest.map(str::to_owned));
        make.push(format!("--pwfile={}", password.display()));
        let made = Command::new(&make[0]).args(&make[1..]).current_dir(folder).output().expect("initdb starts");
        assert!(made.status.success(), "initdb fails: {}", String::from_utf8_lossy(&made.stderr));
    }

    fn command(&self, folder: &Path, port: u16) -> Vec<String> {
        let mut command = as_user(unprivileged(folder).as_deref(), program("postgres", "postgresql"));
        command.extend(["-D".into(), folder.join("data").display().to_string(), "-p".into(), port.to_string()]);
        let always = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "shared_buffers=16MB"];
        for setting in always.iter().chain(self.0) {
            command.extend(["-c".into(), (*setting).to_owned()]);
        }
        command
    }

    /// Returns whether it answers a client with its way of authentication; while it starts it sends an error.
    fn answers(port: u16) -> bool {
        asked(port, &hello()).is_some_and(|answer| answer.first() == Some(&b'R'))
    }

    /// `name` is where its tables are.
    fn url_at(port: u16, name: &str) -> String {
        format!("postgres://trellis:{PASSWORD}@127.0.0.1:{port}/postgres?schema={name}")
    }
}

/// The first message of a client.
fn hello() -> Vec<u8> {
    let parameters = b"user\0trellis\0database\0postgres\0\0";
    let length = u32::try_from(parameters.len() + 8).expect("a short message");
    [&length.to_be_bytes()[..], &[0, 3, 0, 0], parameters].concat()
}

/// PostgreSQL refuses to run as root: who it runs as then. Whose folder it is says whether we are.
fn unprivileged(folder: &Path) -> Option<String> {
    let is_root = fs::metadata("/proc/self").map(|process| process.uid() == 0).unwrap_or_default();
    assert!(folder.is_absolute(), "the temporary folder has no absolute path");
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let has = |name: &str| users.lines().any(|line| line.split(':').next() == Some(name));
    is_root.then(|| if has("postgres") { "postgres".to_owned() } else { "nobody".to_owned() })
}

fn as_user(user: Option<&str>, program: String) -> Vec<String> {
    let Some(user) = user else { return vec![program] };
    let group = Command::new("id").args(["-g", user]).output().expect("id starts").stdout;
    let group = String::from_utf8_lossy(&group).trim().to_owned();
    let switch = super::program("setpriv", "util-linux");
    vec![switch, format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".into(), "--".into(), program]
}
