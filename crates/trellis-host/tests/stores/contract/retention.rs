//! Sessions are removed by age, by count and by status, and the history of the others is shortened.

use trellis_host::store::{Pruned, Retention, SessionStatus, SessionStore, Which};

use crate::{
    make::{append, load, names, query, snapshot, texts, with_head, with_snapshot},
    place::Place,
};

/// Ten sessions, `s0` the oldest; the even ones ended, and all have a snapshot behind their second record of three.
async fn ten(place: &Place) -> std::sync::Arc<dyn SessionStore> {
    let store = place.open().await;
    for number in 0..10 {
        let name = format!("s{number}");
        let standing = if number % 2 == 0 { SessionStatus::Finished } else { SessionStatus::WaitingForInput };
        let graph = if number < 5 { "orders" } else { "returns" };
        let change = |head: &mut trellis_host::store::Head| (head.at, head.standing, head.graph) = (number, standing, graph.into());
        store.append(with_snapshot(append(&name, 0, &["a", "b"]), "ab")).await.unwrap();
        store.append(with_head(append(&name, 2, &["c"]), change)).await.unwrap();
    }
    store
}

/// Returns the sessions that are left, newest first.
async fn left(store: &dyn SessionStore) -> String {
    names(&store.list(query(Which::Newest, None, 100)).await.unwrap()).concat().replace('s', "")
}

/// Returns the number of sessions that were removed, and of those that were shortened.
async fn prune(store: &dyn SessionStore, retention: &Retention, is_dry: bool) -> (usize, usize) {
    let (mut gone, mut shortened) = (0, 0);
    let told = |_: &_, pruned| match pruned {
        Pruned::Session => gone += 1,
        Pruned::Records(_) => shortened += 1,
    };
    retention.apply(store, is_dry, told).await.unwrap();
    (gone, shortened)
}

pub(crate) async fn sessions_go_by_age_and_count(place: &Place) {
    let store = ten(place).await;
    let all = Retention { open_too: true, ..Retention::default() };
    assert_eq!(prune(&*store, &all, false).await, (0, 0));
    let older = Retention { before: Some(3), ..all.clone() };
    assert_eq!(prune(&*store, &older, true).await, (3, 0));
    assert_eq!(left(&*store).await, "9876543210");
    assert_eq!(prune(&*store, &older, false).await, (3, 0));
    assert_eq!(left(&*store).await, "9876543");
    let ended = Retention { before: Some(6), open_too: false, ..all.clone() };
    assert_eq!(prune(&*store, &ended, false).await, (1, 0));
    assert_eq!(left(&*store).await, "987653");
    let newest_ended = Retention { keep: Some(1), open_too: false, ..all.clone() };
    assert_eq!(prune(&*store, &newest_ended, false).await, (1, 0));
    assert_eq!(left(&*store).await, "98753");
    let of_graph = Retention { graph: Some("returns".into()), keep: Some(2), ..all.clone() };
    assert_eq!(prune(&*store, &of_graph, false).await, (2, 0));
    assert_eq!(left(&*store).await, "983");
    let both = Retention { before: Some(9), keep: Some(2), ..all.clone() };
    assert_eq!(prune(&*store, &both, false).await, (1, 0));
    assert_eq!(left(&*store).await, "98");
    assert_eq!(prune(&*store, &Retention { keep: Some(0), ..all }, false).await, (2, 0));
    assert_eq!(left(&*place.open().await).await, "");
}

pub(crate) async fn histories_are_cut_where_a_snapshot_holds_them(place: &Place) {
    let store = ten(place).await;
    let short = Retention { before: Some(8), open_too: true, records: Some(0), ..Retention::default() };
    assert_eq!(prune(&*store, &short, false).await, (8, 2));
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
    let newest = Retention { keep: Some(299), open_too: true, ..Retention::default() };
    assert_eq!(prune(&*store, &newest, false).await, (301, 0));
    assert_eq!(store.list(query(Which::Newest, None, 1000)).await.unwrap().len(), 299);
    assert_eq!(prune(&*store, &newest, false).await, (0, 0));
}
