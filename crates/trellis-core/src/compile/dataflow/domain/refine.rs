//! Guards over types: which part of a type is left when a guard came to true, or to false. Values are asked by the engine's own code.

use super::{Fields, Kinds, Question, Rest, Type, TypeId, Types};
use crate::{
    path::Segment,
    program::{Guard, Truth},
    template::{Demand, Sorts},
    value::Value,
};

impl Types {
    /// What is left of a value at a guard's own path where it came to `truth`. Where the guard could not be decided, the session is over
    /// (language 6.1): that part is left out.
    fn narrow_here(&mut self, id: TypeId, guard: &Guard, truth: bool) -> TypeId {
        let mut of = self.get(id).clone();
        let wanted = Truth::from(truth);
        let open = of.open;
        // What is open may be anything: as far as the guard is decided by something that is there, it is.
        of.any |= open;
        let mut left = Type { absent: of.absent && guard.over(None) == wanted, ..Type::default() };
        left.values = of.values.into_iter().filter(|value| guard.over(Some(value)) == wanted).collect();
        let literals: &[Value] = match guard {
            Guard::Is(_, _, value) => std::slice::from_ref(value),
            Guard::In(_, _, values) => values,
            _ => &[],
        };
        match guard {
            Guard::Is(_, yes, _) | Guard::In(_, yes, _) if *yes == truth => {
                let possible = |value: &&Value| of.any || of.kinds.hold(value);
                literals.iter().filter(possible).for_each(|value| super::hash_consing::add(&mut left.values, value.clone()));
            }
            Guard::Is(..) | Guard::In(..) => {
                (left.any, left.kinds, left.fields, left.items) = (of.any, of.kinds, of.fields, of.items);
                left.numeric = of.numeric && !open;
            }
            Guard::Truth(_, yes) => left.values.extend(of.any.then_some(Value::Bool(*yes == truth))),
            Guard::Set(_, yes) if *yes == truth => {
                (left.any, left.kinds, left.fields, left.items) = (of.any, of.kinds, of.fields, of.items);
                left.numeric = of.numeric && !open;
            }
            Guard::Set(..) => left.absent |= open,
            Guard::Empty(_, yes) if *yes == truth => {
                (left.any, left.open) = (of.any && !open, open);
                left.fields = of.fields.filter(|fields| !self.has_something(fields));
            }
            Guard::Empty(..) => {
                (left.any, left.kinds, left.fields, left.items) = (of.any, of.kinds, of.fields, of.items);
                left.numeric = of.numeric && !open;
            }
            Guard::Always | Guard::Predicate(..) | Guard::Attempts(_) => return id,
        }
        left.values.sort_by_cached_key(Value::to_json);
        left.values.dedup();
        self.put(left)
    }

    /// What is left of a value when a question about what stands at `path` in it came to `truth`.
    pub(crate) fn narrowed(&mut self, id: TypeId, path: Rest, question: Question, truth: bool) -> TypeId {
        let key = (id, path, question, truth);
        if let Some(known) = self.narrowed.get(&key) {
            return *known;
        }
        let (segments, guard) = (self.questions.rest(path), self.questions.guard(question));
        let left = self.narrow(id, &segments, &guard, truth);
        self.narrowed.insert(key, left);
        left
    }

    fn narrow(&mut self, id: TypeId, path: &[Segment], guard: &Guard, truth: bool) -> TypeId {
        let Some((first, rest)) = path.split_first() else { return self.narrow_here(id, guard, truth) };
        // Of what stands in a list nothing is known, and nothing is kept.
        let Segment::Key(key) = first else { return id };
        let of = self.get(id).clone();
        let mut result = TypeId::NEVER;
        // Nothing stands below these.
        let mut bare = Type { absent: of.absent, kinds: of.kinds, values: of.values, items: of.items, ..Type::default() };
        if guard.over(None) == Truth::from(truth) {
            result = self.put(std::mem::take(&mut bare));
        }
        if let Some(mut fields) = of.fields {
            let known = fields.get(key);
            let inner = self.narrow(known, rest, guard, truth);
            if inner != TypeId::NEVER {
                if inner != known {
                    fields.set(key, inner);
                }
                let narrowed = self.put(Type { fields: Some(fields), ..Type::default() });
                result = self.join(result, narrowed);
            }
        }
        if of.any || of.open {
            let inner = self.narrow(TypeId::OPEN, rest, guard, truth);
            let narrowed = if self.get(inner).absent || self.get(inner).open {
                // It may be no mapping at all.
                if of.open { TypeId::OPEN } else { TypeId::ANY }
            } else if inner == TypeId::NEVER {
                TypeId::NEVER
            } else {
                self.put(Type { fields: Some(Fields { named: vec![(key.clone(), inner)], others: TypeId::OPEN }), ..Type::default() })
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
        let is_known = !of.any || (of.numeric && Sorts::NUMBER.are(demand));
        is_known && !of.open && demand != Sorts::NONE && self.sorts(id).are(demand)
    }

    /// Whether something is known to be possible that is not what a template demands.
    pub(crate) fn may_fall_short(&self, id: TypeId, demand: Demand) -> bool {
        demand != Sorts::NONE && !self.sorts(id).are(demand)
    }

    /// The sorts of what is known of it.
    pub(crate) fn sorts(&self, id: TypeId) -> Sorts {
        let of = self.get(id);
        let numbers = of.kinds.has(Kinds::INT) || of.kinds.has(Kinds::FLOAT);
        let parts = [
            (of.kinds.has(Kinds::TEXT), Sorts::TEXT),
            (numbers, Sorts::NUMBER),
            (of.fields.is_some(), Sorts::MAPPING),
            (of.items.is_some(), Sorts::LIST),
        ];
        let parts = parts.into_iter().filter(|(is, _)| *is).map(|(_, sort)| sort);
        let values = of.values.iter().map(|value| Sorts::of_value(Some(value)));
        parts.chain(values).fold(Sorts::NONE, Sorts::or)
    }

    /// What is left where a value fits another type as well.
    pub(crate) fn met(&mut self, a: TypeId, b: TypeId) -> TypeId {
        if a == b || b == TypeId::ANY && !self.get(a).absent {
            return a;
        }
        if let Some(known) = self.met.get(&(a, b)) {
            return *known;
        }
        let met = self.meet(a, b);
        self.met.insert((a, b), met);
        met
    }

    fn meet(&mut self, a: TypeId, b: TypeId) -> TypeId {
        let (mut left, mut right) = (self.get(a).clone(), self.get(b).clone());
        let absent = (left.absent || left.open) && (right.absent || right.open);
        left.any |= left.open;
        right.any |= right.open;
        let may_be = |of: &Type, value: &Value| of.any || of.kinds.hold(value) || of.values.contains(value);
        let mut values: Vec<Value> = left.values.iter().filter(|value| may_be(&right, value)).cloned().collect();
        right.values.iter().filter(|value| may_be(&left, value)).for_each(|value| super::hash_consing::add(&mut values, value.clone()));
        let kinds = match (left.any, right.any) {
            (true, _) => right.kinds,
            (false, true) => left.kinds,
            (false, false) => left.kinds.and(right.kinds),
        };
        let fields = match (left.fields, right.fields) {
            (Some(left), Some(right)) => self.met_fields(&left, &right),
            (Some(fields), None) if right.any => Some(fields),
            (None, Some(fields)) if left.any => Some(fields),
            _ => None,
        };
        let items = match (left.items, right.items) {
            (Some(left), Some(right)) => Some(self.met(left, right)),
            (Some(items), None) if right.any => Some(items),
            (None, Some(items)) if left.any => Some(items),
            _ => None,
        };
        values.retain(|value| !kinds.hold(value));
        values.sort_by_cached_key(Value::to_json);
        let open = left.open && right.open;
        let any = left.any && right.any && !open;
        let numeric = any && (left.numeric || right.numeric);
        self.put(Type { absent: absent && !open, any, numeric, open, kinds, values, fields, items })
    }

    /// Nothing where a name cannot be as both say.
    fn met_fields(&mut self, left: &Fields, right: &Fields) -> Option<Fields> {
        let names = left.named.iter().chain(&right.named).map(|(key, _)| key.clone());
        let mut fields = Fields { named: Vec::new(), others: self.met(left.others, right.others) };
        for key in names.collect::<std::collections::BTreeSet<_>>() {
            let of = self.met(left.get(&key), right.get(&key));
            if of == TypeId::NEVER {
                return None;
            }
            fields.named.push((key, of));
        }
        Some(fields)
    }
}
