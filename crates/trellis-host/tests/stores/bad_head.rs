//! One head that cannot be read takes no other with it, and can be taken out.

use trellis_host::store::{SessionStatus, SessionStore, StoreError, Which};

use crate::make::{append, load, names, query, take_out, with_head};

/// Begins `one`, `two` and `three`.
pub(crate) async fn begin(store: &dyn SessionStore) {
    for name in ["one", "two", "three"] {
        store.append(with_head(append(name, 0, &["start"]), |head| head.due = Some(7))).await.unwrap();
    }
}

/// Checks the properties of a store in which nobody can read the head of `two` any more.
pub(crate) async fn takes_no_other_with_it(store: &dyn SessionStore) {
    for which in [Which::Newest, Which::Due(9)] {
        let heads = store.list(query(which, None, 9)).await.unwrap();
        assert!(which == Which::Newest || heads.iter().all(|head| head.due == Some(7)), "{heads:?}");
        let (bad, good): (Vec<_>, Vec<_>) = heads.into_iter().partition(|head| head.standing == SessionStatus::Unreadable);
        assert_eq!((names(&bad), names(&good)), (vec!["two"], vec!["one", "three"]));
        // A page goes on behind it.
        let after = (if which == Which::Newest { bad[0].at } else { 7 }, "two");
        assert_eq!(names(&store.list(query(which, Some(after), 9)).await.unwrap()), Vec::<&str>::new());
    }
    let error = store.load(&["two".into()]).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }) && error.to_string().contains("session `two`"), "{error}");
    assert!(load(store, "one").await.is_some());
    // The records can be counted, though nobody knows what they come to.
    let Err(StoreError::Conflict { found, .. }) = take_out(store, "two", 0).await else { panic!("it was taken out") };
    take_out(store, "two", found).await.unwrap();
    assert_eq!(names(&store.list(query(Which::Newest, None, 9)).await.unwrap()), vec!["one", "three"]);
}
