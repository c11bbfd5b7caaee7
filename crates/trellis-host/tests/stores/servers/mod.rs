//! Real servers for tests, each on a free port and in a folder of its own.
//!
//! In goes nothing, out comes an address. A shell watches over each server: it ends the server and removes the folder as soon as the test process is
//! gone, however it went. Only std and `tempfile` are used, so that other tests can read this folder too.
//!
//! **Invariant:** a server that is missing is a failure that says what to install; no test is skipped.

#![allow(dead_code, reason = "each test binary uses what it needs")]

mod postgres;
mod proxy;
mod redis;

use std::{
    fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub(crate) use self::{
    postgres::Postgres,
    proxy::{Proxy, Weather},
    redis::Redis,
};

/// The password of every server here. It must be found in no error and no log.
pub(crate) const PASSWORD: &str = "correct-horse-7";

/// The Redis that all tests share.
pub(crate) fn redis() -> &'static Redis {
    static SHARED: OnceLock<Redis> = OnceLock::new();
    SHARED.get_or_init(Redis::start)
}

/// The PostgreSQL that all tests share. Nobody takes its power away, so it need not wait for the disk.
pub(crate) fn postgres() -> &'static Postgres {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    SHARED.get_or_init(|| Postgres::start_with(&["fsync=off"]))
}

/// A name that no other test has: for a prefix, for a schema.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("test-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A server of its own, in a folder of its own, on a port that was free.
#[derive(Debug)]
pub(crate) struct Server<K> {
    kind: K,
    folder: PathBuf,
    port: u16,
    running: Option<Running>,
}

/// The properties of a kind of server.
pub(crate) trait Kind {
    /// Its name.
    const NAME: &'static str;
    /// The signal that ends it at once.
    const SIGNAL: &'static str;
    /// Its message if its port is taken.
    const TAKEN: &'static str;

    /// Prepares the folder.
    fn prepare(&self, folder: &Path);
    /// Returns the command that starts it.
    fn command(&self, folder: &Path, port: u16) -> Vec<String>;
    /// Returns whether the one at this port is ready.
    fn answers(port: u16) -> bool;
    /// The address of a store of its own in the one behind this port.
    fn url_at(port: u16, name: &str) -> String;
}

impl<K: Kind> Server<K> {
    /// Starts one and waits until it answers.
    fn launch(kind: K) -> Self {
        let (folder, began) = (folder(K::NAME), Instant::now());
        kind.prepare(&folder);
        let mut server = Self { kind, folder, port: free_port(), running: None };
        // Somebody else may take the port between looking and starting.
        for _ in 0..5 {
            if server.begin() {
                // Unlike `println!`, this is not captured.
                let test = thread::current().name().unwrap_or("a test").to_owned();
                let _ = writeln!(io::stderr(), "-- {test} wants {}: it answers after {:.1} s", K::NAME, began.elapsed().as_secs_f32());
                return server;
            }
            server.kill();
            server.port = free_port();
        }
        panic!("{} does not start:\n{}", K::NAME, Running::log(&server.folder))
    }

    fn begin(&mut self) -> bool {
        let command = self.kind.command(&self.folder, self.port);
        self.running = Some(Running::start(&self.folder, K::SIGNAL, &command));
        let mut is_taken = false;
        let answers = wait_until(|| {
            is_taken = Running::log(&self.folder).contains(K::TAKEN);
            is_taken || K::answers(self.port)
        });
        answers && !is_taken
    }

    /// Ends it at once, as a loss of power would end it.
    pub(crate) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
    }

    /// Starts it again, where it was.
    pub(crate) fn restart(&mut self) {
        self.kill();
        assert!(self.begin(), "{} does not start again:\n{}", K::NAME, Running::log(&self.folder));
    }

    /// Sends a signal to all its processes: `STOP` and `CONT` make it stand still and go on, `KILL` ends it in the middle of whatever it does.
    pub(crate) fn signal(&self, signal: &str) {
        let first = fs::read_to_string(self.folder.join("pid")).expect("the watchdog wrote it").trim().to_owned();
        let mut processes = vec![first];
        let mut at = 0;
        while at < processes.len() {
            let pid = &processes[at];
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            processes.extend(children.split_whitespace().map(str::to_owned));
            at += 1;
        }
        // One that has ended meanwhile needs no signal.
        let _ = Command::new("kill").arg(format!("-{signal}")).args(&processes).stderr(Stdio::null()).status();
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A store of its own in it.
    pub(crate) fn url(&self, name: &str) -> String {
        K::url_at(self.port, name)
    }

    /// The same behind another port.
    pub(crate) fn url_at(port: u16, name: &str) -> String {
        K::url_at(port, name)
    }
}

impl<K> Drop for Server<K> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The time in which a server must answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ends the server when its standard input ends, and removes its folder unless it reads a line first: then the server goes on later.
const WATCHDOG: &str = r#"
folder=$1 signal=$2; shift 2
"$@" >"$folder/log" 2>&1 </dev/null &
echo $! >"$folder/pid"
read -r keep
kill "-$signal" $! 2>/dev/null
wait $!
[ -n "$keep" ] || rm -rf "$folder"
"#;

/// A server that runs.
#[derive(Debug)]
struct Running {
    watchdog: Child,
}

impl Running {
    /// Starts `command`; `signal` ends it at once.
    fn start(folder: &Path, signal: &str, command: &[String]) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCHDOG, "sh"]).arg(folder).arg(signal).args(command);
        // A group of its own: an interrupt from the keyboard reaches the tests first, and then their end reaches the watchdog.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { watchdog: shell.spawn().expect("sh starts") }
    }

    /// Returns the log of the server.
    fn log(folder: &Path) -> String {
        fs::read_to_string(folder.join("log")).unwrap_or_default()
    }

    /// Ends the server, without a farewell to its clients. What it stored stays.
    fn kill(mut self) {
        let _ = self.watchdog.stdin.as_mut().map(|stdin| stdin.write_all(b"keep\n"));
        let _ = self.watchdog.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// A folder that the watchdog removes.
fn folder(name: &str) -> PathBuf {
    tempfile::Builder::new().prefix(&format!("trellis-{name}-")).tempdir().expect("a temporary folder").keep()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Returns the path of a program: in the path, or where Debian keeps the programs of PostgreSQL.
fn program(name: &str, package: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    versions.sort();
    folders.extend(versions.into_iter().rev());
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found
        .unwrap_or_else(|| panic!("`{name}` is missing: install {package} (`apt-get install {package}`), or run ./test, which does"))
        .to_string_lossy()
        .into_owned()
}

/// Waits until `answers`; false where the server will not.
fn wait_until(mut answers: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if answers() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Sends `question` and returns the beginning of what comes back.
fn asked(port: u16, question: &[u8]) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&local(port), Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(question).ok()?;
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).ok()?;
    Some(answer[..length].to_vec())
}
