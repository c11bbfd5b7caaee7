//! Whatever is done in whatever order: a store says what the store in memory says.

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use trellis_core::SessionId;
use trellis_host::store::{Append, MemoryStore, Query, Removal, SessionStatus, SessionStore, Which};

use crate::{
    make::{head, record, snapshot},
    place::Place,
};

const NAMES: [&str; 4] = ["one", "two", "drei:ß", "../four"];
const GRAPHS: [&str; 2] = ["orders", "returns"];

/// Something that is asked of a store.
#[derive(Clone, Debug)]
enum Act {
    Append { session: usize, off: i64, texts: Vec<String>, snapshot: bool, at: u64, due: Option<u64>, graph: usize, ended: bool },
    Records { session: usize, from: u64, limit: usize },
    List { graph: Option<usize>, due: Option<u64>, limit: usize },
    Remove { session: usize, off: i64 },
    Before { session: usize, seq: u64 },
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let session = 0..NAMES.len();
    let off = prop_oneof![8 => Just(0_i64), 1 => -2..3_i64];
    let moment = 0..6_u64;
    let due = proptest::option::of(moment.clone());
    prop_oneof![
        12 => (session.clone(), off.clone(), proptest::collection::vec("\\PC{0,12}", 1..5), any::<bool>(), moment.clone(), due.clone(), 0..2_usize, any::<bool>())
            .prop_map(|(session, off, texts, snapshot, at, due, graph, ended)| Act::Append { session, off, texts, snapshot, at, due, graph, ended }),
        2 => (session.clone(), 0..12_u64, 0..9_usize).prop_map(|(session, from, limit)| Act::Records { session, from, limit }),
        4 => (proptest::option::of(0..2_usize), due, 1..5_usize).prop_map(|(graph, due, limit)| Act::List { graph, due, limit }),
        1 => (session.clone(), off).prop_map(|(session, off)| Act::Remove { session, off }),
        3 => (session, 0..12_u64).prop_map(|(session, seq)| Act::Before { session, seq }),
        1 => Just(Act::Reopen),
    ]
}

/// The number that comes next in the model, moved by `off`.
async fn next(model: &MemoryStore, session: &SessionId, off: i64) -> u64 {
    let stored = model.load(std::slice::from_ref(session)).await.unwrap().remove(0);
    stored.map_or(0, |stored| stored.head.next).saturating_add_signed(off)
}

async fn take(place: &Place, store: &mut std::sync::Arc<dyn SessionStore>, model: &MemoryStore, act: Act) {
    match act {
        Act::Append { session, off, texts, snapshot: wanted, at, due, graph, ended } => {
            let expected = next(model, &NAMES[session].into(), off).await;
            let mut head = head(NAMES[session], expected + texts.len() as u64);
            (head.at, head.due, head.graph) = (at, due, GRAPHS[graph].into());
            head.standing = if ended { SessionStatus::Finished } else { SessionStatus::Active };
            let records = texts.iter().zip(expected..).map(|(text, seq)| record(seq, text)).collect();
            let snapshot = wanted.then(|| snapshot(&format!("{} {}", texts.len(), head.next)));
            let append = Append { session: NAMES[session].into(), expected, records, head, snapshot };
            assert_eq!(store.append(append.clone()).await, model.append(append).await);
        }
        Act::Records { session, from, limit } => {
            let session = NAMES[session].into();
            assert_eq!(store.records(&session, from, limit).await, model.records(&session, from, limit).await);
        }
        Act::List { graph, due, limit } => {
            let which = due.map_or(Which::Newest, Which::Due);
            let mut after = None;
            loop {
                let query = Query { graph: graph.map(|graph| GRAPHS[graph].into()), which, after, limit };
                let page = store.list(query.clone()).await.unwrap();
                assert_eq!(Ok(&page), model.list(query).await.as_ref());
                let Some(last) = page.last() else { break };
                after = Some((if due.is_some() { last.due.unwrap() } else { last.at }, last.session.clone()));
            }
        }
        Act::Remove { session, off } => {
            let session = NAMES[session].into();
            let removal = Removal::Session { expected: next(model, &session, off).await };
            assert_eq!(store.remove(&session, removal).await, model.remove(&session, removal).await);
        }
        Act::Before { session, seq } => {
            let session = NAMES[session].into();
            assert_eq!(store.remove(&session, Removal::Before(seq)).await, model.remove(&session, Removal::Before(seq)).await);
        }
        Act::Reopen => *store = place.open().await,
    }
}

pub(crate) async fn it_does_what_memory_does(place: &Place) {
    let mut runner = TestRunner::new(Config::default());
    let model = MemoryStore::new();
    let mut store = place.open().await;
    let sessions = NAMES.map(SessionId::from);
    for _ in 0..12 {
        let acts = proptest::collection::vec(act(), 60).new_tree(&mut runner).unwrap().current();
        let mut done = Vec::new();
        for act in acts {
            done.push(act.clone());
            take(place, &mut store, &model, act).await;
            let (found, expected) = (store.load(&sessions).await.unwrap(), model.load(&sessions).await.unwrap());
            assert_eq!(found, expected, "after {done:#?}");
        }
        for session in &sessions {
            assert_eq!(store.records(session, 0, usize::MAX).await, model.records(session, 0, usize::MAX).await, "after {done:#?}");
            let expected = next(&model, session, 0).await;
            store.remove(session, Removal::Session { expected }).await.unwrap();
            model.remove(session, Removal::Session { expected }).await.unwrap();
        }
    }
}
