//! The promises of Redis alone.

use std::sync::Arc;

use trellis_host::store::{RedisStore, SessionStore, StoreError};

use crate::{
    bad_head,
    make::{append, load, record, texts},
    place::Place,
    servers,
};

fn place() -> Place {
    let url = servers::redis().url(&servers::fresh());
    Place::new(move || {
        let store: Arc<dyn SessionStore> = Arc::new(RedisStore::new(&url).unwrap());
        async move { store }
    })
}

contract!(contract, place());

/// Sends commands, a line each, and returns what came back.
async fn send(commands: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", servers::redis().port())).await.unwrap();
    let text = format!("AUTH {}\r\n{}\r\nQUIT\r\n", servers::PASSWORD, commands.trim().replace('\n', "\r\n"));
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(!answer.contains("\r\n-"), "{answer}");
    answer
}

#[tokio::test]
async fn a_store_of_the_first_format_is_read() {
    let prefix = servers::fresh();
    send(&include_str!("earlier/redis-1.txt").replace("PREFIX", &prefix)).await;
    let store = RedisStore::new(&servers::redis().url(&prefix)).unwrap();
    crate::earlier::goes_on(&store).await;
}

#[tokio::test]
async fn one_head_that_cannot_be_read_takes_no_other_with_it() {
    let prefix = servers::fresh();
    let store = RedisStore::new(&servers::redis().url(&prefix)).unwrap();
    bad_head::begin(&store).await;
    send(&format!("HSET {prefix}:s:two head {{")).await;
    bad_head::takes_no_other_with_it(&store).await;
}

#[tokio::test]
async fn a_newer_format_and_a_foreign_prefix_are_left_alone() {
    let prefix = servers::fresh();
    send(&format!("SET {prefix}:format 9")).await;
    let store = RedisStore::new(&servers::redis().url(&prefix)).unwrap();
    let error = store.append(append("one", 0, &["start"])).await.unwrap_err();
    assert!(matches!(&error, StoreError::Newer { found: 9, known: 1, .. }), "{error}");
    send(&format!("SET {prefix}:format mine")).await;
    let store = RedisStore::new(&servers::redis().url(&prefix)).unwrap();
    assert!(matches!(store.load(&["one".into()]).await, Err(StoreError::Corrupt { .. })));
}

#[tokio::test]
async fn names_with_colons_are_sessions_of_their_own() {
    let store = RedisStore::new(&servers::redis().url(&servers::fresh())).unwrap();
    let names = ["s", "s:s", "r:s", "s:r:s", ":", "::", "newest", "format", "due:graph"];
    for name in names {
        store.append(append(name, 0, &[name])).await.unwrap();
    }
    for name in names {
        assert_eq!(texts(&store, name, 0).await, [record(0, name)]);
    }
}

#[tokio::test]
async fn a_server_that_is_full_says_so_and_keeps_what_it_has() {
    let server = servers::Redis::start_with("appendonly no\nmaxmemory 3mb\nmaxmemory-policy noeviction\n");
    let store = RedisStore::new(&server.url("t")).unwrap();
    assert_eq!(store.weaknesses().await.unwrap().len(), 1);
    let large = "x".repeat(100_000);
    let mut next = 0;
    let error = loop {
        match store.append(append("one", next, &[&large, &large])).await {
            Ok(()) => next += 2,
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, StoreError::Unwritable { .. }), "{error}");
    let stored = load(&store, "one").await.unwrap();
    assert_eq!((stored.head.next, stored.records.len() as u64), (next, next));
}
