//! SQLite: earlier and later versions, what is no database of ours, a full disk, writes that wait together.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;
use tempfile::TempDir;
use trellis_host::store::{Append, Removal, SessionStore, SqliteStore, StoreError, Stored, Which};

use crate::{
    bad_head,
    make::{append, head, load, names, query, record, snapshot, texts, with_snapshot},
    place::Place,
};

/// A file that goes away with the place.
fn file() -> Place {
    let folder = Arc::new(TempDir::new().unwrap());
    Place::new(move || {
        let folder = folder.clone();
        async move {
            let store: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(folder.path().join("new/sessions.db")).unwrap());
            store
        }
    })
}

contract!(contract, file());

fn tables(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
    let tables = statement.query_map([], |row| row.get(0)).unwrap();
    tables.map(Result::unwrap).collect()
}

/// A file that an earlier version left.
fn earlier(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stores/earlier/sqlite-{version}.db"))
}

#[test]
fn a_file_that_says_that_it_is_read_only_is_not_opened_to_write() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    drop(SqliteStore::open(&path).unwrap());
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let refused = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(&refused, StoreError::Unwritable { message, .. } if message == "the file is read-only"), "{refused}");
    assert!(SqliteStore::open_existing(&path).is_ok(), "it can be read");
}

#[tokio::test]
async fn files_of_each_earlier_version_go_on() {
    let folder = TempDir::new().unwrap();
    let new = folder.path().join("new.db");
    drop(SqliteStore::open(&new).unwrap());
    for version in [1, 2] {
        let old = folder.path().join(format!("{version}.db"));
        fs::copy(earlier(version), &old).unwrap();
        assert_ne!(tables(&old), tables(&new), "the stored file is of an earlier version");
        let store = SqliteStore::open(&old).unwrap();
        assert_eq!(tables(&old), tables(&new));
        let stored = load(&store, "one").await.unwrap();
        assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 4), Some((3, snapshot("three"))), 1));
        assert_eq!(texts(&store, "one", 0).await, (0..4).map(|seq| record(seq, "said")).collect::<Vec<_>>());
        assert_eq!(texts(&store, "two", 1).await, [record(1, "said")]);
        assert_eq!(names(&store.list(query(Which::Newest, None, 9)).await.unwrap()), ["one", "two", "three"]);
        assert_eq!(names(&store.list(query(Which::Due(500), None, 9)).await.unwrap()), ["three", "two"]);
        store.append(append("one", 4, &["on"])).await.unwrap();
        assert_eq!(load(&SqliteStore::open(&old).unwrap(), "one").await.unwrap().head.next, 5);
    }
}

/// Appends that wait together are written together.
async fn at_once(store: &SqliteStore, appends: impl Iterator<Item = Append>) {
    for append in appends.map(|append| store.append(append)).collect::<Vec<_>>() {
        append.await.unwrap();
    }
}

/// Returns the number of records that are not with the others of their session yet.
fn recent(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("SELECT count(*) FROM recent", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn what_many_say_at_once_is_found_wherever_it_lies() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    let session = |number: u64| format!("session-{number}");
    let all = |seq: u64| (0..16).map(move |number| with_snapshot(append(&session(number), seq, &["said"]), "so far"));
    at_once(&store, all(0)).await;
    for seq in 1..3 {
        store.append(append("session-3", seq, &["alone"])).await.unwrap();
    }
    at_once(
        &store,
        [append("session-3", 3, &["among", "others"])].into_iter().chain(all(1).filter(|one| one.session.as_str() != "session-3")),
    )
    .await;
    store.append(append("session-3", 5, &["alone"])).await.unwrap();
    assert_eq!(recent(&path), 16 + 17);
    let whole: Vec<_> =
        [(0, "said"), (1, "alone"), (2, "alone"), (3, "among"), (4, "others"), (5, "alone")].map(|(seq, text)| record(seq, text)).into();
    let look = async |first: u64| {
        for (from, limit) in (0..8).flat_map(|from| (0..8).map(move |limit| (from, limit))) {
            let rows = store.records(&"session-3".into(), from, limit).await.unwrap();
            let expected = whole.iter().enumerate().skip(from.max(first) as usize).take(limit);
            assert!(rows.iter().map(|row| (row.seq as usize, row.text.as_ref().unwrap())).eq(expected), "{limit} from {from}: {rows:?}");
        }
        let Some(Stored { records, .. }) = load(&store, "session-3").await else { panic!("it is gone") };
        assert!(records.iter().map(|row| row.text.as_ref().unwrap()).eq(&whole[1..]));
        assert_eq!(load(&store, "session-4").await.unwrap().head.next, 2);
    };
    look(0).await;
    store.remove(&"session-3".into(), Removal::Before(9)).await.unwrap();
    look(1).await;
    store.remove(&"session-5".into(), Removal::Session { expected: 2 }).await.unwrap();
    assert_eq!(recent(&path), 16 + 17 - 1 - 2);
    // So much is put in order, by whoever opens the file next, too.
    let store = SqliteStore::open(&path).unwrap();
    let large = "x".repeat(100_000);
    at_once(&store, (0..6).map(|number| append(&format!("large-{number}"), 0, &[&large]))).await;
    store.append(append("last", 0, &["said"])).await.unwrap();
    assert_eq!(recent(&path), 0);
    look(1).await;
    assert_eq!(texts(&store, "large-5", 0).await, [record(0, &large)]);
}

#[tokio::test]
async fn a_newer_version_is_not_touched() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(append("one", 0, &["start"])).await.unwrap();
    drop(store);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    let store: Arc<str> = format!("`sqlite:{}`", path.display()).into();
    assert_eq!(error, StoreError::Newer { store: store.clone(), found: 9, known: 3 });
    assert_eq!(error.to_string(), format!("{store} was written by a newer version of trellis (format 9; this one reads up to 3)"));
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_not_touched() {
    let folder = TempDir::new().unwrap();
    let diary = folder.path().join("diary.txt");
    fs::write(&diary, "Dear diary, today was fine. ".repeat(100)).unwrap();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup');").unwrap();
    for (path, why) in [(diary, "file is not a database"), (other, "it is a database of another program")] {
        let before = fs::read(&path).unwrap();
        let error = SqliteStore::open(&path).unwrap_err();
        assert!(
            matches!(&error, StoreError::Corrupt { place, message } if place.contains(&*path.to_string_lossy()) && message == why),
            "{error:?}"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_database_that_was_cut_says_so_or_what_is_right() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    fs::copy(earlier(1), &path).unwrap();
    let whole = fs::read(&path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let (loaded, newest) = (store.load(&["one".into()]).await, store.list(query(Which::Newest, None, 9)).await);
    let mut refused = 0;
    for cut in (1..whole.len()).step_by(211) {
        let path = folder.path().join(format!("{cut}.db"));
        fs::write(&path, &whole[..cut]).unwrap();
        let (load, list) = match SqliteStore::open(&path) {
            Ok(store) => (store.load(&["one".into()]).await, store.list(query(Which::Newest, None, 9)).await),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        refused += usize::from(load.is_err());
        for (is_right, error) in [(load == loaded, load.err()), (list == newest, list.err())] {
            assert!(is_right || matches!(error, Some(StoreError::Corrupt { .. })), "cut at {cut}: {error:?}");
        }
    }
    assert!(refused > 80, "{refused}");
}

#[tokio::test]
async fn one_head_that_cannot_be_read_takes_no_other_with_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    bad_head::begin(&store).await;
    Connection::open(&path).unwrap().execute("UPDATE sessions SET standing = 'resting' WHERE session = 'two'", []).unwrap();
    let error = store.load(&["two".into()]).await.unwrap_err().to_string();
    assert!(error.contains("session `two`: ") && error.contains("unknown variant `resting`"), "{error}");
    bad_head::takes_no_other_with_it(&store).await;
}

#[tokio::test]
async fn one_append_that_has_no_room_takes_no_other_with_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = Arc::new(SqliteStore::open_bounded(&path, 60).unwrap());
    store.append(append("one", 0, &["start"])).await.unwrap();
    let large = "x".repeat(400_000);
    let mut writers = Vec::new();
    for writer in 0..40 {
        let (store, text) = (store.clone(), if writer % 4 == 1 { large.clone() } else { "small".to_owned() });
        writers
            .push(tokio::spawn(async move { store.append(with_snapshot(append(&format!("{writer}"), 0, &["start", &text]), "s")).await }));
    }
    for (writer, task) in writers.into_iter().enumerate() {
        let outcome = task.await.unwrap();
        let kept = load(&*store, &writer.to_string()).await;
        if writer % 4 == 1 {
            let Err(StoreError::Unwritable { store, message }) = outcome else { panic!("{writer}: {outcome:?}") };
            assert_eq!((&*store, &*message), (&*format!("`sqlite:{}`", path.display()), "database or disk is full"));
            assert_eq!(kept, None);
        } else {
            assert_eq!(outcome, Ok(()));
            assert_eq!(kept.unwrap().head.next, 2);
        }
    }
    store.append(append("one", 1, &["on"])).await.unwrap();
}

#[tokio::test]
async fn writes_that_wait_share_a_commit() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = Arc::new(SqliteStore::open(&path).unwrap());
    let other = Connection::open(&path).unwrap();
    store.append(append("one", 0, &["start"])).await.unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting: Vec<_> = (0..100).map(|writer| store.append(append(&format!("{writer}"), 0, &["start"]))).collect();
    other.execute_batch("ROLLBACK").unwrap();
    for (writer, append) in waiting.into_iter().enumerate() {
        append.await.unwrap();
        assert!(load(&*store, &writer.to_string()).await.is_some());
    }
    let wal = fs::metadata(path.with_extension("db-wal")).unwrap().len();
    // Each commit alone would write three pages at least.
    assert!(wal < 100 * 3 * 4096, "{wal} bytes were written");
}

#[tokio::test]
async fn who_reads_does_not_wait_for_who_writes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(append("one", 0, &["start"])).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writing = store.append(append("one", 1, &["on"]));
    assert_eq!(load(&store, "one").await.unwrap().head.next, 1);
    other.execute_batch("COMMIT").unwrap();
    writing.await.unwrap();
}

/// The write-ahead log of a file.
fn log_of(path: &Path) -> PathBuf {
    path.with_file_name("sessions.db-wal")
}

#[tokio::test]
async fn a_new_file_makes_room_for_many_commits_at_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    let mut lengths = BTreeSet::new();
    for seq in 0..200 {
        store.append(append("one", seq, &["said"])).await.unwrap();
        lengths.insert(log_of(&path).metadata().unwrap().len());
    }
    assert!(lengths.len() < 20, "200 commits made the log longer {} times", lengths.len());
}

#[tokio::test]
async fn room_that_is_made_ahead_takes_nothing_from_others_and_is_no_end_of_the_log() {
    let (folder, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = folder.path().join("sessions.db");
    let stores = [SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap()];
    for seq in 0..60 {
        for (store, session) in stores.iter().zip(["one", "two"]) {
            store.append(append(session, seq, &["said"])).await.unwrap();
        }
        // As a loss of power leaves them: nobody closed the file.
        let copy = copies.path().join("sessions.db");
        fs::copy(&path, &copy).unwrap();
        fs::copy(log_of(&path), log_of(&copy)).unwrap();
        let copy = SqliteStore::open(&copy).unwrap();
        for session in ["one", "two"] {
            assert_eq!(texts(&copy, session, 0).await, (0..=seq).map(|seq| record(seq, "said")).collect::<Vec<_>>());
        }
        drop(copy);
        fs::remove_dir_all(copies.path()).and_then(|()| fs::create_dir(copies.path())).unwrap();
    }
}
