//! Journals that were cut, flipped, swapped and renamed: what can be read is read, the rest is said, and the session goes on.

use std::{fs, path::PathBuf, sync::Arc};

use tempfile::TempDir;
use trellis_host::store::{FilesStore, Retention, Row, SessionStatus, SessionStore, StoreError, Which};

use crate::make::{append, conflict, head, load, query, record, snapshot, texts, with_snapshot};

/// A folder with one session, and what it had after each append.
struct Folder {
    folder: TempDir,
    store: FilesStore,
    /// The length of the journal after each append, and the number of the next record.
    steps: Vec<(usize, u64)>,
}

impl Folder {
    /// Appends of so many records each, `snapshots` behind some of them.
    async fn new(appends: &[usize], snapshots: &[usize]) -> Self {
        // The test makes thousands of files, and none of them outlives a loss of power: memory serves as a disk.
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let store = FilesStore::open(folder.path()).unwrap();
        let mut made = Self { folder, store, steps: vec![(0, 0)] };
        for (place, count) in appends.iter().enumerate() {
            let next = made.steps.last().unwrap().1;
            let step = append("one", next, &vec!["said"; *count]);
            let step = if snapshots.contains(&place) { with_snapshot(step, &format!("{place}")) } else { step };
            made.store.append(step).await.unwrap();
            made.steps.push((made.bytes().len(), next + *count as u64));
        }
        made
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("one.jsonl")
    }

    fn beside(&self) -> PathBuf {
        self.folder.path().join("one.snapshot.json")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.bytes()).unwrap().lines().map(str::to_owned).collect()
    }

    /// Puts other lines in place, as an editor would.
    fn put(&self, lines: &[String]) {
        fs::write(self.path(), lines.join("\n") + "\n").unwrap();
    }

    /// The store as another process would open it.
    fn again(&self) -> FilesStore {
        FilesStore::open(self.folder.path()).unwrap()
    }

    async fn rows(&self) -> Vec<Row> {
        self.again().records(&"one".into(), 0, usize::MAX).await.unwrap()
    }

    /// Returns the records that cannot be read, with the reasons.
    async fn unreadable(&self) -> Vec<(u64, String)> {
        let rows = self.rows().await;
        let unreadable = rows.into_iter().filter_map(|row| Some((row.seq, row.text.err()?)));
        let folder = format!("{}/", self.folder.path().display());
        unreadable.map(|(seq, why)| (seq, why.replace(&folder, ""))).collect()
    }
}

#[tokio::test]
async fn every_truncation_leaves_what_was_acknowledged_and_goes_on() {
    for snapshots in [&[][..], &[1, 3]] {
        let made = Folder::new(&[1, 3, 1, 2, 1], snapshots).await;
        let whole = made.bytes();
        for cut in 0..=whole.len() {
            fs::write(made.path(), &whole[..cut]).unwrap();
            let next = made.steps.iter().rev().find(|(length, _)| *length <= cut).unwrap().1;
            let store = made.again();
            let stored = load(&store, "one").await;
            assert_eq!(stored.as_ref().map_or(0, |stored| stored.head.next), next, "cut at {cut}");
            let listed = store.list(query(Which::Newest, None, 10)).await.unwrap();
            assert_eq!(listed, stored.map(|stored| stored.head).into_iter().collect::<Vec<_>>(), "cut at {cut}");
            assert_eq!(texts(&store, "one", 0).await, (0..next).map(|seq| record(seq, "said")).collect::<Vec<_>>(), "cut at {cut}");
            assert_eq!(store.append(append("one", next + 1, &["no"])).await, Err(conflict("one", next + 1, next)));
            store.append(append("one", next, &["on", "on"])).await.unwrap();
            let kept = texts(&made.again(), "one", 0).await;
            assert_eq!((kept.len() as u64, &kept[kept.len() - 1]), (next + 2, &record(next + 1, "on")), "cut at {cut}");
        }
    }
}

#[tokio::test]
async fn every_truncation_under_a_store_that_is_open_is_noticed() {
    let made = Folder::new(&[1, 2, 1], &[]).await;
    let whole = made.bytes();
    for cut in (0..whole.len()).rev() {
        fs::write(made.path(), &whole[..cut]).unwrap();
        let next = made.steps.iter().rev().find(|(length, _)| *length <= cut).unwrap().1;
        assert_eq!(made.store.append(append("one", 4, &["no"])).await, Err(conflict("one", 4, next)), "cut at {cut}");
    }
}

#[tokio::test]
async fn what_was_never_written_is_no_record() {
    let made = Folder::new(&[1, 1], &[]).await;
    let mut text = made.bytes();
    text.extend([0; 600]);
    text.extend(b"\"}}\n");
    fs::write(made.path(), text).unwrap();
    assert_eq!(made.unreadable().await, []);
    made.again().append(append("one", 2, &["on"])).await.unwrap();
    assert_eq!(texts(&made.store, "one", 0).await.len(), 3);
    let mut text = made.bytes();
    text[..40].fill(0);
    fs::write(made.path(), &text).unwrap();
    assert_eq!(load(&made.again(), "one").await.unwrap().records.len(), 3, "a first line that was lost takes nothing with it");
    let first = text.iter().position(|byte| *byte == b'\n').unwrap();
    fs::write(made.path(), &text[..first + 20]).unwrap();
    assert_eq!(load(&made.again(), "one").await, None);
    made.again().append(append("one", 0, &["anew"])).await.unwrap();
    assert_eq!(texts(&made.store, "one", 0).await, [record(0, "anew")]);
}

#[tokio::test]
async fn every_damaged_byte_is_noticed_and_the_rest_survives() {
    for snapshots in [&[][..], &[1]] {
        let made = Folder::new(&[1, 2, 1, 1], snapshots).await;
        let whole = made.bytes();
        let begins = whole.iter().position(|byte| *byte == b'\n').unwrap();
        // The last line break is what tells that an append was written whole.
        for place in 0..whole.len() - 1 {
            let mut text = whole.clone();
            text[place] ^= 1 << (place % 7);
            fs::write(made.path(), text).unwrap();
            let store = made.again();
            let rows = match store.records(&"one".into(), 0, 100).await {
                Ok(rows) => rows,
                Err(StoreError::Newer { .. } | StoreError::Corrupt { .. }) if place <= begins => continue,
                Err(error) => panic!("byte {place}: {error}"),
            };
            for row in &rows {
                assert!(row.text.is_err() || row.text == Ok(record(row.seq, "said")), "byte {place}: {row:?}");
            }
            assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 4], "byte {place}");
            let lost = rows.iter().filter(|row| row.text.is_err()).count();
            assert!(lost <= 2 && (lost > 0 || place <= begins), "byte {place}: {lost} are lost");
            let stored = load(&store, "one").await.unwrap();
            assert_eq!(stored.head.next, 5, "byte {place}");
            store.append(append("one", 5, &["on"])).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_damaged_line_is_named_and_the_others_are_there() {
    let made = Folder::new(&[1, 1, 1, 1], &[]).await;
    let mut lines = made.lines();
    lines[2] = lines[2].replace("said", "paid");
    made.put(&lines);
    assert_eq!(made.unreadable().await, [(1, "one.jsonl:3: its checksum is wrong".to_owned())]);
    let stored = load(&made.again(), "one").await.unwrap();
    assert_eq!((stored.head, stored.records.len()), (head("one", 4), 4));
    made.again().append(append("one", 4, &["on"])).await.unwrap();
}

#[tokio::test]
async fn a_damaged_last_line_is_not_taken_for_a_torn_one() {
    let made = Folder::new(&[1, 1, 1], &[]).await;
    let mut lines = made.lines();
    lines[3] = lines[3].replace("said", "paid");
    made.put(&lines);
    assert_eq!(made.unreadable().await, [(2, "one.jsonl:4: its checksum is wrong".to_owned())]);
    assert_eq!(load(&made.again(), "one").await.unwrap().head.next, 3);
    assert_eq!(made.again().append(append("one", 2, &["no"])).await, Err(conflict("one", 2, 3)));
    made.again().append(append("one", 3, &["on"])).await.unwrap();
    assert_eq!(made.rows().await.len(), 4);
}

#[tokio::test]
async fn swapped_missing_doubled_and_strange_lines_are_told() {
    let made = Folder::new(&[1, 1, 1, 1, 1], &[]).await;
    let lines = made.lines();
    let missing =
        |seq: u64, by: u64, at: usize| vec![(seq, format!("one.jsonl:{at}: record {seq} is missing: record {by} stands in its place"))];
    for swapped in [1, 2, 3, 4] {
        let mut swap = lines.clone();
        swap.swap(swapped, swapped + 1);
        made.put(&swap);
        let seq = swapped as u64 - 1;
        assert_eq!(made.unreadable().await, missing(seq, seq + 1, swapped + 1));
        assert_eq!(load(&made.again(), "one").await.unwrap().head, head("one", 5));
        assert_eq!(made.again().append(append("one", 4, &["no"])).await, Err(conflict("one", 4, 5)));
    }
    let mut gone = lines.clone();
    gone.remove(3);
    made.put(&gone);
    assert_eq!(made.unreadable().await, missing(2, 3, 4));
    let mut doubled = lines.clone();
    doubled.insert(3, lines[2].clone());
    made.put(&doubled);
    assert_eq!(made.unreadable().await, []);
    let mut strange = lines.clone();
    strange.insert(2, String::new());
    strange.insert(4, "what is this".to_owned());
    made.put(&strange);
    assert_eq!(made.unreadable().await, []);
    assert_eq!(made.rows().await.len(), 5);
    made.again().append(append("one", 5, &["on"])).await.unwrap();
}

/// The sessions of a list in which none can be read: they wait for nobody, and nobody prunes them.
async fn unreadable(store: &FilesStore) -> Vec<String> {
    let all = Retention { keep: Some(0), open_too: true, ..Retention::default() };
    all.apply(store, false, |head, _| panic!("{head:?}")).await.unwrap();
    assert_eq!(store.list(query(Which::Due(u64::MAX), None, 9)).await, Ok(vec![]));
    let heads = store.list(query(Which::Newest, None, 9)).await.unwrap();
    assert!(heads.iter().all(|head| head.standing == SessionStatus::Unreadable && head.at > 0), "{heads:?}");
    heads.into_iter().map(|head| head.session.to_string()).collect()
}

#[tokio::test]
async fn a_newer_version_is_not_touched() {
    let made = Folder::new(&[1], &[0]).await;
    let mut lines = made.lines();
    lines[0] = "{\"trellis\":7,\"something\":\"else\"}".to_owned();
    made.put(&lines);
    let before = made.bytes();
    let newer = StoreError::Newer { store: format!("`{}`", made.path().display()).into(), found: 7, known: 1 };
    let store = made.again();
    assert_eq!(store.append(append("one", 1, &["no"])).await, Err(newer.clone()));
    assert_eq!(store.append(append("one", 0, &["no"])).await, Err(newer.clone()));
    assert_eq!(store.load(&["one".into()]).await, Err(newer.clone()));
    assert_eq!(store.records(&"one".into(), 0, 9).await, Err(newer.clone()));
    assert_eq!(crate::make::take_out(&store, "one", 1).await, Err(newer));
    assert_eq!(unreadable(&store).await, ["one"]);
    assert_eq!(made.bytes(), before);
}

#[tokio::test]
async fn a_file_under_another_name_is_not_taken() {
    let made = Folder::new(&[2], &[]).await;
    fs::rename(made.path(), made.folder.path().join("two.jsonl")).unwrap();
    let store = made.again();
    let error = store.load(&["two".into()]).await.unwrap_err();
    assert_eq!(
        error.to_string().rsplit('/').next().unwrap(),
        "two.jsonl cannot be read: it is the journal of session `one`: give the file its name back"
    );
    assert_eq!(store.append(append("two", 2, &["no"])).await, Err(error));
    assert_eq!(load(&store, "one").await, None);
    assert_eq!(unreadable(&store).await, ["two"]);
    fs::rename(made.folder.path().join("two.jsonl"), made.path()).unwrap();
    store.append(append("one", 2, &["on"])).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_not_overwritten() {
    let made = Folder::new(&[], &[]).await;
    fs::write(made.path(), "Dear diary,\ntoday was fine.\n").unwrap();
    let error = made.again().append(append("one", 0, &["no"])).await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt { message, .. } if message == "none of its lines says where the session stands"),
        "{error}"
    );
    assert!(made.again().load(&["one".into()]).await.is_err());
    assert_eq!(made.bytes(), b"Dear diary,\ntoday was fine.\n");
}

#[tokio::test]
async fn without_its_snapshot_a_session_is_where_it_was() {
    let made = Folder::new(&[1, 2, 1, 1], &[1]).await;
    let whole = fs::read(made.beside()).unwrap();
    let held = load(&made.again(), "one").await.unwrap();
    assert_eq!((held.snapshot, held.records.len()), (Some((3, snapshot("1"))), 2));
    for cut in 0..whole.len() {
        fs::write(made.beside(), &whole[..cut]).unwrap();
        let stored = load(&made.again(), "one").await.unwrap();
        assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 5), None, 5), "cut at {cut}");
    }
    for place in 0..whole.len() {
        let mut text = whole.clone();
        text[place] ^= 1 << (place % 8);
        fs::write(made.beside(), text).unwrap();
        let stored = load(&made.again(), "one").await.unwrap();
        assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 5), None, 5), "byte {place}");
    }
    fs::remove_file(made.beside()).unwrap();
    assert_eq!(load(&made.again(), "one").await.unwrap().records.len(), 5);
}

#[tokio::test]
async fn what_was_taken_out_is_held_by_the_journal_itself() {
    let made = Folder::new(&[1, 2, 1, 1], &[2]).await;
    made.store.remove(&"one".into(), trellis_host::store::Removal::Before(2)).await.unwrap();
    let held = load(&made.again(), "one").await;
    assert_eq!(held.as_ref().unwrap().snapshot, Some((4, snapshot("2"))));
    fs::remove_file(made.beside()).unwrap();
    assert_eq!(load(&made.again(), "one").await, held);
    assert_eq!(texts(&made.store, "one", 0).await.len(), 3);
    made.store.append(append("one", 5, &["on"])).await.unwrap();
    let whole = made.bytes();
    let lines = made.lines();
    let held = lines[0].len() + lines[1].len() + 2;
    let behind = whole.len() - lines[lines.len() - 1].len() - 1;
    for cut in held..whole.len() {
        fs::write(made.path(), &whole[..cut]).unwrap();
        let stored = load(&made.again(), "one").await.unwrap();
        assert_eq!(stored.snapshot, Some((4, snapshot("2"))), "cut at {cut}");
        assert!(stored.head.next == if cut >= behind { 5 } else { 4 }, "cut at {cut}: {}", stored.head.next);
    }
}

#[tokio::test]
async fn a_stale_snapshot_is_not_taken_for_the_one_of_a_journal() {
    let made = Folder::new(&[1, 2, 1], &[2]).await;
    let stale = fs::read(made.beside()).unwrap();
    crate::make::take_out(&made.store, "one", 4).await.unwrap();
    let other: Arc<str> = record(0, "other");
    made.store.append(trellis_host::store::Append { records: vec![other], ..append("one", 0, &["x"]) }).await.unwrap();
    fs::write(made.beside(), stale).unwrap();
    let stored = load(&made.again(), "one").await.unwrap();
    assert_eq!((stored.head.next, stored.snapshot, stored.records.len()), (1, None, 1));
}

#[tokio::test]
async fn files_of_the_first_version_are_read() {
    let folder = TempDir::new().unwrap();
    for name in ["one.jsonl", "one.snapshot.json"] {
        fs::copy(format!("{}/tests/stores/earlier/files-1/{name}", env!("CARGO_MANIFEST_DIR")), folder.path().join(name)).unwrap();
    }
    let store = FilesStore::open(folder.path()).unwrap();
    let stored = load(&store, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 4), Some((3, snapshot("three"))), 1));
    assert_eq!(texts(&store, "one", 0).await, (0..4).map(|seq| record(seq, "said")).collect::<Vec<_>>());
    store.append(append("one", 4, &["on"])).await.unwrap();
}
