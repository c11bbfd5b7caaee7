//! Sessions whose process is killed lose nothing and do nothing twice.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use trellis_host::store::{self, MemoryStore, SessionStore};
use trellis_tests::crash::{
    judge::{Verdict, judge},
    killer::{Killed, Trial},
    worker::work,
};

/// How long each store is tried.
const TIME: Duration = Duration::from_secs(15);
const SESSIONS: usize = 8;

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Kills workers on a store for a while; a folder of its own for every round.
fn crash(name: &str, store_in: impl Fn(&std::path::Path, usize) -> String) {
    let (began, mut killed, mut all, mut round) = (Instant::now(), Killed::default(), Verdict::default(), 0);
    while began.elapsed() < TIME {
        let folder = tempfile::tempdir().unwrap();
        let spec = store_in(folder.path(), round);
        let mut trial = Trial {
            worker: PathBuf::from(env!("CARGO_BIN_EXE_crash-worker")),
            store: spec.clone(),
            sessions: SESSIONS,
            longest: Duration::from_millis(200),
            seed: 0x5eed + round as u64,
        };
        trial.round(folder.path(), &mut killed).unwrap();
        let verdict = run(async { judge(&*store::open(&spec).await.unwrap(), folder.path(), SESSIONS).await.unwrap() });
        all = all.and(verdict);
        round += 1;
    }
    let report = killed.report(name, &all);
    println!("{report}");
    assert!(all.flaws.is_empty(), "{:#?}", all.flaws);
    assert_eq!(all.ended, round * SESSIONS, "{report}");
    assert!(killed.after.len() > 10, "{report}");
}

#[test]
fn the_judge_finds_nothing_where_nobody_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::new());
    let verdict = run(async {
        work(Arc::clone(&store) as Arc<dyn SessionStore>, folder.path(), SESSIONS).await.unwrap();
        judge(&*store, folder.path(), SESSIONS).await.unwrap()
    });
    assert!(verdict.flaws.is_empty(), "{:#?}", verdict.flaws);
    assert_eq!(verdict.ended, SESSIONS);
    assert!(verdict.acknowledged > 50 && verdict.calls > 50, "{verdict:?}");

    // And it does find what is lost, and what was done twice or without a journal.
    let append = |file: &str, line: &str| {
        let path = folder.path().join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + line + "\n").unwrap();
    };
    append("acknowledged", "s0 999 500");
    let called = fs::read_to_string(folder.path().join("called")).unwrap();
    let (tool, _, args) = three(called.lines().next().unwrap());
    append("called", &format!("{tool} another-key {args}"));
    let flaws = run(judge(&*store, folder.path(), SESSIONS)).unwrap().flaws;
    assert_eq!(flaws.len(), 3, "{flaws:#?}");
}

fn three(line: &str) -> (&str, &str, &str) {
    let mut words = line.splitn(3, ' ');
    (words.next().unwrap(), words.next().unwrap(), words.next().unwrap())
}

#[test]
fn sessions_in_files_survive_being_killed() {
    crash("files", |folder, _| format!("files:{}", folder.join("sessions").display()));
}

#[test]
fn sessions_in_sqlite_survive_being_killed() {
    crash("sqlite", |folder, _| format!("sqlite:{}", folder.join("sessions.db").display()));
}
