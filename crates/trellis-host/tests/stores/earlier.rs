//! The contents of stores of earlier versions on servers (`earlier/`), which are still usable.

use trellis_host::store::{Row, SessionStore, Which};

use crate::make::{append, head, load, names, query, record, snapshot, texts};

/// Session `one`: three records, the first of which was pruned, and a snapshot before the last.
pub(crate) async fn goes_on(store: &dyn SessionStore) {
    let stored = load(store, "one").await.unwrap();
    let due = 1_790_000_000_500;
    assert_eq!((stored.head.due, stored.head.next, stored.head.at), (Some(due), 3, head("one", 3).at));
    assert_eq!(stored.snapshot, Some((2, snapshot("ab"))));
    assert_eq!(stored.records, [Row { seq: 2, text: Ok(record(2, "c")) }]);
    assert_eq!(texts(store, "one", 0).await, [record(1, "b"), record(2, "c")]);
    assert_eq!(names(&store.list(query(Which::Due(due), None, 9)).await.unwrap()), ["one"]);
    store.append(append("one", 3, &["d"])).await.unwrap();
    assert_eq!(names(&store.list(query(Which::Newest, None, 9)).await.unwrap()), ["one"]);
    assert_eq!(store.list(query(Which::Due(due), None, 9)).await.unwrap(), []);
    assert_eq!(load(store, "one").await.unwrap().records.len(), 2);
}
