//! Which sessions go by age, by count and by how they stand, and how much of the others' history.

use trellis_host::store::{Pruned, Retention, SessionStore, Standing, Which, prune};

use crate::{
    make::{append, load, names, query, snapshot, texts, with_head, with_snapshot},
    place::Place,
};

/// Ten sessions, `s0` the oldest; the even ones ended, and all have a snapshot behind their second record of three.
async fn ten(place: &Place) -> std::sync::Arc<dyn SessionStore> {
    let store = place.open().await;
    for number in 0..10 {
        let name = format!("s{number}");
        let standing = if number % 2 == 0 { Standing::Finished } else { Standing::WaitingForInput };
        let graph = if number < 5 { "orders" } else { "returns" };
        let change = |head: &mut trellis_host::store::Head| (head.at, head.standing, head.graph) = (number, standing, graph.into());
        store.append(with_snapshot(append(&name, 0, &["a", "b"]), "ab")).await.unwrap();
        store.append(with_head(append(&name, 2, &["c"]), change)).await.unwrap();
    }
    store
}

/// What is left, newest first.
async fn left(store: &dyn SessionStore) -> String {
    names(&store.list(query(Which::Newest, None, 100)).await.unwrap()).concat().replace('s', "")
}

pub(crate) async fn sessions_go_by_age_and_count(place: &Place) {
    let store = ten(place).await;
    let all = Retention::default();
    assert_eq!(prune(&*store, &all).await, Ok(Pruned { removed: 0, kept: 10, moved: 0 }));
    let older = Retention { older_than: Some(3), ..all.clone() };
    assert_eq!(prune(&*store, &Retention { only_count: true, ..older.clone() }).await, Ok(Pruned { removed: 3, kept: 7, moved: 0 }));
    assert_eq!(left(&*store).await, "9876543210");
    assert_eq!(prune(&*store, &older).await, Ok(Pruned { removed: 3, kept: 7, moved: 0 }));
    assert_eq!(left(&*store).await, "9876543");
    let ended = Retention { older_than: Some(6), only_ended: true, ..all.clone() };
    assert_eq!(prune(&*store, &ended).await, Ok(Pruned { removed: 1, kept: 6, moved: 0 }));
    assert_eq!(left(&*store).await, "987653");
    let of_graph = Retention { graph: Some("returns".into()), keep_newest: Some(3), ..all.clone() };
    assert_eq!(prune(&*store, &of_graph).await, Ok(Pruned { removed: 2, kept: 3, moved: 0 }));
    assert_eq!(left(&*store).await, "9873");
    let both = Retention { older_than: Some(9), keep_newest: Some(2), ..all.clone() };
    assert_eq!(prune(&*store, &both).await, Ok(Pruned { removed: 2, kept: 2, moved: 0 }));
    assert_eq!(left(&*store).await, "98");
    assert_eq!(prune(&*store, &Retention { keep_newest: Some(0), ..all }).await, Ok(Pruned { removed: 2, kept: 0, moved: 0 }));
    assert_eq!(left(&*place.open().await).await, "");
}

pub(crate) async fn histories_are_cut_where_a_snapshot_holds_them(place: &Place) {
    let store = ten(place).await;
    let compact = Retention { older_than: Some(8), compact: true, ..Retention::default() };
    assert_eq!(prune(&*store, &compact).await, Ok(Pruned { removed: 8, kept: 2, moved: 0 }));
    for name in ["s8", "s9"] {
        assert_eq!(store.records(&name.into(), 0, 9).await.unwrap()[0].seq, 2);
        assert_eq!(texts(&*store, name, 2).await.len(), 1);
        let stored = load(&*store, name).await.unwrap();
        assert_eq!((stored.head.next, stored.snapshot, stored.records.len()), (3, Some((2, snapshot("ab"))), 1));
    }
}

pub(crate) async fn more_than_a_page_goes(place: &Place) {
    let store = place.open().await;
    for number in 0..600 {
        store.append(with_head(append(&format!("s{number}"), 0, &["a"]), |head| head.at = number / 7)).await.unwrap();
    }
    let newest = Retention { keep_newest: Some(299), ..Retention::default() };
    assert_eq!(prune(&*store, &newest).await, Ok(Pruned { removed: 301, kept: 299, moved: 0 }));
    assert_eq!(store.list(query(Which::Newest, None, 1000)).await.unwrap().len(), 299);
    assert_eq!(prune(&*store, &newest).await, Ok(Pruned { removed: 0, kept: 299, moved: 0 }));
}
