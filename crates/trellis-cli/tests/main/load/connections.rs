//! Very many connections that say nothing: others are served meanwhile, and what they held is given back.

use std::{
    fs,
    io::{self, Write as _},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;

use super::client::Client;
use crate::{sandbox::Sandbox, serve::Serving};

/// Connections, where nothing else is said.
const CONNECTIONS: usize = 300;
/// Those of clients that do say something.
const OTHERS: usize = 8;
/// The time after which a wait fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of files that a process has open.
fn files(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

/// Waits until a process has so many files open.
fn until(process: u32, is_enough: impl Fn(usize) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_enough(files(process)) {
        assert!(Instant::now() < end, "{} files are open", files(process));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn silent_connections_keep_nobody_out() {
    let connections = std::env::var("CONNECTIONS").map_or(CONNECTIONS, |number| number.parse().unwrap());
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: end\n---\nWho are you?\n"),
        ("end.md", "---\noutput: \"{{ name }}\"\n---\nBye.\n"),
    ]);
    let serving = Serving::start(&sandbox, &[".", "--no-watch", "--connections", &(connections + OTHERS).to_string()]);
    let (port, process) = (serving.port().parse().unwrap(), serving.process());
    let mut client = Client::new(&[port], Serving::TOKEN);
    client.ask("/api/graphs", &[], None);
    let before = files(process);
    let silent: Vec<_> = (0..connections).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    until(process, |files| files >= before + connections);
    let began = Instant::now();
    let mut seq = client.ask("/api/sessions", &[], Some(&json!({ "id": "ana" })))["seq"].as_u64().unwrap();
    client.turn("ana", "k", &mut seq, "Ada");
    let _ = writeln!(io::stderr(), "{connections} connections; a session was walked beside them in {:?}", began.elapsed());
    assert_eq!(client.ask("/api/sessions/ana", &[], None)["stop"]["payload"]["output"], "Ada");
    drop(silent);
    until(process, |files| files <= before + OTHERS);
}
