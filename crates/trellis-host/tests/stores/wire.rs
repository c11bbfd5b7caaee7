//! Stores behind a network: answers that are late, connections that are cut, requests that come twice, servers that go away and come back.
//!
//! Each case runs against both stores, with a wire of its own between store and server.

use std::{sync::Arc, time::Duration};

use trellis_host::store::{PostgresStore, RedisStore, SessionStore, StoreError};

use crate::{
    make::{append, conflict, load, record, take_out, texts},
    servers::{self, PASSWORD, Postgres, Proxy, Redis, Weather},
};

/// The time limit of a call here, which no other call than one that is delayed meets, however busy the machine.
const BOUND: Duration = Duration::from_secs(10);

/// A store behind a wire, and the same without one.
struct Wired {
    proxy: Proxy,
    store: Arc<dyn SessionStore>,
    direct: Arc<dyn SessionStore>,
    /// Bytes that only an append holds.
    append: &'static [u8],
}

fn redis() -> Wired {
    let (server, prefix) = (servers::redis(), servers::fresh());
    let proxy = Proxy::to(server.port());
    let store = RedisStore::new(&Redis::url_at(proxy.port(), &prefix)).unwrap().with_bound(BOUND);
    let direct = RedisStore::new(&server.url(&prefix)).unwrap();
    Wired { proxy, store: Arc::new(store), direct: Arc::new(direct), append: b"appended" }
}

fn postgres() -> Wired {
    let (server, schema) = (servers::postgres(), servers::fresh());
    let proxy = Proxy::to(server.port());
    let store = PostgresStore::with_bound(&Postgres::url_at(proxy.port(), &schema), BOUND).unwrap();
    let direct = PostgresStore::new(&server.url(&schema)).unwrap();
    Wired { proxy, store: Arc::new(store), direct: Arc::new(direct), append: b"appended" }
}

fn is_away(outcome: Result<(), StoreError>) -> bool {
    match outcome {
        Err(StoreError::Unavailable { store, message }) => {
            assert!(!store.contains(PASSWORD) && !message.contains(PASSWORD), "{store}: {message}");
            true
        }
        other => panic!("{other:?}"),
    }
}

/// Does what a session does after an append without an answer: it loads, and appends what is not there.
async fn go_on(store: &dyn SessionStore) {
    let next = load(store, "one").await.unwrap().head.next;
    if next == 1 {
        store.append(append("one", 1, &["appended"])).await.unwrap();
    }
    assert_eq!(texts(store, "one", 0).await, [record(0, "start"), record(1, "appended")]);
    store.append(append("one", 2, &["on"])).await.unwrap();
}

async fn an_answer_that_is_late(wired: Wired) {
    let Wired { proxy, store, direct, .. } = wired;
    store.append(append("one", 0, &["start"])).await.unwrap();
    // So that the server knows the statement, and one message holds all of the next append.
    store.append(append("warm", 0, &["start"])).await.unwrap();
    store.append(append("warm", 1, &["on"])).await.unwrap();
    proxy.set(Weather { delay: BOUND * 3, ..Weather::default() });
    let outcome = tokio::time::timeout(BOUND * 2, store.append(append("one", 1, &["appended"]))).await;
    assert!(is_away(outcome.expect("a call ends within its bound")));
    // Nobody told us, and it is there.
    assert_eq!(load(&*direct, "one").await.unwrap().head.next, 2);
    proxy.set(Weather::default());
    go_on(&*store).await;
}

async fn a_cut_before_the_server_and_one_after_it(wired: Wired) {
    let Wired { proxy, store, direct, append: bytes } = wired;
    store.append(append("one", 0, &["start"])).await.unwrap();
    proxy.set(Weather { cut_before: Some(bytes.to_vec()), ..Weather::default() });
    assert!(is_away(store.append(append("one", 1, &["appended"])).await));
    assert_eq!(load(&*direct, "one").await.unwrap().head.next, 1);
    proxy.set(Weather { cut_after: Some(bytes.to_vec()), ..Weather::default() });
    assert!(is_away(store.append(append("one", 1, &["appended"])).await));
    for _ in 0..6_000 {
        if load(&*direct, "one").await.unwrap().head.next == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(load(&*direct, "one").await.unwrap().head.next, 2);
    proxy.set(Weather::default());
    go_on(&*store).await;
}

async fn an_old_value(wired: Wired) {
    let Wired { store, direct, .. } = wired;
    direct.append(append("one", 0, &["start"])).await.unwrap();
    let old = load(&*store, "one").await.unwrap();
    direct.append(append("one", 1, &["elsewhere"])).await.unwrap();
    // Whoever goes on from what a copy of the store said gets no further.
    assert_eq!(store.append(append("one", old.head.next, &["here"])).await, Err(conflict("one", 1, 2)));
    assert_eq!(take_out(&*store, "one", old.head.next).await, Err(conflict("one", 1, 2)));
    assert_eq!(texts(&*store, "one", 0).await, [record(0, "start"), record(1, "elsewhere")]);
}

async fn a_wire_that_is_cut(wired: Wired) {
    let Wired { proxy, store, .. } = wired;
    store.append(append("one", 0, &["start"])).await.unwrap();
    for round in 1..4 {
        proxy.cut();
        // One call may still use what was cut.
        let mut outcome = store.append(append("one", round, &["on"])).await;
        if outcome.is_err() {
            assert!(is_away(outcome));
            outcome = store.append(append("one", round, &["on"])).await;
        }
        assert_eq!(outcome, Ok(()));
    }
    assert!(proxy.connections() < 20, "{}", proxy.connections());
}

/// Each case, for both stores.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod of_redis {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(super::redis()).await;
                }
            )*
        }
        mod of_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    super::$case(super::postgres()).await;
                }
            )*
        }
    };
}

cases!(an_answer_that_is_late, a_cut_before_the_server_and_one_after_it, an_old_value, a_wire_that_is_cut);

/// A Redis takes commands without a handshake for each, so that a wire can send one twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_comes_twice_is_one_append() {
    let Wired { proxy, store, direct, append: bytes } = redis();
    store.append(append("one", 0, &["start"])).await.unwrap();
    store.append(append("warm", 0, &["start"])).await.unwrap();
    proxy.set(Weather { twice: Some(bytes.to_vec()), ..Weather::default() });
    store.append(append("one", 1, &["appended"])).await.unwrap();
    assert_eq!(texts(&*direct, "one", 0).await, [record(0, "start"), record(1, "appended")]);
    // The wire is out of step from here on: what the second request was answered is nobody's.
    proxy.set(Weather::default());
    proxy.cut();
    let mut outcome = store.append(append("one", 2, &["on"])).await;
    for _ in 0..2 {
        // The answer may come first, and the cut is noticed after it.
        if outcome.is_err() {
            outcome = store.append(append("one", 2, &["on"])).await;
        }
    }
    assert_eq!(outcome, Ok(()));
    assert_eq!(load(&*direct, "one").await.unwrap().head.next, 3);
}

/// Many sessions ask a server that is gone: each is told soon, and nobody storms it; when it is back, so are they.
async fn away_and_back(store: Arc<dyn SessionStore>, mut kill: impl FnMut(bool), connections: impl Fn() -> usize) {
    store.append(append("one", 0, &["start"])).await.unwrap();
    kill(true);
    let before = connections();
    let asking: Vec<_> = (0..40)
        .map(|at| {
            let store = Arc::clone(&store);
            let session = format!("s{at}");
            tokio::spawn(async move { store.append(append(&session, 0, &["start"])).await })
        })
        .collect();
    for one in asking {
        assert!(is_away(tokio::time::timeout(BOUND * 3, one).await.expect("a call ends within its bound").unwrap()));
    }
    // No call connects twice.
    assert!(connections() - before <= 40, "{} connections", connections() - before);
    kill(false);
    let mut outcome = store.append(append("one", 1, &["on"])).await;
    for _ in 0..1_200 {
        if outcome.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        outcome = store.append(append("one", 1, &["on"])).await;
    }
    assert_eq!(outcome, Ok(()));
    assert_eq!(texts(&*store, "one", 0).await, [record(0, "start"), record(1, "on")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_goes_away_and_comes_back() {
    let mut server = Redis::start();
    let proxy = Proxy::to(server.port());
    let store = Arc::new(RedisStore::new(&Redis::url_at(proxy.port(), "t")).unwrap().with_bound(BOUND));
    assert_eq!(store.weaknesses().await.unwrap(), Vec::<String>::new());
    away_and_back(store, |gone| if gone { server.kill() } else { server.restart() }, || proxy.connections()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_goes_away_and_comes_back() {
    let mut server = Postgres::start();
    let proxy = Proxy::to(server.port());
    let store = Arc::new(PostgresStore::with_bound(&Postgres::url_at(proxy.port(), "t"), BOUND).unwrap());
    away_and_back(store, |gone| if gone { server.kill() } else { server.restart() }, || proxy.connections()).await;
}

#[tokio::test]
async fn a_wrong_password_is_named_without_it() {
    let redis = servers::redis().url("x").replace(PASSWORD, "wrong-secret");
    let postgres = servers::postgres().url("x").replace(PASSWORD, "wrong-secret");
    let stores: [(Arc<dyn SessionStore>, &str); 2] =
        [(Arc::new(RedisStore::new(&redis).unwrap()), "redis://"), (Arc::new(PostgresStore::new(&postgres).unwrap()), "postgres://")];
    for (store, scheme) in stores {
        let error = store.load(&["one".into()]).await.unwrap_err().to_string();
        assert!(error.starts_with(scheme) && error.ends_with("cannot be reached: it does not take this user and password"), "{error}");
        assert!(!error.contains("wrong-secret"), "{error}");
    }
    // Nor is it in what a debugger prints, or in an address that is none.
    let shown = format!("{:?} {:?}", RedisStore::new(&redis).unwrap(), PostgresStore::new(&postgres).unwrap());
    assert!(!shown.contains("wrong-secret"), "{shown}");
    for url in ["redis://:wrong-secret@[::1/x", "postgres://me:wrong-secret@host:port/db", "redis://:wrong-secret@host/?prefix=a:b"] {
        let Err(StoreError::Spec(message)) = trellis_host::store::open(url).await else { panic!("{url}") };
        assert!(!message.contains("wrong-secret"), "{message}");
    }
}
