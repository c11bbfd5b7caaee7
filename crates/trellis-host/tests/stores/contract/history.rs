//! Records in pages, with and without snapshots, now and later.

use crate::{
    make::{append, head, load, record, snapshot, texts, with_snapshot},
    place::Place,
};

pub(crate) async fn records_come_in_pages(place: &Place) {
    let store = place.open().await;
    let many: Vec<_> = (0..57).map(|number| format!("record {number}")).collect();
    store.append(append("one", 0, &many.iter().map(String::as_str).collect::<Vec<_>>())).await.unwrap();
    let mut from = 0;
    loop {
        let rows = store.records(&"one".into(), from, 10).await.unwrap();
        assert_eq!(rows.len() as u64, (57 - from).min(10));
        for row in &rows {
            assert_eq!((row.seq, row.text.clone()), (from, Ok(record(from, &many[usize::try_from(from).unwrap()]))));
            from += 1;
        }
        if rows.is_empty() {
            break;
        }
    }
    assert_eq!(from, 57);
    assert_eq!(store.records(&"one".into(), 30, 0).await.unwrap(), []);
    assert_eq!(store.records(&"one".into(), 57, 10).await.unwrap(), []);
    assert_eq!(store.records(&"one".into(), u64::MAX, 10).await.unwrap(), []);
    assert_eq!(store.records(&"none".into(), 0, 10).await.unwrap(), []);
}

pub(crate) async fn records_before_a_snapshot_stay(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &["a", "b"])).await.unwrap();
    store.append(with_snapshot(append("one", 2, &["c"]), "abc")).await.unwrap();
    store.append(append("one", 3, &["d"])).await.unwrap();
    assert_eq!(texts(&*store, "one", 0).await, [record(0, "a"), record(1, "b"), record(2, "c"), record(3, "d")]);
    assert_eq!(texts(&*store, "one", 1).await.len(), 3);
}

pub(crate) async fn opening_again_keeps_everything(place: &Place) {
    for seq in 0..6 {
        let store = place.open().await;
        assert_eq!(load(&*store, "one").await.map_or(0, |stored| stored.head.next), seq);
        let step = append("one", seq, &["step"]);
        store.append(if seq == 3 { with_snapshot(step, "four") } else { step }).await.unwrap();
        store.append(append("other", seq, &["step"])).await.unwrap();
    }
    let store = place.open().await;
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!((stored.head, stored.snapshot), (head("one", 6), Some((4, snapshot("four")))));
    assert_eq!(texts(&*store, "one", 0).await, (0..6).map(|seq| record(seq, "step")).collect::<Vec<_>>());
    assert_eq!(texts(&*store, "other", 0).await.len(), 6);
}

pub(crate) async fn a_history_is_long(place: &Place) {
    let store = place.open().await;
    let many = vec!["step of a long history"; 1000];
    for begins in 0..12 {
        let step = append("one", begins * 1000, &many);
        store.append(if begins == 7 { with_snapshot(step, "long") } else { step }).await.unwrap();
    }
    let stored = load(&*store, "one").await.unwrap();
    assert_eq!((stored.snapshot, stored.records.len()), (Some((8000, snapshot("long"))), 4000));
    for from in [0, 1, 17, 999, 1000, 4321, 7999, 8000, 11_998] {
        let rows = store.records(&"one".into(), from, 3).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), (from..12_000).take(3).collect::<Vec<_>>());
        assert_eq!(rows[0].text, Ok(record(from, "step of a long history")));
    }
}
