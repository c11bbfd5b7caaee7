//! Refinement by guards (the *filter* of abstract interpretation), and the meet.
//!
//! `refine(t, guard, true)` is the part of `t` for which the guard holds, and with `false` the part for which it does not. Closed values
//! are decided by [`Guard::over`], the function that the engine evaluates guards with. A value for which the guard cannot be decided is in
//! neither part: the engine ends such a session (language 6.1).
//!
//! **Soundness.** Both results together include every value for which the guard is decided. An open kind cannot be split by a value, so a
//! failed comparison leaves it whole. The recursion follows the segments of a path, and `meet` the nesting of types, which is bounded.
//!
//! **Example.** `t = {"a", "b", integer}`: `== "a"` refines it to `{"a"}`, its failure to `{"b", integer}`.

use super::{Fields, GuardId, Kinds, SubPathId, Type, TypeId, TypeTable};
use trellis_base::{
    path::Segment,
    template::{Demand, KindSet},
    value::Value,
};
use trellis_engine::program::{Guard, Truth};

impl TypeTable {
    /// Refines the type of the guard's operand itself. Values for which the guard cannot be decided are dropped (language 6.1).
    fn refine_here(&mut self, id: TypeId, guard: &Guard, truth: bool) -> TypeId {
        let mut of = self.get(id).clone();
        let wanted = Truth::from(truth);
        let open = of.dynamic;
        // A dynamic value that decides the guard is present, unless the guard is about absence.
        of.unknown |= open;
        let mut left = Type { absent: of.absent && guard.over(None) == wanted, ..Type::default() };
        left.values = of.values.into_iter().filter(|value| guard.over(Some(value)) == wanted).collect();
        let literals: &[Value] = match guard {
            Guard::Is(_, _, value) => std::slice::from_ref(value),
            Guard::In(_, _, values) => values,
            _ => &[],
        };
        match guard {
            Guard::Is(_, yes, _) | Guard::In(_, yes, _) if *yes == truth => {
                let possible = |value: &&Value| of.unknown || of.kinds.hold(value);
                literals.iter().filter(possible).for_each(|value| super::hash_consing::add(&mut left.values, value.clone()));
            }
            Guard::Is(..) | Guard::In(..) => {
                (left.unknown, left.kinds, left.fields, left.items) = (of.unknown, of.kinds, of.fields, of.items);
                left.numeric = of.numeric && !open;
            }
            Guard::Truth(_, yes) => left.values.extend(of.unknown.then_some(Value::Bool(*yes == truth))),
            Guard::Set(_, yes) if *yes == truth => {
                (left.unknown, left.kinds, left.fields, left.items) = (of.unknown, of.kinds, of.fields, of.items);
                left.numeric = of.numeric && !open;
            }
            Guard::Set(..) => left.absent |= open,
            Guard::Empty(_, yes) if *yes == truth => {
                (left.unknown, left.dynamic) = (of.unknown && !open, open);
                left.fields = of.fields.filter(|fields| !self.has_something(fields));
            }
            Guard::Empty(..) => {
                (left.unknown, left.kinds, left.fields, left.items) = (of.unknown, of.kinds, of.fields, of.items);
                left.numeric = of.numeric && !open;
            }
            Guard::Always | Guard::Predicate(..) | Guard::Attempts(_) => return id,
        }
        left.values.sort_by_cached_key(Value::to_json);
        left.values.dedup();
        self.intern(left)
    }

    /// Refines the type of a key by a guard over the value at `path` below it, for the outcome `truth`. Memoized.
    pub(crate) fn refine(&mut self, id: TypeId, path: SubPathId, guard_id: GuardId, truth: bool) -> TypeId {
        let key = (id, path, guard_id, truth);
        if let Some(known) = self.narrowed.get(&key) {
            return *known;
        }
        let (segments, guard) = (self.questions.rest(path), self.questions.guard(guard_id));
        let left = self.refine_below(id, &segments, &guard, truth);
        self.narrowed.insert(key, left);
        left
    }

    fn refine_below(&mut self, id: TypeId, path: &[Segment], guard: &Guard, truth: bool) -> TypeId {
        let Some((first, rest)) = path.split_first() else { return self.refine_here(id, guard, truth) };
        // Items are not followed by index, so nothing is refined.
        let Segment::Key(key) = first else { return id };
        let of = self.get(id).clone();
        let mut result = TypeId::NEVER;
        // Everything but a mapping: its fields are absent.
        let mut bare = Type { absent: of.absent, kinds: of.kinds, values: of.values, items: of.items, ..Type::default() };
        if guard.over(None) == Truth::from(truth) {
            result = self.intern(std::mem::take(&mut bare));
        }
        if let Some(mut fields) = of.fields {
            let known = fields.get(key);
            let inner = self.refine_below(known, rest, guard, truth);
            if inner != TypeId::NEVER {
                if inner != known {
                    fields.set(key, inner);
                }
                let narrowed = self.intern(Type { fields: Some(fields), ..Type::default() });
                result = self.join(result, narrowed);
            }
        }
        if of.unknown || of.dynamic {
            let inner = self.refine_below(TypeId::DYNAMIC, rest, guard, truth);
            let narrowed = if self.get(inner).absent || self.get(inner).dynamic {
                // An unknown value that need not be a mapping.
                if of.dynamic { TypeId::DYNAMIC } else { TypeId::UNKNOWN }
            } else if inner == TypeId::NEVER {
                TypeId::NEVER
            } else {
                self.intern(Type { fields: Some(Fields { named: vec![(key.clone(), inner)], others: TypeId::DYNAMIC }), ..Type::default() })
            };
            result = self.join(result, narrowed);
        }
        result
    }

    /// Returns true if a mapping certainly has a field.
    fn has_something(&self, fields: &Fields) -> bool {
        fields.named.iter().any(|(_, of)| !self.get(*of).absent)
    }

    /// Returns true if the claimed part includes a present value for which a guard that takes it for a truth value cannot be decided.
    pub(crate) fn may_fail(&self, id: TypeId, guard: &Guard) -> bool {
        let Guard::Truth(..) = guard else { return false };
        let of = self.get(id);
        of.kinds != Kinds::default()
            || of.fields.is_some()
            || of.items.is_some()
            || of.values.iter().any(|value| guard.over(Some(value)) == Truth::Either)
    }

    /// Returns true if every value of the type has the demanded kind; false if a part is unknown.
    pub(crate) fn meets(&self, id: TypeId, demand: Demand) -> bool {
        let of = self.get(id);
        let is_known = !of.unknown || (of.numeric && KindSet::NUMBER.are(demand));
        is_known && !of.dynamic && demand != KindSet::NONE && self.sorts(id).are(demand)
    }

    /// Returns true if the claimed part includes a value of another kind than the demanded one.
    pub(crate) fn may_fall_short(&self, id: TypeId, demand: Demand) -> bool {
        demand != KindSet::NONE && !self.sorts(id).are(demand)
    }

    /// Returns the kinds of the claimed part.
    pub(crate) fn sorts(&self, id: TypeId) -> KindSet {
        let of = self.get(id);
        let numbers = of.kinds.has(Kinds::INT) || of.kinds.has(Kinds::FLOAT);
        let parts = [
            (of.kinds.has(Kinds::TEXT), KindSet::TEXT),
            (numbers, KindSet::NUMBER),
            (of.fields.is_some(), KindSet::MAPPING),
            (of.items.is_some(), KindSet::LIST),
        ];
        let parts = parts.into_iter().filter(|(is, _)| *is).map(|(_, sort)| sort);
        let values = of.values.iter().map(|value| KindSet::of_value(Some(value)));
        parts.chain(values).fold(KindSet::NONE, KindSet::or)
    }

    /// Meets two types: the values of both. An unknown part meets to the other side.
    pub(crate) fn meet(&mut self, a: TypeId, b: TypeId) -> TypeId {
        if a == b || b == TypeId::UNKNOWN && !self.get(a).absent {
            return a;
        }
        if let Some(known) = self.met.get(&(a, b)) {
            return *known;
        }
        let met = self.meet_types(a, b);
        self.met.insert((a, b), met);
        met
    }

    fn meet_types(&mut self, a: TypeId, b: TypeId) -> TypeId {
        let (mut left, mut right) = (self.get(a).clone(), self.get(b).clone());
        let absent = (left.absent || left.dynamic) && (right.absent || right.dynamic);
        left.unknown |= left.dynamic;
        right.unknown |= right.dynamic;
        let may_be = |of: &Type, value: &Value| of.unknown || of.kinds.hold(value) || of.values.contains(value);
        let mut values: Vec<Value> = left.values.iter().filter(|value| may_be(&right, value)).cloned().collect();
        right.values.iter().filter(|value| may_be(&left, value)).for_each(|value| super::hash_consing::add(&mut values, value.clone()));
        let kinds = match (left.unknown, right.unknown) {
            (true, _) => right.kinds,
            (false, true) => left.kinds,
            (false, false) => left.kinds.and(right.kinds),
        };
        let fields = match (left.fields, right.fields) {
            (Some(left), Some(right)) => self.meet_fields(&left, &right),
            (Some(fields), None) if right.unknown => Some(fields),
            (None, Some(fields)) if left.unknown => Some(fields),
            _ => None,
        };
        let items = match (left.items, right.items) {
            (Some(left), Some(right)) => Some(self.meet(left, right)),
            (Some(items), None) if right.unknown => Some(items),
            (None, Some(items)) if left.unknown => Some(items),
            _ => None,
        };
        values.retain(|value| !kinds.hold(value));
        values.sort_by_cached_key(Value::to_json);
        let open = left.dynamic && right.dynamic;
        let any = left.unknown && right.unknown && !open;
        let numeric = any && (left.numeric || right.numeric);
        self.intern(Type { absent: absent && !open, unknown: any, numeric, dynamic: open, kinds, values, fields, items })
    }

    /// Meets the fields of two mappings. `None` if some field meets to bottom.
    fn meet_fields(&mut self, left: &Fields, right: &Fields) -> Option<Fields> {
        let names = left.named.iter().chain(&right.named).map(|(key, _)| key.clone());
        let mut fields = Fields { named: Vec::new(), others: self.meet(left.others, right.others) };
        for key in names.collect::<std::collections::BTreeSet<_>>() {
            let of = self.meet(left.get(&key), right.get(&key));
            if of == TypeId::NEVER {
                return None;
            }
            fields.named.push((key, of));
        }
        Some(fields)
    }
}
