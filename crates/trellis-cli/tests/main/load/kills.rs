//! Kills under load: clients with keys and `If-Match`, servers that are killed at random and started again over one store.

use std::{
    io::{self, Write as _},
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::client::Client;
use crate::{
    sandbox::{Sandbox, soon},
    serve::Serving,
    servers,
};

/// The time for each store, if no number of kills is asked for.
const TIME: Duration = Duration::from_secs(10);
/// Kills, however slow the machine is.
const LEAST: usize = 5;
/// Clients at once.
const CLIENTS: usize = 64;
/// Clients that follow a session of another one.
const FOLLOWERS: usize = 8;

/// Takes words for ever, and remembers each.
const WORDS: &[(&str, &str)] = &[(
    "start.yaml",
    "name: words\nnodes:\n  start: { set: { taken: [] }, to: ask }\n  ask:\n    content: \"{{ taken | length }}?\"\n    input_type: text\n    \
     append: { taken: \"{{ input }}\" }\n    transitions: [{ condition: input == \"stop\", to: end }, { to: ask }]\n  end: { output: \"{{ taken }}\" }\n",
)];

/// A number that differs from call to call, below a bound.
fn random(below: u64) -> u64 {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let seed =
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 ^ (NEXT.fetch_add(1, Ordering::Relaxed) as u64) << 32;
    (seed.wrapping_mul(6_364_136_223_846_793_005).rotate_left(29)) % below
}

/// Two servers of one graph and one store, each on a port of its own.
struct Servers {
    sandbox: Sandbox,
    store: String,
    ports: [u16; 2],
    running: [Option<Serving>; 2],
}

impl Servers {
    fn start(store: impl FnOnce(&Sandbox) -> String) -> Self {
        let sandbox = Sandbox::new(WORDS);
        let store = store(&sandbox);
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = [0, 1].map(|at: usize| free[at].local_addr().unwrap().port());
        drop(free);
        let mut servers = Self { sandbox, store, ports, running: [None, None] };
        (0..2).for_each(|at| servers.begin(at));
        servers
    }

    fn begin(&mut self, at: usize) {
        let port = self.ports[at].to_string();
        self.running[at] = Some(Serving::start(&self.sandbox, &[".", "--no-watch", "--port", &port, "--store", &self.store]));
    }

    /// Kills one of them in the middle of whatever it does, and starts it again.
    fn kill(&mut self, at: usize) {
        // A process that is dropped is killed.
        self.running[at] = None;
        self.begin(at);
    }
}

/// The work of one client: its session, and the words that were acknowledged.
struct Done {
    session: String,
    seq: u64,
    words: Vec<String>,
    again: usize,
}

fn walk(ports: &[u16], number: usize, is_over: &AtomicBool, taken: &AtomicUsize) -> Done {
    let mut client = Client::new(ports, Serving::TOKEN);
    let session = format!("s{number}");
    let begun = client.ask("/api/sessions", &[("idempotency-key", &session)], Some(&json!({ "id": session })));
    let (mut seq, mut words) = (begun["seq"].as_u64().unwrap(), Vec::new());
    while !is_over.load(Ordering::Acquire) {
        let word = format!("w{}", words.len());
        client.turn(&session, &format!("{session}-{word}"), &mut seq, &word);
        words.push(word);
        taken.fetch_add(1, Ordering::Relaxed);
    }
    Done { session, seq, words, again: client.again }
}

/// No acknowledged turn is lost, none is taken twice, and no stream has a gap.
fn survives(name: &str, store: impl FnOnce(&Sandbox) -> String) {
    let kills: Option<usize> = std::env::var("KILLS").ok().map(|kills| kills.parse().unwrap());
    let servers = Arc::new(Mutex::new(Servers::start(store)));
    let ports = servers.lock().unwrap().ports;
    let (is_over, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let walkers: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (is_over, taken) = (Arc::clone(&is_over), Arc::clone(&taken));
            thread::spawn(move || walk(&ports, number, &is_over, &taken))
        })
        .collect();
    let began = Instant::now();
    let mut killed = 0;
    while kills.map_or(began.elapsed() < TIME || killed < LEAST, |kills| killed < kills) {
        // A server that is killed while it starts has taken nothing: each kill comes after some turns.
        let enough = taken.load(Ordering::Relaxed) + CLIENTS / 4;
        assert!(soon(|| taken.load(Ordering::Relaxed) >= enough), "{name}: after {killed} kills, no more turns are taken");
        thread::sleep(Duration::from_millis(random(900)));
        servers.lock().unwrap().kill(usize::try_from(random(2)).unwrap());
        killed += 1;
    }
    is_over.store(true, Ordering::Release);
    let done: Vec<Done> = walkers.into_iter().map(|walker| walker.join().unwrap()).collect();
    let (words, again) = done.iter().fold((0, 0), |(words, again), done| (words + done.words.len(), again + done.again));
    let mut client = Client::new(&ports, Serving::TOKEN);
    for Done { session, seq, words, .. } in &done {
        let last = client.ask(&format!("/api/sessions/{session}/at/{}", seq - 1), &[], None);
        assert_eq!(last["state"]["context"]["taken"], json!(words), "{session}: what was acknowledged is there, once and in order");
        let turn = client.ask(&format!("/api/sessions/{session}"), &[], None);
        assert_eq!(turn["seq"], *seq, "{session}: nothing came behind it");
    }
    // Unlike `println!`, this is not captured.
    let _ = writeln!(io::stderr(), "{name}: {killed} kills, {words} turns acknowledged, {again} requests sent again");
    assert!(words > CLIENTS, "{name}: {killed} kills, {words} turns");
}

#[test]
fn a_kill_under_load_loses_nothing_in_sqlite() {
    survives("sqlite", |sandbox| format!("sqlite:{}", sandbox.path().join("words.db").display()));
}

#[test]
fn a_kill_under_load_loses_nothing_in_postgres() {
    survives("postgres", |_| servers::postgres().url(&servers::fresh()));
}

/// Streams are taken up where they were, also from another server of the store.
#[test]
fn a_stream_goes_on_without_a_gap_over_kills() {
    let servers = Arc::new(Mutex::new(Servers::start(|sandbox| format!("sqlite:{}", sandbox.path().join("words.db").display()))));
    let ports = servers.lock().unwrap().ports;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut client = Client::new(&ports, Serving::TOKEN);
    for number in 0..FOLLOWERS {
        client.ask("/api/sessions", &[], Some(&json!({ "id": format!("f{number}") })));
    }
    const TURNS: u64 = 40;
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|number| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || Client::new(&ports, Serving::TOKEN).follow(&format!("f{number}"), TURNS, &is_over))
        })
        .collect();
    let walkers: Vec<_> = (0..FOLLOWERS)
        .map(|number| {
            thread::spawn(move || {
                let (mut client, mut seq) = (Client::new(&ports, Serving::TOKEN), 0);
                let session = format!("f{number}");
                let begun: Value = client.ask(&format!("/api/sessions/{session}"), &[], None);
                seq += begun["seq"].as_u64().unwrap();
                while seq <= TURNS {
                    client.turn(&session, &format!("{session}-{seq}"), &mut seq, "word");
                    thread::sleep(Duration::from_millis(50));
                }
            })
        })
        .collect();
    while walkers.iter().any(|walker| !walker.is_finished()) {
        thread::sleep(Duration::from_millis(300 + random(400)));
        servers.lock().unwrap().kill(usize::try_from(random(2)).unwrap());
    }
    walkers.into_iter().for_each(|walker| walker.join().unwrap());
    is_over.store(true, Ordering::Release);
    for (number, follower) in followers.into_iter().enumerate() {
        let seen = follower.join().unwrap();
        let first = seen[0];
        assert_eq!(seen, (first..=TURNS).collect::<Vec<_>>(), "f{number}: each record once and in order");
    }
}
