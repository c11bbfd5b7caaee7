//! A PostgreSQL.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{PASSWORD, Running, asked, folder, free_port, program, wait_until};

/// A PostgreSQL of its own.
#[derive(Debug)]
pub(crate) struct Postgres {
    folder: PathBuf,
    port: u16,
    settings: &'static [&'static str],
    running: Option<Running>,
}

impl Postgres {
    /// Makes a cluster, starts it and waits until it answers.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Makes one with these settings.
    pub(crate) fn start_with(settings: &'static [&'static str]) -> Self {
        let folder = folder("postgres");
        let password = folder.join("password");
        fs::write(&password, PASSWORD).expect("a file in a temporary folder");
        let user = unprivileged(&folder);
        if let Some(user) = &user {
            let owned = Command::new("chown").arg("-R").arg(user).arg(&folder).status();
            assert!(owned.is_ok_and(|status| status.success()), "the temporary folder cannot be given to `{user}`");
        }
        let mut make = as_user(user.as_deref(), program("initdb", "postgresql"));
        let data = folder.join("data").display().to_string();
        let rest = ["-D", &data, "-U", "trellis", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"];
        make.extend(rest.map(str::to_owned));
        make.push(format!("--pwfile={}", password.display()));
        let made = Command::new(&make[0]).args(&make[1..]).current_dir(&folder).output().expect("initdb starts");
        assert!(made.status.success(), "initdb fails: {}", String::from_utf8_lossy(&made.stderr));
        let mut postgres = Self { folder, port: free_port(), settings, running: None };
        // Somebody else may take the port between looking and starting.
        for _ in 0..5 {
            if postgres.begin() {
                return postgres;
            }
            postgres.kill();
            postgres.port = free_port();
        }
        panic!("postgres does not start:\n{}", Running::log(&postgres.folder))
    }

    fn begin(&mut self) -> bool {
        let mut command = as_user(unprivileged(&self.folder).as_deref(), program("postgres", "postgresql"));
        command.extend(["-D".into(), self.folder.join("data").display().to_string(), "-p".into(), self.port.to_string()]);
        let always = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "shared_buffers=16MB"];
        for setting in always.iter().chain(self.settings) {
            command.extend(["-c".into(), (*setting).to_owned()]);
        }
        // An immediate shutdown: what a crash leaves, but no orphans.
        self.running = Some(Running::start(&self.folder, "QUIT", &command));
        let mut is_taken = false;
        let answers = wait_until(|| {
            is_taken = Running::log(&self.folder).contains("could not bind");
            // What it asks a client first is how it authenticates; while it starts it sends an error.
            is_taken || asked(self.port, &hello()).is_some_and(|answer| answer.first() == Some(&b'R'))
        });
        answers && !is_taken
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
    }

    /// Starts it again, where it was.
    pub(crate) fn restart(&mut self) {
        self.kill();
        assert!(self.begin(), "postgres does not start again:\n{}", Running::log(&self.folder));
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A store of its own in it: `schema` is where its tables are.
    pub(crate) fn url(&self, schema: &str) -> String {
        Self::url_at(self.port, schema)
    }

    /// The same behind another port.
    pub(crate) fn url_at(port: u16, schema: &str) -> String {
        format!("postgres://trellis:{PASSWORD}@127.0.0.1:{port}/postgres?schema={schema}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
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
