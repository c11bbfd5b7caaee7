//! The promises of PostgreSQL alone.

use std::sync::Arc;

use trellis_host::store::{PostgresStore, SessionStore, StoreError};

use crate::{
    bad_head,
    make::{append, load},
    place::Place,
    servers,
};

fn place() -> Place {
    let url = servers::postgres().url(&servers::fresh());
    Place::new(move || {
        let store: Arc<dyn SessionStore> = Arc::new(PostgresStore::new(&url).unwrap());
        async move { store }
    })
}

contract!(contract, place());

/// Runs statements as somebody else would.
async fn run(statements: &str) -> Vec<String> {
    let url = servers::postgres().url("x");
    let (client, connection) = tokio_postgres::connect(url.split('?').next().unwrap(), tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let messages = client.simple_query(statements).await.unwrap();
    connection.abort();
    let row = |message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

async fn indexes(schema: &str) -> Vec<String> {
    let found = run(&format!("SELECT indexdef FROM pg_indexes WHERE schemaname = '{schema}' ORDER BY 1")).await;
    found.into_iter().map(|index| index.replace(schema, "NAME")).collect()
}

#[tokio::test]
async fn tables_of_each_earlier_version_go_on() {
    let (old, new) = (servers::fresh(), servers::fresh());
    let store = PostgresStore::new(&servers::postgres().url(&new)).unwrap();
    store.append(append("one", 0, &["start"])).await.unwrap();
    run(&include_str!("earlier/postgres-1.sql").replace("NAME", &old)).await;
    assert_ne!(indexes(&old).await, indexes(&new).await, "the stored tables are of an earlier version");
    let store = PostgresStore::new(&servers::postgres().url(&old)).unwrap();
    crate::earlier::goes_on(&store).await;
    assert_eq!(indexes(&old).await, indexes(&new).await);
    assert_eq!(run(&format!("SELECT format FROM \"{old}\".format")).await, run(&format!("SELECT format FROM \"{new}\".format")).await);
}

#[tokio::test]
async fn one_head_that_cannot_be_read_takes_no_other_with_it() {
    let schema = servers::fresh();
    let store = PostgresStore::new(&servers::postgres().url(&schema)).unwrap();
    bad_head::begin(&store).await;
    run(&format!("UPDATE \"{schema}\".sessions SET standing = 'resting' WHERE session = 'two'")).await;
    bad_head::takes_no_other_with_it(&store).await;
}

#[tokio::test]
async fn a_newer_version_is_not_touched() {
    let schema = servers::fresh();
    let url = servers::postgres().url(&schema);
    PostgresStore::new(&url).unwrap().append(append("one", 0, &["start"])).await.unwrap();
    run(&format!("UPDATE \"{schema}\".format SET format = 99")).await;
    let store = PostgresStore::new(&url).unwrap();
    let error = store.append(append("one", 1, &["on"])).await.unwrap_err();
    assert!(matches!(&error, StoreError::Newer { found: 99, .. }), "{error}");
    assert_eq!(run(&format!("SELECT next FROM \"{schema}\".sessions")).await, ["1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_are_made_once_by_many() {
    let url = servers::postgres().url(&servers::fresh());
    let stores: Vec<_> = (0..8).map(|_| PostgresStore::new(&url).unwrap()).collect();
    let tasks = stores
        .into_iter()
        .enumerate()
        .map(|(at, store)| tokio::spawn(async move { store.append(append(&format!("s{at}"), 0, &["start"])).await }));
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_may_not_be_written_is_said_and_names_are_what_they_are() {
    let url = servers::postgres().url(&servers::fresh());
    PostgresStore::new(&url).unwrap().append(append("one", 0, &["start"])).await.unwrap();
    let read_only = PostgresStore::new(&format!("{url}&options=-c%20default_transaction_read_only%3Don")).unwrap();
    // An append that changes nothing needs no right to change.
    let error = read_only.append(append("one", 1, &["on"])).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unwritable { .. }), "{error}");
    let store = PostgresStore::new(&url).unwrap();
    let error = store.append(append("a\0b", 0, &["start"])).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unwritable { .. }), "{error}");
    assert_eq!(load(&store, "a\0b").await, None);
    let error = PostgresStore::new("postgres://host/db?sslmode=require").unwrap_err();
    assert!(matches!(&error, StoreError::Spec(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_may_lose_what_it_acknowledged_says_so() {
    // The one that all tests share does not wait for the disk.
    let url = servers::postgres().url(&servers::fresh());
    let weaknesses = trellis_host::store::weaknesses(&url).await.unwrap();
    assert_eq!(weaknesses, ["`fsync` is `off`: a crash of its machine loses sessions; set it to `on`"]);
    let redis = trellis_host::store::weaknesses(&servers::redis().url(&servers::fresh())).await.unwrap();
    assert!(redis.is_empty(), "{redis:?}");
    assert!(trellis_host::store::weaknesses("files:x").await.unwrap().is_empty());
}
