//! Taking sessions out, or the oldest part of their history.

use trellis_host::store::{Removal, Which};

use crate::{
    make::{append, conflict, head, load, query, record, snapshot, take_out, texts, with_snapshot},
    place::Place,
};

pub(crate) async fn a_session_goes(place: &Place) {
    let store = place.open().await;
    store.append(with_snapshot(append("one", 0, &["a", "b"]), "s")).await.unwrap();
    store.append(append("two", 0, &["a"])).await.unwrap();
    take_out(&*store, "one", 2).await.unwrap();
    for store in [store, place.open().await] {
        assert_eq!(load(&*store, "one").await, None);
        assert!(texts(&*store, "one", 0).await.is_empty());
        assert_eq!(store.list(query(Which::Newest, None, 10)).await.unwrap(), [head("two", 1)]);
        assert_eq!(texts(&*store, "two", 0).await, [record(0, "a")]);
    }
}

pub(crate) async fn one_that_went_on_stays(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["a", "b", "c"])).await.unwrap();
    for expected in [0, 2, 4] {
        assert_eq!(take_out(&*store, "one", expected).await, Err(conflict("one", expected, 3)));
    }
    assert_eq!(texts(&*store, "one", 0).await.len(), 3);
}

pub(crate) async fn what_is_not_there_is_gone(place: &Place) {
    let store = place.open().await;
    assert_eq!(take_out(&*store, "one", 2).await, Ok(()));
    assert_eq!(store.remove(&"one".into(), Removal::Before(7)).await, Ok(()));
    assert_eq!(load(&*store, "one").await, None);
}

pub(crate) async fn it_can_begin_again(place: &Place) {
    let store = place.open().await;
    store.append(with_snapshot(append("one", 0, &["old", "old"]), "old")).await.unwrap();
    take_out(&*store, "one", 2).await.unwrap();
    assert_eq!(store.append(append("one", 2, &["new"])).await, Err(conflict("one", 2, 0)));
    store.append(append("one", 0, &["new", "new", "new"])).await.unwrap();
    let stored = load(&*place.open().await, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 3), None, 3));
    assert_eq!(stored.records[0].text, Ok(record(0, "new")));
}

pub(crate) async fn old_records_go(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["a", "b", "c"])).await.unwrap();
    store.append(with_snapshot(append("one", 3, &["d"]), "abcd")).await.unwrap();
    store.append(append("one", 4, &["e"])).await.unwrap();
    store.remove(&"one".into(), Removal::Before(2)).await.unwrap();
    for store in [store, place.open().await] {
        assert_eq!(texts(&*store, "one", 0).await, [record(2, "c"), record(3, "d"), record(4, "e")]);
        assert_eq!(store.records(&"one".into(), 0, 2).await.unwrap()[0].seq, 2);
        assert_eq!(store.records(&"one".into(), 4, 2).await.unwrap().len(), 1);
        let stored = load(&*store, "one").await.unwrap();
        assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 5), Some((4, snapshot("abcd"))), 1));
    }
}

pub(crate) async fn what_no_snapshot_holds_stays(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["a", "b"])).await.unwrap();
    store.remove(&"one".into(), Removal::Before(2)).await.unwrap();
    assert_eq!(texts(&*store, "one", 0).await.len(), 2);
    store.append(with_snapshot(append("one", 2, &["c"]), "abc")).await.unwrap();
    store.append(append("one", 3, &["d", "e"])).await.unwrap();
    for before in [4, 5, u64::MAX, 3, 1, 0] {
        store.remove(&"one".into(), Removal::Before(before)).await.unwrap();
        assert_eq!(texts(&*store, "one", 0).await, [record(3, "d"), record(4, "e")]);
    }
    let stored = load(&*place.open().await, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 5), Some((3, snapshot("abc"))), 2));
}

pub(crate) async fn it_goes_on_without_its_old_records(place: &Place) {
    let store = place.open().await;
    store.append(with_snapshot(append("one", 0, &["a", "b", "c"]), "abc")).await.unwrap();
    store.remove(&"one".into(), Removal::Before(3)).await.unwrap();
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 3), Some((3, snapshot("abc"))), 0));
    assert_eq!(store.append(append("one", 0, &["no"])).await, Err(conflict("one", 0, 3)));
    store.append(append("one", 3, &["d"])).await.unwrap();
    let other = place.open().await;
    other.append(with_snapshot(append("one", 4, &["e"]), "abcde")).await.unwrap();
    store.append(append("one", 5, &["f"])).await.unwrap();
    other.remove(&"one".into(), Removal::Before(4)).await.unwrap();
    store.append(append("one", 6, &["g"])).await.unwrap();
    for store in [store, other, place.open().await] {
        assert_eq!(texts(&*store, "one", 0).await, [record(4, "e"), record(5, "f"), record(6, "g")]);
        let stored = load(&*store, "one").await.unwrap();
        assert_eq!((stored.head, stored.snapshot, stored.records.len()), (head("one", 7), Some((5, snapshot("abcde"))), 2));
    }
    take_out(&*place.open().await, "one", 7).await.unwrap();
    assert_eq!(load(&*place.open().await, "one").await, None);
}
