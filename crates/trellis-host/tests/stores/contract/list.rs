//! Lists: orders, pages, filters.

use std::{cmp::Reverse, sync::Arc};

use trellis_host::store::{Head, Query, SessionStore, Which};

use crate::{
    make::{append, names, query, with_head},
    place::Place,
};

/// A session that moved at `at` and goes on by itself at `due`.
async fn put(store: &dyn SessionStore, name: &str, graph: &str, at: u64, due: Option<u64>) {
    let began = with_head(append(name, 0, &["start"]), |head| (head.graph, head.at, head.due) = (graph.into(), at, due));
    store.append(began).await.unwrap();
}

/// All pages, each of `limit` heads.
async fn pages(store: &dyn SessionStore, which: Which, graph: Option<&str>, limit: usize) -> Vec<Head> {
    let mut heads: Vec<Head> = Vec::new();
    loop {
        let after = heads.last().map(|head| {
            let moment = if which == Which::Newest { head.at } else { head.due.unwrap() };
            (moment, head.session.clone())
        });
        let page = store.list(Query { graph: graph.map(Arc::from), which, after, limit }).await.unwrap();
        assert!(page.len() <= limit);
        let last = page.len() < limit;
        heads.extend(page);
        if last {
            return heads;
        }
    }
}

pub(crate) async fn newest_first(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.list(query(Which::Newest, None, 10)).await.unwrap(), []);
    for (name, at) in [("b", 20), ("a", 10), ("d", 40), ("c", 30)] {
        put(&*store, name, "orders", at, None).await;
    }
    let heads = store.list(query(Which::Newest, None, 10)).await.unwrap();
    assert_eq!(names(&heads), ["d", "c", "b", "a"]);
    assert_eq!(heads[0], with_head(append("d", 0, &["start"]), |head| head.at = 40).head);
    assert_eq!(names(&store.list(query(Which::Newest, None, 2)).await.unwrap()), ["d", "c"]);
    assert_eq!(names(&store.list(query(Which::Newest, Some((30, "c")), 2)).await.unwrap()), ["b", "a"]);
    assert_eq!(names(&store.list(query(Which::Newest, Some((35, "")), 1)).await.unwrap()), ["c"]);
    assert_eq!(names(&store.list(query(Which::Newest, Some((10, "a")), 2)).await.unwrap()), [""; 0]);
    assert_eq!(store.list(query(Which::Newest, None, 0)).await.unwrap(), []);
}

pub(crate) async fn equal_moments_come_by_name(place: &Place) {
    let store = place.open().await;
    for name in ["b", "a-1", "a", "c", "B", "z"] {
        put(&*store, name, "orders", 7, Some(5)).await;
    }
    let expected = ["B", "a", "a-1", "b", "c", "z"];
    for limit in 1..8 {
        assert_eq!(names(&pages(&*store, Which::Newest, None, limit).await), expected);
        assert_eq!(names(&pages(&*store, Which::Due(5), None, limit).await), expected);
    }
}

pub(crate) async fn due_soonest_first(place: &Place) {
    let store = place.open().await;
    for (name, due) in [("c", Some(30)), ("never", None), ("a", Some(10)), ("b", Some(20)), ("d", Some(40)), ("first", Some(0))] {
        put(&*store, name, "orders", 100, due).await;
    }
    assert_eq!(names(&store.list(query(Which::Due(30), None, 10)).await.unwrap()), ["first", "a", "b", "c"]);
    assert_eq!(names(&store.list(query(Which::Due(29), None, 2)).await.unwrap()), ["first", "a"]);
    assert_eq!(names(&store.list(query(Which::Due(100), Some((20, "b")), 10)).await.unwrap()), ["c", "d"]);
    assert_eq!(names(&store.list(query(Which::Due(0), None, 10)).await.unwrap()), ["first"]);
    assert_eq!(names(&pages(&*store, Which::Due(u64::MAX), None, 2).await), ["first", "a", "b", "c", "d"]);
    store.append(with_head(append("b", 1, &["on"]), |head| head.due = None)).await.unwrap();
    store.append(with_head(append("never", 1, &["on"]), |head| head.due = Some(15))).await.unwrap();
    assert_eq!(names(&store.list(query(Which::Due(30), None, 10)).await.unwrap()), ["first", "a", "never", "c"]);
}

pub(crate) async fn only_of_one_graph(place: &Place) {
    let store = place.open().await;
    for number in 0..20 {
        let graph = ["orders", "returns", "a graph with spaces", "Orders"][number % 4];
        put(&*store, &format!("session-{number:02}"), graph, number as u64, Some(number as u64)).await;
    }
    let of_returns = ["session-17", "session-13", "session-09", "session-05", "session-01"];
    assert_eq!(names(&pages(&*store, Which::Newest, Some("returns"), 2).await), of_returns);
    assert_eq!(names(&pages(&*store, Which::Due(13), Some("returns"), 2).await), ["session-01", "session-05", "session-09", "session-13"]);
    assert_eq!(pages(&*store, Which::Newest, Some("a graph with spaces"), 100).await.len(), 5);
    assert_eq!(pages(&*store, Which::Newest, Some("none"), 100).await, []);
}

pub(crate) async fn what_moves_meanwhile_is_not_lost(place: &Place) {
    let store = place.open().await;
    for number in 0..9 {
        put(&*store, &format!("s{number}"), "orders", number, None).await;
    }
    let page = store.list(query(Which::Newest, None, 3)).await.unwrap();
    assert_eq!(names(&page), ["s8", "s7", "s6"]);
    store.append(with_head(append("s2", 1, &["on"]), |head| head.at = 50)).await.unwrap();
    let rest = store.list(query(Which::Newest, Some((6, "s6")), 10)).await.unwrap();
    assert_eq!(names(&rest), ["s5", "s4", "s3", "s1", "s0"]);
    assert_eq!(names(&store.list(query(Which::Newest, None, 1)).await.unwrap()), ["s2"]);
}

pub(crate) async fn steps_near_and_far_move_a_session(place: &Place) {
    let store = place.open().await;
    let mut moments = vec![("a", 1_000), ("b", 1_001), ("c", 1_063), ("d", 1_090), ("e", 90_000)];
    for (name, at) in &moments {
        put(&*store, name, "orders", *at, None).await;
    }
    // A clock may go back.
    for (step, at) in [1_002, 1_003, 1_062, 1_064, 1_065, 1_007, 1_008, 1_088, 1, 2, 7, 8, 1_000_000, 90_000].into_iter().enumerate() {
        let (name, last) = &mut moments[step % 3];
        *last = at;
        store.append(with_head(append(name, step as u64 / 3 + 1, &["on"]), |head| head.at = at)).await.unwrap();
        let mut expected = moments.clone();
        expected.sort_by_key(|(name, at)| (Reverse(*at), *name));
        for limit in 1..7 {
            assert!(names(&pages(&*store, Which::Newest, None, limit).await).into_iter().eq(expected.iter().map(|(name, _)| *name)));
        }
    }
}

pub(crate) async fn a_session_comes_to_another_graph(place: &Place) {
    let store = place.open().await;
    put(&*store, "one", "orders", 7, Some(9)).await;
    store
        .append(with_head(append("one", 1, &["on"]), |head| (head.graph, head.at, head.due) = ("returns".into(), 7, Some(9))))
        .await
        .unwrap();
    for which in [Which::Newest, Which::Due(9)] {
        assert_eq!(pages(&*store, which, Some("orders"), 9).await, []);
        assert_eq!(names(&pages(&*store, which, Some("returns"), 9).await), ["one"]);
    }
}

pub(crate) async fn many_sessions(place: &Place) {
    let store = place.open().await;
    for number in 0..300_u64 {
        put(&*store, &format!("s{:03}", (number * 7) % 300), "orders", number / 10 * 13, (number % 2 == 0).then_some(number / 20)).await;
    }
    let heads = pages(&*store, Which::Newest, None, 64).await;
    assert_eq!(heads.len(), 300);
    assert!(heads.windows(2).all(|pair| pair[0].at > pair[1].at || (pair[0].at == pair[1].at && pair[0].session < pair[1].session)));
    let heads = pages(&*store, Which::Due(u64::MAX), None, 64).await;
    assert_eq!(heads.len(), 150);
    assert!(heads.windows(2).all(|pair| (pair[0].due, &pair[0].session) < (pair[1].due, &pair[1].session)));
}
