//! Values by key where the store has trouble; what every store promises of them stands in its contract suite.

use std::sync::{Arc, atomic::Ordering};

use trellis_core::Value;
use trellis_host::{
    key_value::{Expected, ValueError, Values},
    store::StoreError,
};

use crate::{
    stage::run,
    troubled::{Trouble, Troubled},
};

fn carts(store: &Arc<Troubled>) -> Values {
    Values::new(Arc::<Troubled>::clone(store), "carts").unwrap()
}

#[test]
fn a_store_that_answers_with_an_old_value_is_not_asked_on_and_on() {
    let store = Troubled::with(&[]);
    run(async {
        let values = carts(&store);
        assert_eq!(values.put("ana", Value::Int(1), Expected::Any, None).await, Ok(1));
        store.is_old.store(true, Ordering::Relaxed);
        store.taken();
        for expected in [Expected::Any, Expected::Absent] {
            let refused = values.put("ana", Value::Int(2), expected, None).await;
            assert!(matches!(refused, Err(ValueError::Store(StoreError::Conflict { expected: 0, found: 1, .. }))), "{refused:?}");
            assert_eq!(store.taken(), ["load", "append", "load"]);
        }
        store.is_old.store(false, Ordering::Relaxed);
        assert_eq!(values.get("ana").await.unwrap().map(|kept| (kept.value, kept.version)), Some((Value::Int(1), 1)));
    });
}

#[test]
fn where_no_answer_came_the_version_tells() {
    let store = Troubled::with(&[Trouble::Lost, Trouble::Unanswered, Trouble::Full]);
    run(async {
        let values = carts(&store);
        for (number, version) in [(1, 0), (2, 1), (3, 1)] {
            let refused = values.put("ana", Value::Int(number), Expected::Any, None).await;
            assert!(matches!(refused, Err(ValueError::Store(_))), "{refused:?}");
            assert_eq!(values.get("ana").await.unwrap().map_or(0, |kept| kept.version), version);
        }
        assert_eq!(values.put("ana", Value::Int(4), Expected::Version(1), None).await, Ok(2));
    });
}
