//! The addresses that people write, and the stores that they get.

use trellis_host::store::{StoreError, open};

use crate::make::{append, load};

async fn refused(spec: &str) -> String {
    match open(spec).await {
        Err(StoreError::Spec(message)) => message,
        other => panic!("{spec}: {other:?}"),
    }
}

#[tokio::test]
async fn each_spec_opens_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    for spec in ["memory".to_owned(), format!("files:{path}/a/b"), format!("sqlite:{path}/c/d.db")] {
        let store = open(&spec).await.unwrap();
        store.append(append("one", 0, &["start"])).await.unwrap();
        if spec != "memory" {
            assert!(load(&*open(&spec).await.unwrap(), "one").await.is_some(), "{spec}");
        }
    }
    assert!(folder.path().join("a/b/one.jsonl").is_file() && folder.path().join("c/d.db").is_file());
}

#[tokio::test]
async fn what_names_no_store_is_said_without_what_may_be_a_secret() {
    assert_eq!(
        refused("mysql://ada:hunter2@db/x").await,
        "`mysql` names no store: `memory`, `files:FOLDER`, `sqlite:FILE`, `redis://…` and `postgres://…` do"
    );
    for spec in ["ada:hunter2@host", "hunter2 and more", "", ":hunter2", "hunter2", "MEMORY"] {
        let message = refused(spec).await;
        assert!(message.contains("names no store") && !message.contains("hunter2"), "{message}");
    }
    assert_eq!(refused("memory:hunter2").await, "`memory` takes nothing after it");
    assert_eq!(refused("sqlite::memory:").await, "a store that keeps nothing is `memory`, not `sqlite::memory:`");
    assert_eq!(refused("redis:hunter2").await, "`redis:…` is no address like `redis://user:password@host:6379/0?prefix=trellis`");
    let postgres = refused("postgres:hunter2").await;
    assert!(postgres.starts_with("`postgres:…` is no address like `postgres://") && !postgres.contains("hunter2"), "{postgres}");
    assert_eq!(refused("files:").await, "`files:` does not say where: a path belongs after it");
    assert_eq!(refused("sqlite").await, "`sqlite:` does not say where: a path belongs after it");
}

#[tokio::test]
async fn a_place_that_cannot_be_made_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    for kind in ["files", "sqlite"] {
        let error = open(&format!("{kind}:{}/below", file.display())).await.unwrap_err();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
        assert!(error.to_string().contains("cannot be written"), "{error}");
    }
}
