//! Values and Rust's own types: `to_value` makes what `serde_json` would make, and `from_value` reads it back.

use std::collections::BTreeMap;

use proptest::{collection, prelude::*};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trellis_core::{
    Value,
    value::{from_value, to_value},
};

/// One of each form that serde knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    truth: bool,
    small: (i8, u16),
    exact: (i64, u64),
    wide: i128,
    number: f64,
    single: f32,
    letter: char,
    text: String,
    nothing: (),
    mark: Mark,
    maybe: Option<Text>,
    variants: Vec<Variant>,
    by_number: BTreeMap<i64, bool>,
    by_truth: BTreeMap<bool, u8>,
    by_letter: BTreeMap<char, Option<Pair>>,
    by_variant: BTreeMap<Side, ()>,
    outer: Outer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Outer {
    one: bool,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Mark;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Text(String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(i32, String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rest {
    more: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Side {
    Left,
    Right,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Variant {
    Unit,
    Newtype(Box<Option<Variant>>),
    Tuple(u64, String),
    Struct { number: f64, inner: Vec<Variant> },
}

fn finite() -> impl Strategy<Value = f64> + Clone {
    any::<f64>().prop_filter("finite", |number| number.is_finite())
}

fn variant() -> impl Strategy<Value = Variant> {
    let leaf = prop_oneof![Just(Variant::Unit), (any::<u64>(), ".*").prop_map(|(number, text)| Variant::Tuple(number, text))];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            proptest::option::of(inner.clone()).prop_map(|inner| Variant::Newtype(Box::new(inner))),
            (finite(), collection::vec(inner, 0..3)).prop_map(|(number, inner)| Variant::Struct { number, inner }),
        ]
    })
}

fn everything() -> impl Strategy<Value = Everything> {
    let numbers =
        (any::<(i8, u16)>(), any::<(i64, u64)>(), any::<i64>(), finite(), any::<f32>().prop_filter("finite", |it| it.is_finite()));
    let texts = (any::<bool>(), any::<char>(), any::<String>(), proptest::option::of(".*".prop_map(Text)));
    let pair = (any::<i32>(), ".*").prop_map(|(number, text)| Pair(number, text));
    let maps = (
        collection::btree_map(any::<i64>(), any::<bool>(), 0..3),
        collection::btree_map(any::<bool>(), any::<u8>(), 0..2),
        collection::btree_map(any::<char>(), proptest::option::of(pair), 0..3),
        collection::btree_map(prop_oneof![Just(Side::Left), Just(Side::Right)], Just(()), 0..2),
    );
    (numbers, texts, maps, collection::vec(variant(), 0..3), any::<u64>()).prop_map(
        |(
            (small, exact, wide, number, single),
            (truth, letter, text, maybe),
            (by_number, by_truth, by_letter, by_variant),
            variants,
            more,
        )| {
            Everything {
                truth,
                small,
                exact,
                wide: wide.into(),
                number,
                single,
                letter,
                text,
                nothing: (),
                mark: Mark,
                maybe,
                variants,
                by_number,
                by_truth,
                by_letter,
                by_variant,
                outer: Outer { one: truth, rest: Rest { more } },
            }
        },
    )
}

/// JSON values in which the names of [`Variant`] come up.
fn json() -> impl Strategy<Value = Json> {
    let name = || {
        let names = vec!["Unit", "Newtype", "Tuple", "Struct", "number", "inner"];
        prop_oneof![any::<String>(), proptest::sample::select(names).prop_map(str::to_owned)]
    };
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        finite().prop_map(Json::from),
        name().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 32, 5, move |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            collection::btree_map(name(), inner, 0..3).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn rust_types_become_what_serde_json_makes_of_them_and_are_read_back(everything in everything()) {
        let value = to_value(&everything).unwrap();
        let json = serde_json::to_value(&everything).unwrap();
        prop_assert_eq!(from_value::<Json>(&value).unwrap(), json.clone());
        prop_assert!(value.is_same(&Value::from_json(&json.to_string()).unwrap()));
        prop_assert_eq!(from_value::<Everything>(&value).unwrap(), everything);
    }

    #[test]
    fn what_serde_json_refuses_to_read_is_refused(json in json()) {
        let value = to_value(&json).unwrap();
        let agrees = |ours: bool, theirs: bool| ours == theirs;
        prop_assert!(agrees(from_value::<Variant>(&value).is_ok(), serde_json::from_value::<Variant>(json.clone()).is_ok()));
        prop_assert!(agrees(from_value::<(i32, Option<f64>)>(&value).is_ok(), serde_json::from_value::<(i32, Option<f64>)>(json.clone()).is_ok()));
        prop_assert!(agrees(from_value::<Vec<u8>>(&value).is_ok(), serde_json::from_value::<Vec<u8>>(json).is_ok()));
    }

    #[test]
    fn json_values_go_through_unchanged(json in json()) {
        let value = to_value(&json).unwrap();
        prop_assert_eq!(from_value::<Json>(&value).unwrap(), json.clone());
        prop_assert!(value.is_same(&to_value(&value).unwrap()));
        prop_assert!(value.is_same(&Value::from_json(&json.to_string()).unwrap()));
    }
}

#[test]
fn what_a_value_cannot_be_is_refused_with_its_place() {
    #[derive(Serialize)]
    struct Order {
        items: Vec<BTreeMap<&'static str, f64>>,
    }
    let order = Order { items: vec![BTreeMap::from([("price", 1.5)]), BTreeMap::from([("price", f64::INFINITY)])] };
    let error = to_value(&order).unwrap_err();
    assert_eq!((error.path().as_str(), error.message()), ("items.1.price", "a number must be finite, not inf"));
    let error = to_value(&BTreeMap::from([("n", u128::from(u64::MAX) + 1)])).unwrap_err();
    assert_eq!(error.to_string(), "at `n`: the number 18446744073709551616 does not fit 64 bits");
    let error = to_value(&BTreeMap::from([("n", BTreeMap::from([(vec![1], 2)]))])).unwrap_err();
    assert_eq!(error.to_string(), "at `n`: a key of a mapping is text, not a list");

    #[derive(Serialize)]
    struct Twice {
        more: u8,
        #[serde(flatten)]
        rest: Rest,
    }
    let error = to_value(&[Twice { more: 1, rest: Rest { more: 2 } }]).unwrap_err();
    assert_eq!(error.to_string(), "at `0`: the key `more` stands twice");

    let value = Value::from_json(r#"{"Struct": {"number": 1, "inner": [{"Tuple": [-1, "a"]}]}}"#).unwrap();
    let error = from_value::<Variant>(&value).unwrap_err();
    assert_eq!(error.path(), "Struct.inner.0.Tuple.0");
    assert!(error.message().starts_with("invalid value: integer `-1`, expected u64"), "{error}");
}

#[test]
fn what_is_made_is_as_deep_as_what_is_read() {
    let nested = |levels: usize| {
        (0..levels)
            .fold(Json::Null, |inner, at| if at % 2 == 0 { [inner].into_iter().collect() } else { serde_json::json!({ "in": inner }) })
    };
    for levels in [1, 126, 127, 128, 129, 300] {
        let made = to_value(&nested(levels));
        let text = nested(levels).to_string();
        assert_eq!(made.is_ok(), Value::from_json(&text).is_ok(), "{levels} levels");
        assert_eq!(made.is_ok(), levels <= 127);
    }
}
