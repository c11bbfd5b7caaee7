//! Writers that do not know of each other: one wins each number, nothing is lost.

use std::sync::Arc;

use trellis_host::store::{SessionStore, StoreError};

use crate::{
    make::{append, load, record, texts, with_snapshot},
    place::Place,
};

/// Appends `count` records to one session, whoever else does so too, and gives back which numbers it won.
pub(crate) async fn write(store: Arc<dyn SessionStore>, session: &str, writer: usize, count: usize) -> Vec<u64> {
    let (mut won, mut next) = (Vec::new(), 0);
    while won.len() < count {
        let step = append(session, next, &[&format!("{writer}")]);
        let step = if next % 50 == 49 { with_snapshot(step, &format!("{next}")) } else { step };
        match store.append(step).await {
            Ok(()) => {
                won.push(next);
                next += 1;
            }
            Err(StoreError::Conflict { found, expected, .. }) => {
                assert_eq!(expected, next);
                assert!(found > next, "{found} was found where {next} was expected");
                next = found;
            }
            Err(error) => panic!("{error}"),
        }
        tokio::task::yield_now().await;
    }
    won
}

/// Holds what is kept against what each writer won.
pub(crate) async fn hold(store: &dyn SessionStore, won: Vec<Vec<u64>>) {
    let total: usize = won.iter().map(Vec::len).sum();
    let mut expected = vec![None; total];
    for (writer, numbers) in won.into_iter().enumerate() {
        for number in numbers {
            let place = &mut expected[usize::try_from(number).unwrap()];
            assert_eq!(place.replace(record(number, &format!("{writer}"))), None, "record {number} was won twice");
        }
    }
    let kept = texts(store, "one", 0).await;
    assert_eq!(kept.len(), total);
    assert!(kept.into_iter().map(Some).eq(expected));
    assert_eq!(load(store, "one").await.unwrap().head.next, total as u64);
}

pub(crate) async fn one_wins_each_number(place: &Place) {
    let store = place.open().await;
    let writers: Vec<_> = (0..8).map(|writer| tokio::spawn(write(store.clone(), "one", writer, 200))).collect();
    let mut won = Vec::new();
    for writer in writers {
        won.push(writer.await.unwrap());
    }
    hold(&*store, won).await;
}

pub(crate) async fn two_that_opened_it_race(place: &Place) {
    let stores = [place.open().await, place.open().await];
    let writers: Vec<_> = stores.iter().enumerate().map(|(writer, store)| tokio::spawn(write(store.clone(), "one", writer, 200))).collect();
    let mut won = Vec::new();
    for writer in writers {
        won.push(writer.await.unwrap());
    }
    hold(&*stores[0], won.clone()).await;
    hold(&*stores[1], won).await;
}

pub(crate) async fn beginning_is_won_once(place: &Place) {
    for round in 0..20 {
        let session: Arc<str> = format!("session-{round}").into();
        let mut writers = Vec::new();
        for writer in 0..4 {
            let (store, session) = (place.open().await, session.clone());
            writers.push(tokio::spawn(async move { store.append(append(&session, 0, &[&format!("{writer}"), "more"])).await }));
        }
        let mut winner = None;
        for (number, writer) in writers.into_iter().enumerate() {
            match writer.await.unwrap() {
                Ok(()) => assert_eq!(winner.replace(number), None, "two began it"),
                Err(StoreError::Conflict { found, .. }) => assert_eq!(found, 2),
                Err(error) => panic!("{error}"),
            }
        }
        let kept = texts(&*place.open().await, &session, 0).await;
        assert_eq!(kept, [record(0, &winner.unwrap().to_string()), record(1, "more")]);
    }
}

pub(crate) async fn many_sessions_do_not_disturb_each_other(place: &Place) {
    let store = place.open().await;
    let mut writers = Vec::new();
    for writer in 0..64 {
        let store = store.clone();
        writers.push(tokio::spawn(async move { write(store, &format!("session-{writer}"), writer, 10).await }));
    }
    for (writer, task) in writers.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), (0..10).collect::<Vec<_>>());
        let expected: Vec<_> = (0..10).map(|seq| record(seq, &format!("{writer}"))).collect();
        assert_eq!(texts(&*store, &format!("session-{writer}"), 0).await, expected);
    }
}
