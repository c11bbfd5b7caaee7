//! The folder: names that would lead out of it, several at once, and a folder that goes away.

use std::{fs, os::unix::fs::PermissionsExt};

use tempfile::TempDir;
use trellis_host::store::{FilesStore, Removal, SessionStore, StoreError, Which};

use crate::make::{append, load, names, query, record, texts, with_head, with_snapshot};

#[tokio::test]
async fn no_id_leads_out_of_the_folder() {
    let around = TempDir::new().unwrap();
    let folder = around.path().join("a/b/sessions");
    let store = FilesStore::open(&folder).unwrap();
    let long = "x".repeat(10_240);
    let longer = format!("{}y", &long[1..]);
    let ids = ["../../x", "..", ".", "/etc/x", "a/../../b", "a\0b", "\n", "\u{1b}[31m", "CON", "con", "", &long, &longer, "~root", "a\\b"];
    for id in ids {
        store.append(with_snapshot(append(id, 0, &["start", id]), id)).await.unwrap();
    }
    for id in ids {
        assert_eq!(texts(&FilesStore::open(&folder).unwrap(), id, 0).await, [record(0, "start"), record(1, id)]);
        assert!(load(&store, id).await.unwrap().snapshot.is_some());
    }
    // Journals, snapshots, and what keeps them from being read as nodes of a graph around them.
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2 * ids.len() + 1);
    assert_eq!(fs::read_dir(around.path()).unwrap().count(), 1);
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let listed = store.list(query(Which::Newest, None, 100)).await.unwrap();
    assert_eq!(names(&listed), sorted);
}

#[tokio::test]
async fn what_is_no_file_is_refused_and_never_waited_for() {
    let around = TempDir::new().unwrap();
    let store = FilesStore::open(around.path()).unwrap();
    store.append(with_snapshot(append("one", 0, &["start"]), "s")).await.unwrap();
    let pipe = |name: &str| {
        assert!(std::process::Command::new("mkfifo").arg(around.path().join(name)).status().unwrap().success());
    };
    pipe("two.jsonl");
    fs::create_dir(around.path().join("three.jsonl")).unwrap();
    fs::remove_file(around.path().join("one.snapshot.json")).unwrap();
    pipe("one.snapshot.json");
    pipe("one.snapshot.json.new");
    assert_eq!(names(&store.list(query(Which::Newest, None, 9)).await.unwrap()), ["one"]);
    for name in ["two", "three"] {
        for error in [
            store.load(&[name.into()]).await.unwrap_err(),
            store.records(&name.into(), 0, 9).await.unwrap_err(),
            store.append(append(name, 0, &["no"])).await.unwrap_err(),
        ] {
            let told = error.to_string();
            assert!(told.contains(&format!("{name}.jsonl")), "{told}");
        }
    }
    let told = store.load(&["two".into()]).await.unwrap_err().to_string();
    assert!(told.ends_with("two.jsonl cannot be read: it is no regular file; take it out of the folder"), "{told}");
    // A snapshot can always be lost.
    store.append(with_snapshot(append("one", 1, &["on"]), "t")).await.unwrap();
    assert_eq!(texts(&store, "one", 0).await, [record(0, "start"), record(1, "on")]);
}

#[tokio::test]
async fn nobody_else_reads_it() {
    let around = TempDir::new().unwrap();
    let folder = around.path().join("sessions");
    let store = FilesStore::open(&folder).unwrap();
    store.append(with_snapshot(append("one", 0, &["start"]), "s")).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("one.jsonl")), 0o600);
    assert_eq!(mode(&folder.join("one.snapshot.json")), 0o600);
}

#[tokio::test]
async fn a_folder_that_goes_away_and_comes_back() {
    let around = TempDir::new().unwrap();
    let (folder, elsewhere) = (around.path().join("sessions"), around.path().join("elsewhere"));
    let store = FilesStore::open(&folder).unwrap();
    store.append(append("one", 0, &["start"])).await.unwrap();
    fs::rename(&folder, &elsewhere).unwrap();
    let gone = |error: &StoreError| matches!(error, StoreError::Unavailable { message, .. } if message == "the folder is gone");
    for error in [
        store.append(append("one", 1, &["no"])).await.unwrap_err(),
        store.append(append("two", 0, &["no"])).await.unwrap_err(),
        store.load(&["one".into()]).await.unwrap_err(),
        store.records(&"one".into(), 0, 9).await.unwrap_err(),
        store.list(query(Which::Newest, None, 9)).await.unwrap_err(),
    ] {
        assert!(gone(&error), "{error:?}");
    }
    fs::rename(&elsewhere, &folder).unwrap();
    store.append(append("one", 1, &["on"])).await.unwrap();
    assert_eq!(texts(&store, "one", 0).await, [record(0, "start"), record(1, "on")]);
}

#[tokio::test]
async fn what_is_no_session_of_ours_is_left_alone() {
    let folder = TempDir::new().unwrap();
    for name in ["README.md", "Upper.jsonl", "notes.jsonl", "%zz.jsonl", "one.jsonl.new"] {
        fs::write(folder.path().join(name), "not a session\n").unwrap();
    }
    fs::create_dir(folder.path().join("folder.jsonl")).unwrap();
    let store = FilesStore::open(folder.path()).unwrap();
    store.append(append("one", 0, &["start"])).await.unwrap();
    assert_eq!(names(&store.list(query(Which::Newest, None, 9)).await.unwrap()), ["one"]);
    assert_eq!(fs::read_to_string(folder.path().join("notes.jsonl")).unwrap(), "not a session\n");
}

#[tokio::test]
async fn a_record_of_two_lines_is_refused() {
    let folder = TempDir::new().unwrap();
    let store = FilesStore::open(folder.path()).unwrap();
    let mut step = append("one", 0, &["start"]);
    step.records[0] = "{\n}".into();
    let error = store.append(step).await.unwrap_err();
    assert_eq!(error.to_string(), "session `one` cannot be read: record 0 is not on one line");
    assert_eq!(load(&store, "one").await, None);
}

#[tokio::test]
async fn pages_of_one_list_are_of_one_moment_whatever_others_write() {
    let folder = TempDir::new().unwrap();
    let (store, other) = (FilesStore::open(folder.path()).unwrap(), FilesStore::open(folder.path()).unwrap());
    for number in 0..6 {
        store.append(with_head(append(&format!("s{number}"), 0, &["start"]), |head| head.at = number)).await.unwrap();
    }
    assert_eq!(names(&store.list(query(Which::Newest, None, 2)).await.unwrap()), ["s5", "s4"]);
    other.append(with_head(append("s1", 1, &["on"]), |head| head.at = 50)).await.unwrap();
    other.remove(&"s5".into(), Removal::Session { expected: 1 }).await.unwrap();
    assert_eq!(names(&store.list(query(Which::Newest, Some((4, "s4")), 3)).await.unwrap()), ["s3", "s2", "s1"]);
    assert_eq!(names(&store.list(query(Which::Newest, Some((1, "s1")), 3)).await.unwrap()), ["s0"]);
    assert_eq!(
        names(&store.list(query(Which::Newest, Some((4, "s4")), 9)).await.unwrap()),
        ["s3", "s2", "s0"],
        "this is a look of its own"
    );
    assert_eq!(names(&store.list(query(Which::Newest, None, 2)).await.unwrap()), ["s1", "s4"]);
}
