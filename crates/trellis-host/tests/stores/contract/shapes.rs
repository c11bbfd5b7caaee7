//! Texts, names and moments of every kind.

use std::sync::Arc;

use trellis_host::store::{Head, SessionStatus, Which};

use crate::{
    make::{append, load, query, record, snapshot, take_out, texts, with_head, with_snapshot},
    place::Place,
};

/// Texts that a person, a tool or an attacker may have typed.
pub(crate) const TEXTS: [&str; 14] = [
    "",
    " ",
    "plain",
    "Grüße, здравствуйте, 你好, مرحبا, नमस्ते",
    "👩‍👩‍👧‍👦 🏳️‍🌈 e\u{301} \u{1F468}\u{1F3FD}",
    "line\nbreak\r\nand\u{2028}others\u{2029}\u{85}",
    "\0\u{1}\u{7f}\u{1b}[31m",
    "\u{feff}bom\u{202e}backwards\u{fffd}\u{ffff}\u{10ffff}",
    "quotes \" ' ` \\ \\n $1 %s {{ x }} {\"seq\":3}",
    "'; DROP TABLE sessions; --",
    "\t\tindented",
    "\\u0000",
    "null",
    "]}\",\"sum\":\"00000000\"}",
];

pub(crate) async fn every_kind_of_text(place: &Place) {
    let store = place.open().await;
    store.append(append("one", 0, &TEXTS)).await.unwrap();
    for (text, seq) in TEXTS.iter().zip(TEXTS.len() as u64..) {
        store.append(with_snapshot(append("one", seq, &[text]), text)).await.unwrap();
        assert_eq!(load(&*store, "one").await.unwrap().snapshot, Some((seq + 1, snapshot(text))));
    }
    let expected: Vec<_> = TEXTS.iter().cycle().zip(0..2 * TEXTS.len() as u64).map(|(text, seq)| record(seq, text)).collect();
    assert_eq!(texts(&*place.open().await, "one", 0).await, expected);
}

pub(crate) async fn large_records(place: &Place) {
    let store = place.open().await;
    let large = "ß🦀x".repeat(150_000);
    assert!(large.len() > 1 << 20);
    store.append(append("one", 0, &["small", &large, "small", &large])).await.unwrap();
    store.append(with_snapshot(append("one", 4, &[&large]), &large)).await.unwrap();
    store.append(append("one", 5, &[&large])).await.unwrap();
    let store = place.open().await;
    assert_eq!(store.list(query(Which::Newest, None, 10)).await.unwrap()[0].next, 6);
    let stored = load(&*store, "one").await.unwrap();
    assert!(stored.snapshot == Some((5, snapshot(&large))) && stored.records.len() == 1);
    let kept = texts(&*store, "one", 0).await;
    assert!(kept == [("small", 0), (&large, 1), ("small", 2), (&large, 3), (&large, 4), (&large, 5)].map(|(text, seq)| record(seq, text)));
    store.append(append("one", 6, &["on"])).await.unwrap();
}

pub(crate) async fn odd_names(place: &Place) {
    let store = place.open().await;
    let long = "n".repeat(128);
    let longer = format!("{}x", "n".repeat(127));
    let names = ["a", "A", "a.b", "a.snapshot", "a.jsonl", "1", "-", "_", "@", "x:y", "x+y", "x@y", "..a"].into_iter().chain([
        long.as_str(),
        longer.as_str(),
        "con",
        "a-%41",
        "a%",
        "ä",
        "a b",
        "a/b",
        "../../x",
        "*",
        "\u{1b}",
        "'",
        "\"",
    ]);
    let names: Vec<_> = names.collect();
    for name in &names {
        store.append(append(name, 0, &[name])).await.unwrap();
    }
    let store = place.open().await;
    for name in &names {
        store.append(with_snapshot(append(name, 1, &["on"]), name)).await.unwrap();
        assert_eq!(texts(&*store, name, 0).await, [record(0, name), record(1, "on")], "{name:?}");
        assert_eq!(load(&*store, name).await.unwrap().snapshot, Some((2, snapshot(name))));
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let heads = store.list(query(Which::Newest, None, 100)).await.unwrap();
    assert_eq!(crate::make::names(&heads), sorted);
    for name in &names {
        take_out(&*store, name, 2).await.unwrap();
    }
    assert_eq!(store.list(query(Which::Newest, None, 100)).await.unwrap(), []);
}

pub(crate) async fn moments_at_the_edges(place: &Place) {
    let store = place.open().await;
    let latest = u64::try_from(i64::MAX).unwrap();
    for (name, at, due) in [("zero", 0, Some(0)), ("latest", latest, Some(latest)), ("beyond", u64::MAX, Some(u64::MAX))] {
        let step = with_head(append(name, 0, &["start"]), |head| (head.at, head.due) = (at, due));
        store.append(step).await.unwrap();
    }
    let due = store.list(query(Which::Due(latest - 1), None, 10)).await.unwrap();
    assert_eq!(crate::make::names(&due), ["zero"]);
    let newest = store.list(query(Which::Newest, None, 10)).await.unwrap();
    assert_eq!((newest.len(), newest[2].session.as_str()), (3, "zero"));
    assert!(newest[0].at >= latest && newest[1].at >= latest);
}

pub(crate) async fn a_head_comes_back_whole(place: &Place) {
    let store = place.open().await;
    let standings = [
        SessionStatus::Active,
        SessionStatus::WaitingForInput,
        SessionStatus::WaitingForTool,
        SessionStatus::RollingBack,
        SessionStatus::Finished,
        SessionStatus::Failed,
        SessionStatus::Denied,
        SessionStatus::RolledBack,
    ];
    for (standing, next) in standings.into_iter().zip(1..) {
        let head = Head {
            session: "one".into(),
            graph: Arc::from("a/grüner graph \"x\" 🦀"),
            program: Arc::from(format!("p{next}")),
            next,
            began: 5,
            at: 5 + next,
            node: "ordner/knoten \u{1b} 'x'".into(),
            standing,
            due: (next % 2 == 0).then_some(next * 1000),
        };
        store.append(with_head(append("one", next - 1, &["step"]), |kept| *kept = head.clone())).await.unwrap();
        assert_eq!(load(&*store, "one").await.unwrap().head, head);
        assert_eq!(place.open().await.list(query(Which::Newest, None, 10)).await.unwrap(), [head]);
    }
}
