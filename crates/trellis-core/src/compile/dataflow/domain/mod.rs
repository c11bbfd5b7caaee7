//! What a value can be (language 8.2): absent, one of few values, of a kind, a mapping or list of such, or something of which nothing is known.
//!
//! Types are interned, so that comparing two costs nothing and meeting two is remembered.
//!
//! **Invariant:** a type never leaves out a value that is possible. What is known of a value and that nothing is known of it can both be possible;
//! only of the former is anything claimed.

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
    elements::having,
    operands::{ElementPathId, GuardId, SubPathId},
    packed::PackedType,
    schema_ids::SchemaId,
    schemas::plain,
};

use rustc_hash::FxHashMap;

use self::{join_cache::JoinCache, operands::OperandTable, packed::PackTable, schema_ids::SchemaTable};
use crate::{
    path::Segment,
    value::{Key, Value},
};

/// An interned type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeId(u32);

impl TypeId {
    /// Nothing is possible: no session comes here.
    pub(crate) const NEVER: Self = Self(0);
    /// Nothing is there.
    pub(crate) const ABSENT: Self = Self(1);
    /// Something is there, of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self(2);
    /// Something, of which nothing is known, or nothing.
    pub(crate) const UNKNOWN_OR_ABSENT: Self = Self(3);
    /// A text that is not empty.
    pub(crate) const TEXT: Self = Self(4);
    /// Not even whether something is there is known: what stands below a value of which nothing is known.
    pub(crate) const DYNAMIC: Self = Self(5);
}

/// Kinds of values that are not counted out. Truth values, null, the empty text and the empty list are values of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    /// A text that is not empty.
    pub(crate) const TEXT: Self = Self(1);
    /// An integer.
    pub(crate) const INT: Self = Self(2);
    /// A decimal that is no integer.
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

    /// The kind of a value that is not counted out.
    fn of(value: &Value) -> Self {
        match value {
            Value::Text(text) if !text.is_empty() => Self::TEXT,
            Value::Int(_) | Value::UInt(_) => Self::INT,
            Value::Float(number) if number.fract() == 0.0 => Self::INT,
            Value::Float(_) => Self::FLOAT,
            _ => Self::default(),
        }
    }

    /// Whether a value is among them.
    pub(crate) fn hold(self, value: &Value) -> bool {
        let kind = Self::of(value);
        kind != Self::default() && self.has(kind)
    }
}

/// What a value can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Type {
    /// Nothing may be there.
    pub(crate) absent: bool,
    /// Something may be there, of which nothing is known.
    pub(crate) unknown: bool,
    /// Whether that is a number: one that a host may give, of which nothing else is claimed.
    pub(crate) numeric: bool,
    /// Nothing is known, not even whether something is there.
    pub(crate) dynamic: bool,
    /// Any value of these kinds.
    pub(crate) kinds: Kinds,
    /// These values; scalars, or an empty list.
    pub(crate) values: Vec<Value>,
    /// A mapping.
    pub(crate) fields: Option<Fields>,
    /// A list of such items, not empty.
    pub(crate) items: Option<TypeId>,
}

impl Type {
    /// Whether a scalar is possible.
    pub(crate) fn admits(&self, value: &Value) -> bool {
        self.unknown || self.dynamic || self.kinds.hold(value) || self.values.contains(value)
    }
}

/// What a mapping holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fields {
    /// By name, sorted.
    pub(crate) named: Vec<(Key, TypeId)>,
    /// What stands under any other name.
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

/// More values of one kind than these are that kind.
const MAX_LITERALS_PER_KIND: usize = 32;

/// Levels of mappings and lists that are followed.
const MAX_TYPE_DEPTH: u8 = 8;

/// All types of one analysis.
#[derive(Debug, Default)]
pub(crate) struct TypeTable {
    types: Vec<Type>,
    depths: Vec<u8>,
    by_hash: FxHashMap<u64, Vec<TypeId>>,
    joined: JoinCache,
    lanes: PackTable,
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

    /// Interns a type; below the last level nothing is known.
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

    /// Whether nothing can be there.
    pub(crate) fn may_be_absent(&self, id: TypeId) -> bool {
        self.get(id).absent
    }

    /// The same where perhaps nothing is known at all.
    pub(crate) fn may_lack(&self, id: TypeId) -> bool {
        let of = self.get(id);
        of.absent || of.dynamic
    }

    /// Whether something can be there.
    pub(crate) fn may_be_there(&self, id: TypeId) -> bool {
        id != TypeId::ABSENT && id != TypeId::NEVER
    }

    /// Any value of these kinds.
    pub(crate) fn of_kinds(&mut self, kinds: &[Kinds]) -> TypeId {
        let kinds = kinds.iter().fold(Kinds::default(), |all, kind| all.with(*kind));
        self.intern(Type { kinds, ..Type::default() })
    }

    /// Exactly this value.
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

    /// A list of such items, which may be empty.
    pub(crate) fn list(&mut self, items: TypeId) -> TypeId {
        self.intern(Type { values: vec![Value::list([])], items: Some(items), ..Type::default() })
    }

    /// A mapping with these entries and no others.
    pub(crate) fn mapping(&mut self, entries: impl IntoIterator<Item = (Key, TypeId)>) -> TypeId {
        let mut fields = Fields { named: Vec::new(), others: TypeId::ABSENT };
        entries.into_iter().for_each(|(key, of)| fields.set(&key, of));
        self.intern(Type { fields: Some(fields), ..Type::default() })
    }

    /// A number that a host may give, or nothing.
    pub(crate) fn given_number(&mut self) -> TypeId {
        self.intern(Type { absent: true, unknown: true, numeric: true, ..Type::default() })
    }

    /// Any integer.
    pub(crate) fn integer(&mut self) -> TypeId {
        self.intern(Type { kinds: Kinds::INT, ..Type::default() })
    }

    /// Any text, the empty one too.
    pub(crate) fn text(&mut self) -> TypeId {
        self.intern(Type { kinds: Kinds::TEXT, values: vec![Value::text("")], ..Type::default() })
    }

    /// What is there of it, if something is.
    pub(crate) fn present(&mut self, id: TypeId) -> TypeId {
        let of = self.get(id);
        if !of.absent && !of.dynamic {
            return id;
        }
        let of =
            Type { absent: false, dynamic: false, unknown: of.unknown || of.dynamic, numeric: of.numeric && !of.dynamic, ..of.clone() };
        self.intern(of)
    }

    /// What is known of it alone.
    pub(crate) fn without_unknown(&mut self, id: TypeId) -> TypeId {
        let of = self.get(id);
        if !of.unknown && !of.dynamic {
            return id;
        }
        let of = Type { unknown: false, numeric: false, dynamic: false, ..of.clone() };
        self.intern(of)
    }

    /// Either of two.
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
        let fields = match (left.fields, right.fields) {
            (Some(left), Some(right)) => Some(self.join_fields(&left, &right)),
            (left, right) => left.or(right),
        };
        let items = match (left.items, right.items) {
            (Some(left), Some(right)) => Some(self.join(left, right)),
            (left, right) => left.or(right),
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

    /// What stands below a value. Of what stands in a list nothing is known (language 3.2).
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
        // Below what is no mapping there is nothing.
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
