//! Types in one word each, so that what is known of many keys is joined at once.
//!
//! Of most keys only little is possible: that nothing is there, something unknown, a few constants, any value of a kind. As bits, two such types
//! come to their union. Every other type stands in its word by its number.
//!
//! **Invariant:** at one key, two words are equal if and only if their types are. A kind's bits include those of all values of that kind.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{Kinds, Type, TypeId, TypeTable, hash_consing};
use crate::{compile::dataflow::slot::Slot, value::Value};

/// A type as it stands at one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PackedType(u32);

/// Where the bits of the kinds begin, those of scalars of no kind, and those of a key's own values.
const KINDS: u32 = 3;
const SCALARS: u32 = 6;
const VALUES: u32 = 11;

/// The bits of a key's own values.
const ALL_VALUES: u32 = PackedType::NUMBER - (1 << VALUES);

impl PackedType {
    /// Nothing is possible.
    pub(crate) const NEVER: Self = Self(0);
    /// Nothing is there.
    pub(crate) const ABSENT: Self = Self(1);
    /// Nothing is known, not even whether something is there.
    pub(crate) const OPEN: Self = Self(4);
    /// The other bits are the number of a type.
    const NUMBER: u32 = 1 << 31;

    /// Whether something can be there.
    pub(crate) fn may_be_there(self) -> bool {
        self.0 > Self::ABSENT.0
    }

    /// The bits of both: what they come to together, unless one of them is a number.
    #[inline]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether another is possible by it; not asked of what types by number come to.
    #[inline]
    pub(crate) fn holds(self, other: Self) -> bool {
        self == other || (self.or(other) == self && !self.is_number())
    }

    /// Whether it is the number of a type.
    #[inline]
    pub(crate) fn is_number(self) -> bool {
        self.0 >= Self::NUMBER
    }

    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }
}

/// The values that have bits at one key: texts or integers, whichever came first.
#[derive(Debug, Default)]
struct ValuePalette {
    kind: Kinds,
    values: Vec<Value>,
}

impl ValuePalette {
    /// A type in bits, if it is of nothing but what has bits, or gets them now.
    fn lane(&mut self, of: &Type) -> Option<PackedType> {
        if of.fields.is_some() || of.items.is_some() || of.numeric {
            return None;
        }
        let [absent, any, open] = [of.absent, of.unknown, of.dynamic].map(u32::from);
        let mut bits = absent | any << 1 | open << 2 | u32::from(of.kinds.0) << KINDS;
        if self.kind == Kinds::default() {
            let first = [Kinds::INT, Kinds::TEXT].into_iter().find(|kind| of.kinds.has(*kind) || of.values.iter().any(|it| kind.hold(it)));
            self.kind = first.unwrap_or_default();
        }
        if self.kind != Kinds::default() && of.kinds.has(self.kind) {
            bits |= ALL_VALUES;
        }
        for value in &of.values {
            bits |= 1 << self.bit(value)?;
        }
        // One type has one word, and its values are sorted.
        hash_consing::is_same(&self.spelled(PackedType(bits)), of).then_some(PackedType(bits))
    }

    fn bit(&mut self, value: &Value) -> Option<u32> {
        Some(match value {
            Value::Int(_) | Value::UInt(_) | Value::Text(_) if self.kind.hold(value) => {
                let known = self.values.iter().position(|known| known == value);
                let next = || {
                    let is_free = self.values.len() < ALL_VALUES.count_ones() as usize;
                    is_free.then(|| self.values.push(value.clone())).map(|()| self.values.len() - 1)
                };
                u32::try_from(known.or_else(next)?).ok()? + VALUES
            }
            Value::Null => SCALARS,
            Value::Bool(truth) => SCALARS + 1 + u32::from(*truth),
            Value::Text(text) if text.is_empty() => SCALARS + 3,
            Value::List(items) if items.is_empty() => SCALARS + 4,
            _ => return None,
        })
    }

    /// What bits say.
    fn spelled(&self, lane: PackedType) -> Type {
        let kinds = [Kinds::TEXT, Kinds::INT, Kinds::FLOAT].into_iter();
        let kinds = kinds.filter(|kind| lane.0 >> KINDS & u32::from(kind.0) != 0).fold(Kinds::default(), Kinds::with);
        let scalars = [|| Value::Null, || false.into(), || true.into(), || Value::text(""), || Value::list([])];
        let scalars = (SCALARS..).zip(scalars).filter(|(bit, _)| lane.has(*bit)).map(|(_, value): (_, fn() -> Value)| value());
        let named =
            (VALUES..).zip(&self.values).filter(|(bit, value)| lane.has(*bit) && !kinds.hold(value)).map(|(_, value)| value.clone());
        let mut values: Vec<Value> = scalars.chain(named).collect();
        values.sort_by_cached_key(Value::to_json);
        Type { absent: lane.has(0), unknown: lane.has(1), dynamic: lane.has(2), kinds, values, ..Type::default() }
    }
}

/// The words of all keys.
#[derive(Debug, Default)]
pub(crate) struct PackTable {
    palettes: Vec<ValuePalette>,
    /// By slot and number of a type, and by slot and word.
    by_type: FxHashMap<u64, PackedType>,
    types: FxHashMap<u64, TypeId>,
    /// What was asked for last: it is asked for again at once.
    last: Option<(u64, TypeId)>,
}

impl PackTable {
    fn palette(&mut self, Slot(at): Slot) -> &mut ValuePalette {
        let at = at as usize;
        if at >= self.palettes.len() {
            self.palettes.resize_with(at + 1, ValuePalette::default);
        }
        &mut self.palettes[at]
    }
}

fn key(Slot(slot): Slot, of: u32) -> u64 {
    u64::from(slot) << 32 | u64::from(of)
}

impl TypeTable {
    /// The word of a type at a key.
    pub(crate) fn lane(&mut self, slot: Slot, id: TypeId) -> PackedType {
        if let Some(known) = self.lanes.by_type.get(&key(slot, id.0)) {
            return *known;
        }
        let of = &self.types[id.0 as usize];
        let lane = self.lanes.palette(slot).lane(of).unwrap_or(PackedType(id.0 | PackedType::NUMBER));
        self.lanes.by_type.insert(key(slot, id.0), lane);
        lane
    }

    /// The type of a word at a key.
    pub(crate) fn of_lane(&mut self, slot: Slot, lane: PackedType) -> TypeId {
        if lane.is_number() {
            return TypeId(lane.0 & !PackedType::NUMBER);
        }
        let key = key(slot, lane.0);
        if let Some((last, id)) = self.lanes.last
            && last == key
        {
            return id;
        }
        let id = self.lanes.types.get(&key).copied().unwrap_or_else(|| {
            let of = self.lanes.palette(slot).spelled(lane);
            let id = self.intern(of);
            self.lanes.types.insert(key, id);
            id
        });
        self.lanes.last = Some((key, id));
        id
    }

    /// The same where nothing is to be remembered.
    pub(crate) fn spelled(&self, slot: Slot, lane: PackedType) -> Cow<'_, Type> {
        if lane.is_number() {
            return Cow::Borrowed(self.get(TypeId(lane.0 & !PackedType::NUMBER)));
        }
        let bare = ValuePalette::default();
        Cow::Owned(self.lanes.palettes.get(slot.0 as usize).unwrap_or(&bare).spelled(lane))
    }

    /// Whether nothing can be there, also where nothing is known.
    pub(crate) fn may_lack_lane(&self, lane: PackedType) -> bool {
        if lane.is_number() {
            self.may_lack(TypeId(lane.0 & !PackedType::NUMBER))
        } else {
            lane.0 & (PackedType::ABSENT.0 | PackedType::OPEN.0) != 0
        }
    }

    /// Either of two at a key.
    #[inline]
    pub(crate) fn join_lanes(&mut self, slot: Slot, a: PackedType, b: PackedType) -> PackedType {
        if a == b || !a.or(b).is_number() {
            return a.or(b);
        }
        let (one, other) = (self.of_lane(slot, a), self.of_lane(slot, b));
        let joined = self.join(one, other);
        self.lane(slot, joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_to_what_their_types_come_to() {
        let mut types = TypeTable::new();
        let mut all = vec![TypeId::NEVER, TypeId::ABSENT, TypeId::UNKNOWN, TypeId::UNKNOWN_OR_ABSENT, TypeId::DYNAMIC, TypeId::TEXT];
        let numbers = types.of_kinds(&[Kinds::INT, Kinds::FLOAT]);
        all.extend([types.integer(), types.text(), numbers, types.list(TypeId::TEXT), types.mapping([("key".into(), TypeId::TEXT)])]);
        let few = [Value::Null, true.into(), false.into(), Value::text(""), Value::list([]), Value::text("a"), Value::Int(1)];
        // What is written otherwise, and more of one kind than have bits.
        let others = [Value::Float(1.0), Value::Float(0.5), Value::Int(-2)];
        let many = (0..70).map(|at| if at % 2 == 0 { Value::text(format!("text {at}")) } else { Value::Int(at) });
        all.extend(few.into_iter().chain(others).chain(many).map(|value| types.of_value(&value)).collect::<Vec<_>>());
        let both: Vec<TypeId> = all.windows(3).map(|of| types.join(of[0], of[2])).collect();
        all.extend(both);
        for slot in [Slot(2), Slot(3)] {
            // Which values get bits depends on who comes first.
            all.reverse();
            for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
                let (one, other, of) = (types.lane(slot, a), types.lane(slot, b), types.join(a, b));
                let joined = types.join_lanes(slot, one, other);
                assert_eq!((types.of_lane(slot, one), types.of_lane(slot, joined)), (a, of), "{:?} or {:?}", types.get(a), types.get(b));
                assert_eq!(joined, types.lane(slot, of), "{:?} or {:?}", types.get(a), types.get(b));
                assert!(hash_consing::is_same(&types.spelled(slot, one), types.get(a)));
            }
        }
    }
}
