//! Beginning, going on, conflicts, snapshots.

use trellis_core::SessionId;
use trellis_host::store::{Row, SessionStatus};

use crate::{
    make::{append, conflict, head, load, record, snapshot, texts, with_head, with_snapshot},
    place::Place,
};

pub(crate) async fn a_session_begins(place: &Place) {
    let store = place.open().await;
    assert_eq!(load(&*store, "one").await, None);
    store.append(append("one", 0, &["start"])).await.unwrap();
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!(stored.head, head("one", 1));
    assert_eq!(stored.snapshot, None);
    assert_eq!(stored.records, [Row { seq: 0, text: Ok(record(0, "start")) }]);
}

pub(crate) async fn records_follow(place: &Place) {
    let store = place.open().await;
    for seq in 0..10 {
        store.append(append("one", seq, &["step"])).await.unwrap();
    }
    assert_eq!(load(&*store, "one").await.unwrap().head, head("one", 10));
    assert_eq!(texts(&*store, "one", 0).await, (0..10).map(|seq| record(seq, "step")).collect::<Vec<_>>());
}

pub(crate) async fn an_append_holds_many_records(place: &Place) {
    let store = place.open().await;
    let many = vec!["many"; 250];
    store.append(append("one", 0, &["start"])).await.unwrap();
    store.append(append("one", 1, &many)).await.unwrap();
    store.append(append("one", 251, &["last"])).await.unwrap();
    let kept = texts(&*store, "one", 0).await;
    assert_eq!(kept.len(), 252);
    assert_eq!((&kept[0], &kept[250], &kept[251]), (&record(0, "start"), &record(250, "many"), &record(251, "last")));
}

pub(crate) async fn another_number_is_a_conflict(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["start", "step"])).await.unwrap();
    for expected in [0, 1, 3, 1000, u64::from(u32::MAX)] {
        let late = with_snapshot(with_head(append("one", expected, &["no", "no"]), |head| head.node = "elsewhere".into()), "no");
        assert_eq!(store.append(late).await, Err(conflict("one", expected, 2)));
    }
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot), (head("one", 2), None));
    assert_eq!(texts(&*store, "one", 0).await, [record(0, "start"), record(1, "step")]);
    store.append(append("one", 2, &["on"])).await.unwrap();
}

pub(crate) async fn a_session_that_is_not_there_goes_on_with_nothing(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.append(append("one", 3, &["step"])).await, Err(conflict("one", 3, 0)));
    assert_eq!(load(&*store, "one").await, None);
    assert!(texts(&*store, "one", 0).await.is_empty());
    store.append(append("one", 0, &["start"])).await.unwrap();
}

pub(crate) async fn the_head_is_replaced(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["start"])).await.unwrap();
    let moved = with_head(append("one", 1, &["step"]), |head| {
        (head.graph, head.program) = ("returns".into(), "beef".into());
        (head.node, head.standing, head.due) = ("returns/wait".into(), SessionStatus::WaitingForTool, Some(12));
        (head.began, head.at) = (3, 4);
    });
    let expected = moved.head.clone();
    store.append(moved).await.unwrap();
    assert_eq!(load(&*store, "one").await.unwrap().head, expected);
}

pub(crate) async fn a_snapshot_replaces_the_one_before(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["start"])).await.unwrap();
    store.append(with_snapshot(append("one", 1, &["a", "b"]), "first")).await.unwrap();
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!(stored.snapshot, Some((3, snapshot("first"))));
    assert_eq!(stored.records, []);
    assert_eq!(stored.head, head("one", 3));
    store.append(append("one", 3, &["c"])).await.unwrap();
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!(stored.snapshot, Some((3, snapshot("first"))));
    assert_eq!(stored.records, [Row { seq: 3, text: Ok(record(3, "c")) }]);
    store.append(with_snapshot(append("one", 4, &["d"]), "second")).await.unwrap();
    store.append(append("one", 5, &["e", "f"])).await.unwrap();
    let stored = place.open().await.load(&["one".into()]).await.unwrap().remove(0).unwrap();
    assert_eq!(stored.snapshot, Some((5, snapshot("second"))));
    assert_eq!(stored.records.iter().map(|row| row.seq).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(stored.head, head("one", 7));
}

pub(crate) async fn a_snapshot_of_the_first_record_holds(place: &Place) {
    let store = place.open().await;
    store.append(with_snapshot(append("one", 0, &["start"]), "first")).await.unwrap();
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot, stored.records), (head("one", 1), Some((1, snapshot("first"))), vec![]));
}

pub(crate) async fn many_sessions_are_loaded_at_once(place: &Place) {
    let store = place.open().await;
    for name in ["one", "two", "three"] {
        store.append(append(name, 0, &[name])).await.unwrap();
    }
    let asked: Vec<SessionId> = ["three", "none", "one", "three"].map(SessionId::from).into();
    let loaded = store.load(&asked).await.unwrap();
    let found: Vec<_> = loaded.iter().map(|stored| stored.as_ref().map(|stored| stored.head.session.as_str())).collect();
    assert_eq!(found, [Some("three"), None, Some("one"), Some("three")]);
    assert_eq!(loaded[2].as_ref().unwrap().records, [Row { seq: 0, text: Ok(record(0, "one")) }]);
    assert_eq!(store.load(&[]).await.unwrap(), []);
}
