//! The laws of the lattice, each for all types of a small universe.
//!
//! A type represents the set of the values that it contains, where `None` is an absent value. Types are compared by those sets, over samples.

use super::{Fields, Kinds, SubPathId, Type, TypeId, TypeTable};
use crate::dataflow::slot::Slot;
use trellis_base::{
    path::KeyPath,
    value::{Key, Value},
};
use trellis_engine::program::{Guard, Operand, Root, Truth};

/// Types of every form: absent, unknown, dynamic, kinds, literals, mappings, lists, and joins of these.
fn universe(types: &mut TypeTable) -> Vec<TypeId> {
    let mut all = vec![TypeId::NEVER, TypeId::ABSENT, TypeId::UNKNOWN, TypeId::UNKNOWN_OR_ABSENT, TypeId::DYNAMIC, TypeId::TEXT];
    all.extend(samples().iter().flatten().map(|value| types.of_value(value)).collect::<Vec<_>>());
    all.extend([types.integer(), types.text(), types.of_kinds(&[Kinds::INT, Kinds::FLOAT]), types.given_number()]);
    all.extend([types.list(TypeId::TEXT), types.list(TypeId::DYNAMIC)]);
    for (named, others) in [
        (vec![("a", TypeId::TEXT)], TypeId::ABSENT),
        (vec![("a", TypeId::UNKNOWN_OR_ABSENT)], TypeId::ABSENT),
        (vec![("a", TypeId::UNKNOWN), ("b", TypeId::TEXT)], TypeId::DYNAMIC),
        (Vec::new(), TypeId::DYNAMIC),
    ] {
        let named = named.into_iter().map(|(key, of)| (Key::from(key), of)).collect();
        all.push(types.intern(Type { fields: Some(Fields { named, others }), ..Type::default() }));
    }
    let partly_known: Vec<TypeId> = all.iter().map(|of| types.join(*of, TypeId::UNKNOWN)).collect();
    all.extend(partly_known);
    let joins: Vec<TypeId> = all.windows(5).step_by(2).map(|of| types.join(of[0], of[4])).collect();
    all.extend(joins);
    all.sort_unstable();
    all.dedup();
    all
}

/// Values that types contain or not.
fn samples() -> Vec<Option<Value>> {
    let a = |value: Value| Value::map([("a", value)]);
    let scalars =
        [Value::Null, true.into(), false.into(), Value::text(""), Value::text("x"), Value::text("y"), Value::Int(0), Value::Int(7)];
    let others = [Value::Float(0.5), Value::list([]), Value::list([Value::text("x")]), Value::list([Value::Int(7), Value::text("x")])];
    let maps =
        [Value::map::<&str, Value>([]), a(Value::text("x")), a(Value::Int(7)), Value::map([("a", Value::Null), ("b", Value::text("y"))])];
    let there = scalars.into_iter().chain(others).chain(maps).map(Some);
    std::iter::once(None).chain(there).collect()
}

/// Returns true if a value is in the set of a type.
fn contains(types: &TypeTable, id: TypeId, value: Option<&Value>) -> bool {
    let of = types.get(id);
    let Some(value) = value else { return of.absent || of.dynamic };
    match (value, &of.fields, of.items) {
        (Value::Map(entries), Some(fields), _) => {
            fields.named.iter().all(|(key, of)| contains(types, *of, entries.get(key)))
                && entries.iter().all(|(key, entry)| contains(types, fields.get(key), Some(entry)))
        }
        (Value::List(items), _, Some(of)) if !items.is_empty() => items.iter().all(|item| contains(types, of, Some(item))),
        _ => {
            let is_number = matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_));
            of.dynamic || (of.unknown && (is_number || !of.numeric)) || of.kinds.hold(value) || of.values.contains(value)
        }
    }
}

#[test]
fn join_commutes_associates_and_is_idempotent() {
    let mut types = TypeTable::new();
    let all = universe(&mut types);
    for &a in &all {
        assert_eq!(types.join(a, a), a);
        for &b in &all {
            let joined = types.join(a, b);
            assert_eq!(joined, types.join(b, a), "{:?} or {:?}", types.get(a), types.get(b));
            assert_eq!(joined, types.join(joined, b), "{:?} or {:?}", types.get(a), types.get(b));
            for &c in &all {
                let bc = types.join(b, c);
                let (left, right) = (types.join(joined, c), types.join(a, bc));
                assert_eq!(left, right, "{:?} or {:?} or {:?}", types.get(a), types.get(b), types.get(c));
            }
        }
    }
}

#[test]
fn join_contains_both() {
    let mut types = TypeTable::new();
    let all = universe(&mut types);
    for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        let joined = types.join(a, b);
        for value in samples() {
            let in_one = contains(&types, a, value.as_ref()) || contains(&types, b, value.as_ref());
            assert!(!in_one || contains(&types, joined, value.as_ref()), "{value:?} in {:?} or {:?}", types.get(a), types.get(b));
            let is_admitted = value.as_ref().is_some_and(|value| types.get(a).admits(value));
            assert!(!is_admitted || value.as_ref().is_some_and(|value| types.get(joined).admits(value)), "{value:?} in {:?}", types.get(a));
        }
    }
}

/// Returns true if a type and all its parts are fully known: then its set is exact.
fn is_known(types: &TypeTable, id: TypeId) -> bool {
    let of = types.get(id);
    let parts = of.fields.iter().flat_map(|fields| fields.named.iter().map(|(_, of)| *of).chain([fields.others])).chain(of.items);
    !of.unknown && !of.dynamic && parts.into_iter().all(|part| is_known(types, part))
}

#[test]
fn meet_of_known_types_is_below_both_and_contains_what_both_contain() {
    let mut types = TypeTable::new();
    let mut all = universe(&mut types);
    all.retain(|id| is_known(&types, *id));
    for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        let met = types.meet(a, b);
        for value in samples() {
            let [in_a, in_b, in_met] = [a, b, met].map(|id| contains(&types, id, value.as_ref()));
            assert_eq!(in_met, in_a && in_b, "{value:?} in {:?} and {:?}: {:?}", types.get(a), types.get(b), types.get(met));
        }
    }
}

/// A meet with an unknown type may be too wide: a meet with `UNKNOWN` keeps `DYNAMIC`, which may be absent, and forgets that a number was given.
#[test]
fn meet_contains_what_both_contain() {
    let mut types = TypeTable::new();
    let all = universe(&mut types);
    for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        let met = types.meet(a, b);
        for value in samples() {
            let [in_a, in_b, in_met] = [a, b, met].map(|id| contains(&types, id, value.as_ref()));
            assert!(in_met || !(in_a && in_b), "{value:?} in {:?} and {:?}: {:?}", types.get(a), types.get(b), types.get(met));
        }
    }
}

fn key(name: &str) -> KeyPath {
    KeyPath::parse(name).expect("a path")
}

/// Guards over a value and over its part `a`.
fn guards() -> Vec<Guard> {
    let operand = || Operand { root: Root::Context, path: key("k") };
    let literals = [Value::text("x"), Value::text(""), Value::Int(7), Value::Null, true.into()];
    let mut all: Vec<Guard> = literals.iter().map(|value| Guard::Is(operand(), true, value.clone())).collect();
    all.extend([true, false].into_iter().flat_map(|yes| {
        [
            Guard::In(operand(), yes, literals.to_vec().into()),
            Guard::Truth(operand(), yes),
            Guard::Set(operand(), yes),
            Guard::Empty(operand(), yes),
        ]
    }));
    all.extend(literals.into_iter().map(|value| Guard::Is(operand(), false, value)));
    all
}

#[test]
fn refine_loses_no_value_that_decides_the_guard() {
    let mut types = TypeTable::new();
    let all = universe(&mut types);
    let below = key("a");
    let paths = [SubPathId::NONE, types.rest(below.segments())];
    for guard in guards() {
        let number = types.intern_guard(&guard);
        for (&id, path) in all.iter().flat_map(|id| paths.map(|path| (id, path))) {
            let [on_true, on_false] = [true, false].map(|truth| types.refine(id, path, number, truth));
            let either = types.join(on_true, on_false);
            for value in samples().iter().map(Option::as_ref).filter(|value| contains(&types, id, *value)) {
                let at_path = if path == SubPathId::NONE { value } else { value.and_then(Value::as_map).and_then(|map| map.get("a")) };
                let (is_in, is_in_either) = match guard.over(at_path) {
                    Truth::Yes => (contains(&types, on_true, value), contains(&types, either, value)),
                    Truth::No => (contains(&types, on_false, value), contains(&types, either, value)),
                    Truth::Either => (true, true),
                };
                assert!(is_in && is_in_either, "{value:?} in {:?} where {guard:?}", types.get(id));
            }
        }
    }
}

#[test]
fn packed_and_interned_types_join_alike() {
    let mut types = TypeTable::new();
    let all = universe(&mut types);
    let slot = Slot(2);
    for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        let [one, other] = [a, b].map(|id| types.pack(slot, id));
        let packed = types.join_lanes(slot, one, other);
        assert_eq!(types.unpack(slot, one), a, "{:?}", types.get(a));
        assert_eq!(types.unpack(slot, packed), types.join(a, b), "{:?} or {:?}", types.get(a), types.get(b));
    }
}
