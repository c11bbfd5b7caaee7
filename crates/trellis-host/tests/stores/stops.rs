//! Servers that stand still or end in the middle of an append: what was acknowledged is there, and nothing is there twice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use trellis_host::store::{PostgresStore, RedisStore, SessionStore, StoreError};

use crate::{
    make::{append, record, texts},
    servers::{Kind, Postgres, Redis, Server},
};

/// The time limit of a call here.
const BOUND: Duration = Duration::from_millis(600);
/// Sessions that step at once.
const WRITERS: usize = 6;

/// Appends to one session for as long as it is to, as a host does: after an append whose end is not known it looks where the session is. Returns how
/// many records were acknowledged, or found; `so_far` has that number meanwhile.
async fn step(store: Arc<dyn SessionStore>, session: String, ends: Arc<AtomicBool>, so_far: Arc<AtomicU64>) -> u64 {
    let mut next = 0;
    while !ends.load(Ordering::Relaxed) {
        so_far.store(next, Ordering::Relaxed);
        match store.append(append(&session, next, &[&format!("{session} {next}")])).await {
            Ok(()) => next += 1,
            // One that was given up before may come to the server later than whoever looked for it.
            Err(StoreError::Unavailable { .. } | StoreError::Conflict { .. }) => {
                let found = found(&*store, &session).await;
                assert!(found == next || found == next + 1, "{session} has {found} records where {next} were acknowledged");
                next = found;
            }
            Err(error) => panic!("{session}: {error}"),
        }
    }
    next
}

/// Returns the number of records of a session, as soon as the server answers.
async fn found(store: &dyn SessionStore, session: &str) -> u64 {
    loop {
        match store.load(&[session.into()]).await {
            Ok(mut stored) => return stored.remove(0).map_or(0, |stored| stored.head.next),
            Err(StoreError::Unavailable { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{session}: {error}"),
        }
    }
}

/// Makes a server stand still for less than a call may take and for more, and ends it while it stands still.
fn disturb<K: Kind>(server: &mut Server<K>) {
    for round in 0..9 {
        thread::sleep(Duration::from_millis(40 + 17 * round));
        server.signal("STOP");
        match round % 3 {
            0 => thread::sleep(BOUND / 6),
            1 => thread::sleep(BOUND * 2),
            _ => {
                thread::sleep(BOUND / 4);
                server.signal("KILL");
                server.restart();
                continue;
            }
        }
        server.signal("CONT");
    }
}

async fn nothing_is_lost_or_doubled<K: Kind + Send + 'static>(mut server: Server<K>, store: Arc<dyn SessionStore>) {
    found(&*store, "none").await;
    let ends = Arc::new(AtomicBool::new(false));
    let so_far: Vec<Arc<AtomicU64>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let writers = so_far.iter().enumerate();
    let writers =
        writers.map(|(at, so_far)| tokio::spawn(step(Arc::clone(&store), format!("s{at}"), Arc::clone(&ends), Arc::clone(so_far))));
    let writers: Vec<_> = writers.collect();
    let server = tokio::task::spawn_blocking(move || {
        disturb(&mut server);
        server
    });
    let _server = server.await.unwrap();
    // All come through once it stays.
    for (at, so_far) in so_far.iter().enumerate() {
        let then = so_far.load(Ordering::Relaxed);
        while so_far.load(Ordering::Relaxed) == then {
            assert!(!writers[at].is_finished(), "s{at} broke off");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    ends.store(true, Ordering::Relaxed);
    for (at, writer) in writers.into_iter().enumerate() {
        let (session, count) = (format!("s{at}"), writer.await.unwrap());
        assert!(count > 0, "{session} got nowhere");
        let expected: Vec<_> = (0..count).map(|seq| record(seq, &format!("{session} {seq}"))).collect();
        assert_eq!(found(&*store, &session).await, count);
        assert_eq!(texts(&*store, &session, 0).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_stops_in_the_middle() {
    let server = Redis::start();
    let store = Arc::new(RedisStore::new(&server.url("t")).unwrap().with_bound(BOUND));
    nothing_is_lost_or_doubled(server, store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_stops_in_the_middle() {
    let server = Postgres::start();
    let store = Arc::new(PostgresStore::with_bound(&server.url("t"), BOUND).unwrap());
    nothing_is_lost_or_doubled(server, store).await;
}
