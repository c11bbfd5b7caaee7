//! Guards over types: which part of a type is left when a guard came to true, or to false. Values are asked by the engine's own code.

use super::{Fields, GuardId, Kinds, SubPathId, Type, TypeId, TypeTable};
use crate::{
    path::Segment,
    program::{Guard, Truth},
    template::{Demand, KindSet},
    value::Value,
};

impl TypeTable {
    /// What is left of a value at a guard's own path where it came to `truth`. Where the guard could not be decided, the session is over
    /// (language 6.1): that part is left out.
    fn refine_here(&mut self, id: TypeId, guard: &Guard, truth: bool) -> TypeId {
        let mut of = self.get(id).clone();
        let wanted = Truth::from(truth);
        let open = of.dynamic;
        // What is open may be anything: as far as the guard is decided by something that is there, it is.
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

    /// What is left of a value when a question about what stands at `path` in it came to `truth`.
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
        // Of what stands in a list nothing is known, and nothing is kept.
        let Segment::Key(key) = first else { return id };
        let of = self.get(id).clone();
        let mut result = TypeId::NEVER;
        // Nothing stands below these.
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
                // It may be no mapping at all.
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

    /// Whether a mapping certainly holds something.
    fn has_something(&self, fields: &Fields) -> bool {
        fields.named.iter().any(|(_, of)| !self.get(*of).absent)
    }

    /// Whether a guard may find something that it cannot decide, of what is known: something absent is compared, a text is taken for a truth.
    pub(crate) fn may_fail(&self, id: TypeId, guard: &Guard) -> bool {
        let Guard::Truth(..) = guard else { return false };
        let of = self.get(id);
        of.kinds != Kinds::default()
            || of.fields.is_some()
            || of.items.is_some()
            || of.values.iter().any(|value| guard.over(Some(value)) == Truth::Either)
    }

    /// Whether a value is certainly what a template demands.
    pub(crate) fn meets(&self, id: TypeId, demand: Demand) -> bool {
        let of = self.get(id);
        let is_known = !of.unknown || (of.numeric && KindSet::NUMBER.are(demand));
        is_known && !of.dynamic && demand != KindSet::NONE && self.sorts(id).are(demand)
    }

    /// Whether something is known to be possible that is not what a template demands.
    pub(crate) fn may_fall_short(&self, id: TypeId, demand: Demand) -> bool {
        demand != KindSet::NONE && !self.sorts(id).are(demand)
    }

    /// The sorts of what is known of it.
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

    /// What is left where a value fits another type as well.
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

    /// Nothing where a name cannot be as both say.
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
