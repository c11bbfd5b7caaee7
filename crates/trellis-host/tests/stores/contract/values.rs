//! Values by key, over every store: versions, times that are over, little room.

use std::{sync::Arc, time::Duration};

use trellis_core::Value;
use trellis_host::{
    key_value::{Expected, Listed, ValueError, Values},
    store::SessionStore,
    testing::TestClock,
};

use crate::place::Place;

const NOW: u64 = 1_790_000_000_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// Values whose clock stands still until somebody moves it.
async fn at(place: &Place, space: &str) -> (Values, TestClock) {
    let clock = TestClock::still(NOW);
    (Values::new(place.open().await, space).unwrap().with_clock(clock.clock()), clock)
}

async fn get(values: &Values, key: &str) -> Option<(Value, u64)> {
    values.get(key).await.unwrap().map(|kept| (kept.value, kept.version))
}

fn keys(listed: &[Listed]) -> Vec<&str> {
    listed.iter().map(|listed| listed.key.as_str()).collect()
}

fn found<T: std::fmt::Debug>(result: Result<T, ValueError>) -> Option<u64> {
    match result {
        Err(ValueError::Conflict { found, .. }) => found,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn what_is_put_is_there(place: &Place) {
    let (values, _) = at(place, "carts").await;
    assert_eq!(get(&values, "ana").await, None);
    let cart = Value::map([("items", Value::list([Value::Int(1), Value::Null])), ("note", Value::text("a\nb ü"))]);
    assert_eq!(values.put("ana", cart.clone(), Expected::Absent, None).await, Ok(1));
    assert_eq!(values.put("nothing", Value::Null, Expected::Any, None).await, Ok(1));
    // Opened again, and beside another space.
    let (again, _) = at(place, "carts").await;
    assert_eq!(get(&again, "ana").await, Some((cart, 1)));
    assert_eq!(get(&again, "nothing").await, Some((Value::Null, 1)));
    let (others, _) = at(place, "cart").await;
    assert_eq!(get(&others, "s/ana").await, None);
    assert_eq!(get(&others, "ana").await, None);
    assert_eq!(others.list(None, 10).await.unwrap(), []);
    for key in ["", "tab\there", &"x".repeat(513)] {
        assert_eq!(values.get(key).await, Err(ValueError::Key));
    }
    for key in ["../../x", "ünï cödé", &"x".repeat(512)] {
        assert_eq!(values.put(key, Value::text(key), Expected::Absent, None).await, Ok(1), "{key}");
        assert_eq!(get(&values, key).await, Some((Value::text(key), 1)));
    }
    // A value that would not come back as it is, is refused.
    let deep = (0..200).fold(Value::Null, |inner, _| Value::list([inner]));
    for odd in [deep, Value::Float(f64::NAN)] {
        assert_eq!(values.put("ana", odd, Expected::Any, None).await, Err(ValueError::Value));
    }
}

pub(crate) async fn of_two_writers_one_wins(place: &Place) {
    let (values, _) = at(place, "carts").await;
    assert_eq!(found(values.put("ana", Value::Int(1), Expected::Version(1), None).await), None);
    assert_eq!(values.put("ana", Value::Int(1), Expected::Absent, None).await, Ok(1));
    assert_eq!(found(values.put("ana", Value::Int(2), Expected::Absent, None).await), Some(1));
    assert_eq!(values.put("ana", Value::Int(2), Expected::Version(1), None).await, Ok(2));
    assert_eq!(found(values.put("ana", Value::Int(3), Expected::Version(1), None).await), Some(2));
    assert_eq!(get(&values, "ana").await, Some((Value::Int(2), 2)));

    // Four count to a hundred together, each over what it saw.
    let count = |values: Values| async move {
        for _ in 0..25 {
            loop {
                let kept = values.get("count").await.unwrap();
                let (number, expected) = kept.map_or((0, Expected::Absent), |kept| match kept.value {
                    Value::Int(number) => (number, Expected::Version(kept.version)),
                    other => panic!("{other:?}"),
                });
                match values.put("count", Value::Int(number + 1), expected, None).await {
                    Ok(_) => break,
                    Err(ValueError::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    };
    let counting: Vec<_> = (0..4).map(|_| tokio::spawn(count(values.clone()))).collect();
    for one in counting {
        one.await.unwrap();
    }
    assert_eq!(get(&values, "count").await, Some((Value::Int(100), 100)));
}

pub(crate) async fn what_is_over_is_never_shown_again(place: &Place) {
    let (values, clock) = at(place, "carts").await;
    values.put("ana", Value::Int(1), Expected::Absent, Some(HOUR)).await.unwrap();
    values.put("ben", Value::Int(2), Expected::Absent, Some(2 * HOUR)).await.unwrap();
    values.put("cy", Value::Int(3), Expected::Absent, None).await.unwrap();
    clock.skip(HOUR - Duration::from_millis(1));
    assert_eq!(get(&values, "ana").await, Some((Value::Int(1), 1)));
    assert_eq!(values.sweep().await, Ok(0));
    clock.skip(Duration::from_millis(1));
    assert_eq!(get(&values, "ana").await, None);
    assert_eq!(keys(&values.list(None, 10).await.unwrap()), ["ben", "cy"]);
    assert_eq!(found(values.put("ana", Value::Int(9), Expected::Version(1), None).await), None);
    // Written anew, it lasts as long as is said now, and its number goes on.
    assert_eq!(values.put("ana", Value::Int(4), Expected::Absent, None).await, Ok(2));
    clock.skip(2 * HOUR);
    assert_eq!(values.sweep().await, Ok(1));
    assert_eq!((get(&values, "ana").await, get(&values, "ben").await), (Some((Value::Int(4), 2)), None));
    assert_eq!(keys(&values.list(None, 10).await.unwrap()), ["ana", "cy"]);
}

pub(crate) async fn a_number_that_was_seen_is_of_one_value(place: &Place) {
    let (values, clock) = at(place, "carts").await;
    assert_eq!(values.remove("ana", Expected::Any).await, Ok(()));
    assert_eq!(found(values.remove("ana", Expected::Version(1)).await), None);
    values.put("ana", Value::Int(1), Expected::Absent, None).await.unwrap();
    assert_eq!(found(values.remove("ana", Expected::Version(7)).await), Some(1));
    assert_eq!(values.remove("ana", Expected::Version(1)).await, Ok(()));
    assert_eq!((get(&values, "ana").await, values.list(None, 10).await.unwrap()), (None, Vec::new()));
    // A writer that saw version 1 does not take the next value for it.
    assert_eq!(values.put("ana", Value::Int(2), Expected::Absent, None).await, Ok(3));
    assert_eq!(found(values.put("ana", Value::Int(9), Expected::Version(1), None).await), Some(3));
    values.remove("ana", Expected::Any).await.unwrap();
    clock.skip(23 * HOUR);
    assert_eq!(values.sweep().await, Ok(0));
    clock.skip(2 * HOUR);
    assert_eq!(values.sweep().await, Ok(1));
    assert_eq!(values.put("ana", Value::Int(4), Expected::Absent, None).await, Ok(1));
}

pub(crate) async fn a_key_that_is_written_often_stays_small(place: &Place) {
    let (values, _) = at(place, "carts").await;
    for (number, version) in (1..=100).zip(1..) {
        assert_eq!(values.put("ana", Value::Int(number), Expected::Any, None).await, Ok(version));
        let (again, _) = at(place, "carts").await;
        assert_eq!(get(&again, "ana").await, Some((Value::Int(number), version)));
    }
    let store: Arc<dyn SessionStore> = place.open().await;
    let rows = store.records(&"carts/ana".into(), 0, usize::MAX).await.unwrap();
    assert!(rows.len() <= 8, "{} records", rows.len());
}

pub(crate) async fn keys_come_in_pages(place: &Place) {
    let (values, clock) = at(place, "carts").await;
    for number in 0..12 {
        clock.skip(Duration::from_millis(1));
        values.put(&format!("key {number}"), Value::Int(number), Expected::Absent, None).await.unwrap();
    }
    for number in [3, 4, 9] {
        values.remove(&format!("key {number}"), Expected::Any).await.unwrap();
    }
    for limit in 1..12 {
        let mut all: Vec<Listed> = Vec::new();
        loop {
            let page = values.list(all.last(), limit).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        assert_eq!(keys(&all), [11, 10, 8, 7, 6, 5, 2, 1, 0].map(|number| format!("key {number}")), "{limit} a page");
    }
    assert_eq!(values.list(None, 0).await.unwrap(), []);
}
