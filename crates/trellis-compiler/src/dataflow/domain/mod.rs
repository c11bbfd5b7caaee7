//! The abstract domain: types of values (language 8.2), hash-consed, with memoized operations.
//!
//! **Lattice.** A [`Type`] is a union of parts: absent, closed values, open kinds, one mapping, one list, and the gradual parts `unknown`
//! and `dynamic`. The order is inclusion, part by part; [`TypeId::NEVER`] is bottom, `join` unites, `meet` (`refine.rs`) intersects.
//! Nothing is claimed of a gradual part: alarms come from the others, and a use of it is an *unchecked read*. **Termination.** Chains are
//! finite: constants come from the program, more than [`MAX_LITERALS_PER_KIND`] values of one kind widen to it, fields are named in the
//! program, types nested deeper than [`MAX_TYPE_DEPTH`] are unknown. **Soundness.** No operation drops a value that a session can continue
//! with. **Example.** `"a" ⊔ absent` is `{absent, "a"}`; `is set` refines it to `{"a"}`, which has no field `x`.

mod arithmetic;
mod assign;
mod display;
mod elements;
pub(super) mod external;
mod hash_consing;
mod join_cache;
#[cfg(test)]
mod laws;
mod operands;
mod packed;
mod refine;
mod schema_ids;
mod schemas;
mod violates;

pub(crate) use self::{
    display::{Misfit, item_of, key_of},
    elements::having,
    operands::{ElementPathId, GuardId, SubPathId},
    packed::PackedType,
    schema_ids::SchemaId,
    schemas::plain,
};

use rustc_hash::FxHashMap;

use self::{join_cache::JoinCache, operands::OperandTable, packed::PackTable, schema_ids::SchemaTable};
use trellis_base::{
    path::Segment,
    value::{Key, Value},
};

/// Index of a type in [`TypeTable`]; equal types have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeId(u32);

impl TypeId {
    /// Bottom: no value, and no absence. A session that would need one does not exist.
    pub(crate) const NEVER: Self = Self(0);
    /// Absent.
    pub(crate) const ABSENT: Self = Self(1);
    /// Present, of an unknown value.
    pub(crate) const UNKNOWN: Self = Self(2);
    /// Absent, or present of an unknown value; that it can be absent is claimed.
    pub(crate) const UNKNOWN_OR_ABSENT: Self = Self(3);
    /// Text that is not empty.
    pub(crate) const TEXT: Self = Self(4);
    /// Not even presence is claimed: the type of everything below an unknown value.
    pub(crate) const DYNAMIC: Self = Self(5);
}

/// Set of open kinds. Truth values, null, the empty text and the empty list are always listed as closed values instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    /// Text that is not empty.
    pub(crate) const TEXT: Self = Self(1);
    pub(crate) const INT: Self = Self(2);
    pub(crate) const FLOAT: Self = Self(4);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the open kind of a value; the empty set if it has none.
    fn of(value: &Value) -> Self {
        match value {
            Value::Text(text) if !text.is_empty() => Self::TEXT,
            Value::Int(_) | Value::UInt(_) => Self::INT,
            Value::Float(number) if number.fract() == 0.0 => Self::INT,
            Value::Float(_) => Self::FLOAT,
            _ => Self::default(),
        }
    }

    /// Returns true if a value is of one of these kinds.
    pub(crate) fn hold(self, value: &Value) -> bool {
        let kind = Self::of(value);
        kind != Self::default() && self.has(kind)
    }
}

/// Union of everything that a value can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Type {
    /// True if the value can be absent.
    pub(crate) absent: bool,
    /// True if the value can be present and unknown.
    pub(crate) unknown: bool,
    /// True if the unknown value is a number: one that a host may give, of which no more is claimed.
    pub(crate) numeric: bool,
    /// True if not even presence is claimed.
    pub(crate) dynamic: bool,
    /// Open kinds: any value of them.
    pub(crate) kinds: Kinds,
    /// Closed values: scalars, or the empty list; sorted by their JSON.
    pub(crate) values: Vec<Value>,
    pub(crate) fields: Option<Fields>,
    /// List of such items that is not empty.
    pub(crate) items: Option<TypeId>,
}

impl Type {
    /// Returns true if a scalar is possible.
    pub(crate) fn admits(&self, value: &Value) -> bool {
        self.unknown || self.dynamic || self.kinds.hold(value) || self.values.contains(value)
    }
}

/// Types of the fields of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fields {
    /// Types by name, sorted.
    pub(crate) named: Vec<(Key, TypeId)>,
    /// Type of the field under any other name.
    pub(crate) others: TypeId,
}

impl Fields {
    pub(crate) fn get(&self, key: &str) -> TypeId {
        self.named.binary_search_by(|(known, _)| (**known).cmp(key)).map_or(self.others, |at| self.named[at].1)
    }

    pub(crate) fn set(&mut self, key: &Key, of: TypeId) {
        match self.named.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => self.named[at].1 = of,
            Err(at) => self.named.insert(at, (key.clone(), of)),
        }
    }
}

/// Widening threshold: a join of more closed values of one kind is that kind.
const MAX_LITERALS_PER_KIND: usize = 32;

/// Greatest nesting depth of a type; deeper ones are unknown.
const MAX_TYPE_DEPTH: u8 = 8;

/// Interned types of one analysis, with the memo tables of their operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeTable {
    types: Vec<Type>,
    depths: Vec<u8>,
    by_hash: FxHashMap<u64, Vec<TypeId>>,
    joined: JoinCache,
    packs: PackTable,
    questions: OperandTable,
    below: FxHashMap<(TypeId, SubPathId), TypeId>,
    narrowed: FxHashMap<(TypeId, SubPathId, GuardId, bool), TypeId>,
    written: FxHashMap<(TypeId, SubPathId, TypeId), TypeId>,
    met: FxHashMap<(TypeId, TypeId), TypeId>,
    contracts: SchemaTable,
}

impl TypeTable {
    pub(crate) fn new() -> Self {
        let mut types = Self::default();
        types.intern(Type::default());
        types.intern(Type { absent: true, ..Type::default() });
        types.intern(Type { unknown: true, ..Type::default() });
        types.intern(Type { absent: true, unknown: true, ..Type::default() });
        types.intern(Type { kinds: Kinds::TEXT, ..Type::default() });
        types.intern(Type { dynamic: true, ..Type::default() });
        types
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// Interns a type. One that is nested deeper than [`MAX_TYPE_DEPTH`] becomes unknown.
    pub(crate) fn intern(&mut self, of: Type) -> TypeId {
        let inner = of.fields.iter().flat_map(|fields| fields.named.iter().map(|(_, id)| *id).chain([fields.others])).chain(of.items);
        let depth = inner.map(|id| self.depths[id.0 as usize] + 1).max().unwrap_or(0);
        if depth > MAX_TYPE_DEPTH {
            return if of.absent { TypeId::UNKNOWN_OR_ABSENT } else { TypeId::UNKNOWN };
        }
        let hash = hash_consing::of_type(&of);
        let alike = self.by_hash.get(&hash).into_iter().flatten().copied();
        if let Some(known) = alike.into_iter().find(|known| hash_consing::is_same(self.get(*known), &of)) {
            return known;
        }
        let id = TypeId(super::index::to_u32(self.types.len()));
        self.types.push(of);
        self.depths.push(depth);
        self.by_hash.entry(hash).or_default().push(id);
        id
    }

    /// Returns true if the type includes absence. False for [`TypeId::DYNAMIC`]; see [`TypeTable::may_lack`].
    pub(crate) fn may_be_absent(&self, id: TypeId) -> bool {
        self.get(id).absent
    }

    /// Returns true if the type includes absence or is dynamic.
    pub(crate) fn may_lack(&self, id: TypeId) -> bool {
        let of = self.get(id);
        of.absent || of.dynamic
    }

    /// Returns true if the value can be present.
    pub(crate) fn may_be_there(&self, id: TypeId) -> bool {
        id != TypeId::ABSENT && id != TypeId::NEVER
    }

    /// Returns the type of all values of these kinds.
    pub(crate) fn of_kinds(&mut self, kinds: &[Kinds]) -> TypeId {
        let kinds = kinds.iter().fold(Kinds::default(), |all, kind| all.with(*kind));
        self.intern(Type { kinds, ..Type::default() })
    }

    /// Returns the type of one value; the items of a list are joined.
    pub(crate) fn of_value(&mut self, value: &Value) -> TypeId {
        let mut of = Type::default();
        match value {
            Value::Map(entries) => {
                let named = entries.iter().map(|(key, value)| (key.clone(), self.of_value(value))).collect();
                of.fields = Some(Fields { named, others: TypeId::ABSENT });
            }
            Value::List(items) if !items.is_empty() => {
                let items = items.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.of_value(item);
                    self.join(known, item)
                });
                of.items = Some(items);
            }
            value => of.values.push(value.clone()),
        }
        self.intern(of)
    }

    /// Returns the type of lists of such items, the empty one included.
    pub(crate) fn list(&mut self, items: TypeId) -> TypeId {
        self.intern(Type { values: vec![Value::list([])], items: Some(items), ..Type::default() })
    }

    /// Returns the type of mappings with exactly these entries.
    pub(crate) fn mapping(&mut self, entries: impl IntoIterator<Item = (Key, TypeId)>) -> TypeId {
        let mut fields = Fields { named: Vec::new(), others: TypeId::ABSENT };
        entries.into_iter().for_each(|(key, of)| fields.set(&key, of));
        self.intern(Type { fields: Some(fields), ..Type::default() })
    }

    /// Returns the type of an unknown number that may be absent.
    pub(crate) fn given_number(&mut self) -> TypeId {
        self.intern(Type { absent: true, unknown: true, numeric: true, ..Type::default() })
    }

    /// Any integer.
    pub(crate) fn integer(&mut self) -> TypeId {
        self.intern(Type { kinds: Kinds::INT, ..Type::default() })
    }

    /// Returns the type of all texts, the empty one included.
    pub(crate) fn text(&mut self) -> TypeId {
        self.intern(Type { kinds: Kinds::TEXT, values: vec![Value::text("")], ..Type::default() })
    }

    /// Removes absence: the type of the value where it is present.
    pub(crate) fn present(&mut self, id: TypeId) -> TypeId {
        let of = self.get(id);
        if !of.absent && !of.dynamic {
            return id;
        }
        let of =
            Type { absent: false, dynamic: false, unknown: of.unknown || of.dynamic, numeric: of.numeric && !of.dynamic, ..of.clone() };
        self.intern(of)
    }

    /// Removes the gradual parts: the type of the claimed values.
    pub(crate) fn without_unknown(&mut self, id: TypeId) -> TypeId {
        let of = self.get(id);
        if !of.unknown && !of.dynamic {
            return id;
        }
        let of = Type { unknown: false, numeric: false, dynamic: false, ..of.clone() };
        self.intern(of)
    }

    /// Joins two types.
    #[inline]
    pub(crate) fn join(&mut self, a: TypeId, b: TypeId) -> TypeId {
        if a == b || b == TypeId::NEVER {
            return a;
        }
        if a == TypeId::NEVER {
            return b;
        }
        let pair = (a.min(b), a.max(b));
        self.joined.last(pair).unwrap_or_else(|| self.join_pair(pair))
    }

    fn join_pair(&mut self, pair: (TypeId, TypeId)) -> TypeId {
        if let Some(known) = self.joined.get(pair) {
            return known;
        }
        let (left, right) = (self.get(pair.0).clone(), self.get(pair.1).clone());
        // Structure bounds mappings and lists also beside an unknown value; an unknown number is neither.
        let [left_open, right_open] = [&left, &right].map(|of| of.dynamic || of.unknown && !of.numeric);
        let fields = match (left.fields, right.fields) {
            (Some(left), Some(right)) => Some(self.join_fields(&left, &right)),
            (left, right) => left.filter(|_| !right_open).or(right.filter(|_| !left_open)),
        };
        let items = match (left.items, right.items) {
            (Some(left), Some(right)) => Some(self.join(left, right)),
            (left, right) => left.filter(|_| !right_open).or(right.filter(|_| !left_open)),
        };
        let mut kinds = left.kinds.with(right.kinds);
        let mut values = left.values;
        right.values.into_iter().for_each(|value| hash_consing::add(&mut values, value));
        values.retain(|value| !kinds.hold(value));
        let are_many = |count: usize| count > MAX_LITERALS_PER_KIND;
        for kind in [Kinds::TEXT, Kinds::INT, Kinds::FLOAT] {
            if are_many(values.len()) && are_many(values.iter().filter(|value| Kinds::of(value) == kind).count()) {
                kinds = kinds.with(kind);
            }
        }
        values.retain(|value| !kinds.hold(value));
        values.sort_by_cached_key(Value::to_json);
        let id = self.intern(Type {
            absent: left.absent || right.absent,
            unknown: left.unknown || right.unknown,
            numeric: (left.unknown || right.unknown) && left.numeric == left.unknown && right.numeric == right.unknown,
            dynamic: left.dynamic || right.dynamic,
            kinds,
            values,
            fields,
            items,
        });
        self.joined.insert(pair, id);
        id
    }

    fn join_fields(&mut self, left: &Fields, right: &Fields) -> Fields {
        let names = left.named.iter().chain(&right.named).map(|(key, _)| key.clone());
        let mut fields = Fields { named: Vec::new(), others: self.join(left.others, right.others) };
        for key in names.collect::<std::collections::BTreeSet<_>>() {
            let of = self.join(left.get(&key), right.get(&key));
            fields.named.push((key, of));
        }
        fields
    }

    /// Returns the type at `path` below a value. Below an index everything is dynamic (language 3.2).
    pub(crate) fn select(&mut self, id: TypeId, path: SubPathId) -> TypeId {
        match id {
            _ if path == SubPathId::NONE => return id,
            TypeId::NEVER | TypeId::ABSENT | TypeId::DYNAMIC => return id,
            TypeId::UNKNOWN => return TypeId::DYNAMIC,
            _ => {}
        }
        if let Some(known) = self.below.get(&(id, path)) {
            return *known;
        }
        let below = self.select_from(id, &self.questions.rest(path));
        self.below.insert((id, path), below);
        below
    }

    fn select_from(&mut self, id: TypeId, path: &[Segment]) -> TypeId {
        let Some((first, rest)) = path.split_first() else { return id };
        let of = self.get(id);
        let Segment::Key(key) = first else {
            return match (of.absent, id == TypeId::ABSENT) {
                (true, true) => id,
                (true, false) => self.join(TypeId::DYNAMIC, TypeId::ABSENT),
                (false, _) => TypeId::DYNAMIC,
            };
        };
        // Only mappings have fields: below anything else, fields are absent.
        let is_bare = of.absent || of.kinds != Kinds::default() || !of.values.is_empty() || of.items.is_some();
        let mut below = if is_bare { TypeId::ABSENT } else { TypeId::NEVER };
        let (any, field) = (of.unknown || of.dynamic, of.fields.as_ref().map(|fields| fields.get(key)));
        if let Some(field) = field {
            let field = self.select_from(field, rest);
            below = self.join(below, field);
        }
        if any {
            below = self.join(below, TypeId::DYNAMIC);
        }
        below
    }
}
