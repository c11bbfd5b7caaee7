//! A server that runs on: walks, saves, streams that hang, and flat memory and files.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;

use super::client::Client;
use crate::{sandbox::Sandbox, serve::Serving};

/// The time of the run, if no other is asked for.
const TIME: Duration = Duration::from_secs(12);
/// Long enough for times that can be compared.
const LONG: Duration = Duration::from_secs(60);
/// Streams that nobody reads.
const HANGING: usize = 8;

const SHOP: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: count\n---\nWho are you?\n"),
    ("count.md", "---\ninput_type: int\nsave_to: count\nto: end\n---\nHow many, {{ name }}?\n"),
    ("end.md", "---\noutput: \"{{ count }}\"\n---\nBye.\n"),
];

/// The resources of a process.
#[derive(Debug)]
struct Held {
    kib: u64,
    files: usize,
    /// The median time of a walk.
    walk: Duration,
}

impl Held {
    fn of(process: u32, mut walks: Vec<Duration>) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap();
        walks.sort();
        Self { kib, files: fs::read_dir(format!("/proc/{process}/fd")).unwrap().count(), walk: walks[walks.len() / 2] }
    }
}

/// Walks sessions to their end, edits the graph now and then, and opens streams that are left alone.
fn busy(client: &mut Client, serving: &Serving, sandbox: &Sandbox, time: Duration, number: &mut usize) -> Held {
    let (began, mut walks) = (Instant::now(), Vec::new());
    let mut hanging = Vec::new();
    while began.elapsed() < time {
        *number += 1;
        let (session, walk) = (format!("s{number}"), Instant::now());
        let begun = client.ask("/api/sessions", &[], Some(&json!({ "id": session })));
        let mut seq = begun["seq"].as_u64().unwrap();
        for word in ["Ada", "2"] {
            client.turn(&session, &format!("{session}-{word}"), &mut seq, word);
        }
        walks.push(walk.elapsed());
        if number.is_multiple_of(50) {
            sandbox.write("end.md", format!("---\noutput: \"{{{{ count }}}}\"\n---\nBye, after {number} of you.\n").as_bytes());
        }
        if hanging.len() < HANGING {
            let mut stream = TcpStream::connect(("127.0.0.1", serving.port().parse::<u16>().unwrap())).unwrap();
            let request = format!(
                "GET /api/events HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {}\r\n\r\n",
                serving.port(),
                Serving::TOKEN
            );
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_exact(&mut [0; 12]).unwrap();
            hanging.push(stream);
        }
    }
    Held::of(serving.process(), walks)
}

#[test]
fn memory_files_and_times_stay_flat() {
    let time = std::env::var("SOAK").map_or(TIME, |seconds| Duration::from_secs(seconds.parse().unwrap()));
    let sandbox = Sandbox::new(SHOP);
    let serving = Serving::start(&sandbox, &[".", "--port", "0"]);
    let mut client = Client::new(&[serving.port().parse().unwrap()], Serving::TOKEN);
    let mut number = 0;
    // At first everything is built up: sessions in memory, caches, pools.
    let first = busy(&mut client, &serving, &sandbox, time / 3, &mut number);
    let before = busy(&mut client, &serving, &sandbox, time / 3, &mut number);
    let after = busy(&mut client, &serving, &sandbox, time / 3, &mut number);
    let _ = writeln!(io::stderr(), "{number} sessions: {first:?}, {before:?}, {after:?}");
    assert!(after.kib < before.kib + before.kib / 10 + 4096, "{before:?}, {after:?}");
    assert!(after.files <= before.files + 4, "{before:?}, {after:?}");
    // For a few seconds, times are those of whatever else the machine does.
    assert!(time < LONG || after.walk < 2 * before.walk, "{before:?}, {after:?}");
}
