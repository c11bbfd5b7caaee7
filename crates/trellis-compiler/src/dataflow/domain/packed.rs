//! Types packed into one 32-bit word, so that environments are joined by `or`.
//!
//! **Representation.** Most keys have simple types: absent, unknown, a few constants, open kinds. Such a type is a set of bits, and the
//! join of two is their union. The palette of a key assigns its bits to the first constants that are met there. Any other type is its
//! [`TypeId`] with the top bit set.
//!
//! **Soundness.** Packing is a bijection at each key, and `or` is the join of two packed types that both are bits; the test below compares
//! it with [`TypeTable::join`].
//!
//! **Invariant:** at one key, two words are equal if and only if their types are. The bits of a kind include those of all its values.
//!
//! **Example.** At a key whose palette is `["red", "blue"]`, `{absent, "blue"}` is bit 0 and bit 12.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{Kinds, Type, TypeId, TypeTable, hash_consing};
use crate::dataflow::slot::Slot;
use trellis_base::value::Value;

/// Type packed for one key. The same word means another type at another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PackedType(u32);

/// First bit of the kinds, of the scalars of no kind, and of a key's own values.
const FIRST_KIND_BIT: u32 = 3;
const FIRST_SCALAR_BIT: u32 = 6;
const FIRST_VALUE_BIT: u32 = 11;

/// Bits of a key's own values.
const ALL_VALUES: u32 = PackedType::NUMBER - (1 << FIRST_VALUE_BIT);

impl PackedType {
    /// Bottom.
    pub(crate) const NEVER: Self = Self(0);
    /// Absent.
    pub(crate) const ABSENT: Self = Self(1);
    /// Dynamic.
    pub(crate) const DYNAMIC: Self = Self(4);
    /// Tag bit: the other bits are a [`TypeId`].
    const NUMBER: u32 = 1 << 31;

    /// Returns true if the value can be present.
    pub(crate) fn may_be_there(self) -> bool {
        self.0 > Self::ABSENT.0
    }

    /// Returns the union of the bits: the join, unless one of them is a number.
    #[inline]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if `other` is included. May return false for included types that are numbers.
    #[inline]
    pub(crate) fn holds(self, other: Self) -> bool {
        self == other || (self.or(other) == self && !self.is_number())
    }

    /// Returns true if it is a [`TypeId`].
    #[inline]
    pub(crate) fn is_number(self) -> bool {
        self.0 >= Self::NUMBER
    }

    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }
}

/// Constants that have bits at one key: texts or integers, whichever kind was met first.
#[derive(Clone, Debug, Default)]
struct ValuePalette {
    kind: Kinds,
    values: Vec<Value>,
}

impl ValuePalette {
    /// Packs a type into bits; a constant without a bit gets the next free one. `None` if the type has parts, or constants, that bits
    /// cannot express.
    fn pack(&mut self, of: &Type) -> Option<PackedType> {
        if of.fields.is_some() || of.items.is_some() || of.numeric {
            return None;
        }
        let [absent, any, open] = [of.absent, of.unknown, of.dynamic].map(u32::from);
        let mut bits = absent | any << 1 | open << 2 | u32::from(of.kinds.0) << FIRST_KIND_BIT;
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
        // A type that does not unpack to itself would have two words.
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
                u32::try_from(known.or_else(next)?).ok()? + FIRST_VALUE_BIT
            }
            Value::Null => FIRST_SCALAR_BIT,
            Value::Bool(truth) => FIRST_SCALAR_BIT + 1 + u32::from(*truth),
            Value::Text(text) if text.is_empty() => FIRST_SCALAR_BIT + 3,
            Value::List(items) if items.is_empty() => FIRST_SCALAR_BIT + 4,
            _ => return None,
        })
    }

    /// Unpacks bits.
    fn spelled(&self, packed: PackedType) -> Type {
        let kinds = [Kinds::TEXT, Kinds::INT, Kinds::FLOAT].into_iter();
        let kinds = kinds.filter(|kind| packed.0 >> FIRST_KIND_BIT & u32::from(kind.0) != 0).fold(Kinds::default(), Kinds::with);
        let scalars = [|| Value::Null, || false.into(), || true.into(), || Value::text(""), || Value::list([])];
        let scalars = (FIRST_SCALAR_BIT..).zip(scalars).filter(|(bit, _)| packed.has(*bit)).map(|(_, value): (_, fn() -> Value)| value());
        let named = (FIRST_VALUE_BIT..)
            .zip(&self.values)
            .filter(|(bit, value)| packed.has(*bit) && !kinds.hold(value))
            .map(|(_, value)| value.clone());
        let mut values: Vec<Value> = scalars.chain(named).collect();
        values.sort_by_cached_key(Value::to_json);
        Type { absent: packed.has(0), unknown: packed.has(1), dynamic: packed.has(2), kinds, values, ..Type::default() }
    }
}

/// Palettes of all keys, with memo tables in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackTable {
    palettes: Vec<ValuePalette>,
    /// Packed types by slot and type, and types by slot and word.
    by_type: FxHashMap<u64, PackedType>,
    types: FxHashMap<u64, TypeId>,
    /// Last result of unpacking: the same word is often unpacked several times in a row.
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
    /// Packs a type for a key.
    pub(crate) fn pack(&mut self, slot: Slot, id: TypeId) -> PackedType {
        if let Some(known) = self.packs.by_type.get(&key(slot, id.0)) {
            return *known;
        }
        let of = &self.types[id.0 as usize];
        let packed = self.packs.palette(slot).pack(of).unwrap_or(PackedType(id.0 | PackedType::NUMBER));
        self.packs.by_type.insert(key(slot, id.0), packed);
        packed
    }

    /// Unpacks a word of a key.
    pub(crate) fn unpack(&mut self, slot: Slot, packed: PackedType) -> TypeId {
        if packed.is_number() {
            return TypeId(packed.0 & !PackedType::NUMBER);
        }
        let key = key(slot, packed.0);
        if let Some((last, id)) = self.packs.last
            && last == key
        {
            return id;
        }
        let id = self.packs.types.get(&key).copied().unwrap_or_else(|| {
            let of = self.packs.palette(slot).spelled(packed);
            let id = self.intern(of);
            self.packs.types.insert(key, id);
            id
        });
        self.packs.last = Some((key, id));
        id
    }

    /// Unpacks a word of a key without interning; see [`TypeTable::unpack`] for its id.
    pub(crate) fn spelled(&self, slot: Slot, packed: PackedType) -> Cow<'_, Type> {
        if packed.is_number() {
            return Cow::Borrowed(self.get(TypeId(packed.0 & !PackedType::NUMBER)));
        }
        let bare = ValuePalette::default();
        Cow::Owned(self.packs.palettes.get(slot.0 as usize).unwrap_or(&bare).spelled(packed))
    }

    /// Returns true if the packed type includes absence or is dynamic.
    pub(crate) fn may_lack_packed(&self, packed: PackedType) -> bool {
        if packed.is_number() {
            self.may_lack(TypeId(packed.0 & !PackedType::NUMBER))
        } else {
            packed.0 & (PackedType::ABSENT.0 | PackedType::DYNAMIC.0) != 0
        }
    }

    /// Joins two packed types of a key.
    #[inline]
    pub(crate) fn join_lanes(&mut self, slot: Slot, a: PackedType, b: PackedType) -> PackedType {
        if a == b || !a.or(b).is_number() {
            return a.or(b);
        }
        let (one, other) = (self.unpack(slot, a), self.unpack(slot, b));
        let joined = self.join(one, other);
        self.pack(slot, joined)
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
        // Numbers in another notation, and more values of one kind than there are bits.
        let others = [Value::Float(1.0), Value::Float(0.5), Value::Int(-2)];
        let many = (0..70).map(|at| if at % 2 == 0 { Value::text(format!("text {at}")) } else { Value::Int(at) });
        all.extend(few.into_iter().chain(others).chain(many).map(|value| types.of_value(&value)).collect::<Vec<_>>());
        let both: Vec<TypeId> = all.windows(3).map(|of| types.join(of[0], of[2])).collect();
        all.extend(both);
        for slot in [Slot(2), Slot(3)] {
            // The order of the first calls decides which values get bits.
            all.reverse();
            for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
                let (one, other, of) = (types.pack(slot, a), types.pack(slot, b), types.join(a, b));
                let joined = types.join_lanes(slot, one, other);
                assert_eq!((types.unpack(slot, one), types.unpack(slot, joined)), (a, of), "{:?} or {:?}", types.get(a), types.get(b));
                assert_eq!(joined, types.pack(slot, of), "{:?} or {:?}", types.get(a), types.get(b));
                assert!(hash_consing::is_same(&types.spelled(slot, one), types.get(a)));
            }
        }
    }
}
