//! Sessions whose process is killed lose nothing and do nothing twice.
//!
//! Each store is tried for a while; at least a fifth of many kills must fall inside of trees of children. `KILLS=10000 cargo test -p trellis-tests --test main -- --nocapture crash::` kills so often instead, all stores together.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(unused_imports, reason = "the tests of the stores use the rest")]
#[path = "../../crates/trellis-host/tests/stores/servers/mod.rs"]
mod servers;

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};
use trellis_core::SessionId;
use trellis_host::store::{Append, MemoryStore, SessionStore};
use trellis_tests::crash::{
    judge::judge,
    killer::{Limit, SESSIONS, crash},
    worker::{name, work},
};

use self::servers::{fresh, postgres, redis};

/// The time for each store.
const TIME: Duration = Duration::from_secs(5);
/// The stores that share the kills that were asked for.
const STORES: usize = 4;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn limit() -> Limit {
    match std::env::var("KILLS") {
        Ok(kills) => Limit::Kills(kills.parse::<usize>().unwrap().div_ceil(STORES)),
        Err(_) => Limit::Time(TIME),
    }
}

/// Kills workers on a store for a while; when they were killed is shown, whatever becomes of the output of tests.
fn survives(name: &str, store_in: impl Fn(&Path) -> String) {
    let (killed, verdict) = crash(Path::new(env!("CARGO_BIN_EXE_worker")), limit(), &runtime(), store_in).unwrap();
    let report = killed.report(name, &verdict);
    // Unlike `println!`, this is not captured.
    let _ = io::stderr().write_all(format!("{report}\n").as_bytes());
    assert!(verdict.flaws.is_empty(), "{:#?}", verdict.flaws);
    assert_eq!(verdict.ended, killed.rounds * SESSIONS, "{report}");
    // Of 10,000 kills 2,000 fall inside of trees; of a few, some.
    let least = if killed.after.len() >= 500 { killed.after.len() / 5 } else { 1 };
    assert!(verdict.inside >= least && verdict.noted > 0, "{report}");
}

#[test]
fn the_judge_finds_nothing_where_nobody_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new());
    let verdict = runtime().block_on(async {
        work(Arc::clone(&store) as Arc<dyn SessionStore>, folder.path(), SESSIONS).await.unwrap();
        judge(&*store, folder.path(), SESSIONS, &[]).await.unwrap()
    });
    assert!(verdict.flaws.is_empty(), "{:#?}", verdict.flaws);
    assert_eq!(verdict.ended, SESSIONS);
    assert!(verdict.acknowledged > 50 && verdict.calls > 50, "{verdict:?}");

    // And it does find what is lost, and what was done twice or without a journal.
    let append = |file: &str, line: &str| {
        let path = folder.path().join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + line + "\n").unwrap();
    };
    append("acknowledged", &format!("{} 999 500", name(folder.path(), 0)));
    let called = fs::read_to_string(folder.path().join("called")).unwrap();
    let (tool, key, args) = three(called.lines().next().unwrap());
    append("called", &format!("{tool} another-key {args}"));
    let flaws = runtime().block_on(judge(&*store, folder.path(), SESSIONS, &[])).unwrap().flaws;
    assert_eq!(flaws.len(), 3, "{flaws:#?}");

    // Also what was journaled and settled, but under two keys.
    let under =
        |flaws: Vec<String>, key: &str| flaws.into_iter().filter(|flaw| flaw.contains("ran under 2 keys") && flaw.contains(key)).count();
    assert_eq!(under(flaws, "another-key"), 1);
    let flaws = runtime().block_on(async {
        for n in 0..SESSIONS {
            settled_again(&*store, &name(folder.path(), n), key).await;
        }
        judge(&*store, folder.path(), SESSIONS, &[]).await.unwrap().flaws
    });
    assert!(!flaws.iter().any(|flaw| flaw.contains("which no journal knows")), "{flaws:#?}");
    assert_eq!(under(flaws, "another-key"), 1);
}

/// Appends everything that a journal says of a call once more, under another key.
async fn settled_again(store: &dyn SessionStore, session: &SessionId, key: &str) {
    let rows = store.records(session, 0, usize::MAX >> 1).await.unwrap();
    let texts = rows.iter().map(|row| row.text.clone().unwrap()).filter(|text| text.contains(key));
    let mut head = store.load(std::slice::from_ref(session)).await.unwrap().pop().flatten().unwrap().head;
    let expected = head.next;
    let again = |(seq, text): (u64, Arc<str>)| {
        let mut record: serde_json::Value = serde_json::from_str(&text.replace(key, "another-key")).unwrap();
        record["seq"] = seq.into();
        record.to_string().into()
    };
    let records: Vec<Arc<str>> = (expected..).zip(texts).map(again).collect();
    if !records.is_empty() {
        head.next += records.len() as u64;
        store.append(Append { session: session.clone(), expected, records, head, snapshot: None }).await.unwrap();
    }
}

fn three(line: &str) -> (&str, &str, &str) {
    let mut words = line.splitn(3, ' ');
    (words.next().unwrap(), words.next().unwrap(), words.next().unwrap())
}

#[test]
fn sessions_in_redis_survive_being_killed() {
    survives("redis", |_| redis().url(&fresh()));
}

#[test]
fn sessions_in_postgres_survive_being_killed() {
    survives("postgres", |_| postgres().url(&fresh()));
}

#[test]
fn sessions_in_files_survive_being_killed() {
    survives("files", |folder| format!("files:{}", folder.join("sessions").display()));
}

#[test]
fn sessions_in_sqlite_survive_being_killed() {
    survives("sqlite", |folder| format!("sqlite:{}", folder.join("sessions.db").display()));
}
