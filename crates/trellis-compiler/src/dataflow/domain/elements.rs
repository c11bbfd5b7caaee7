//! Types of elements: the items of a list, the values of a mapping.
//!
//! **Example.** `{% for o in orders %}{{ o.id }}` reads the steps *item*, `id` below `orders`.

use super::{Kinds, TypeId, TypeTable};
use trellis_base::{
    path::Segment,
    template::ElementStep,
    value::{Key, Mapping, Value},
};

impl TypeTable {
    /// Returns the type of the elements that `steps` reach. [`TypeId::NEVER`] if there are no elements, so that none can be wrong.
    pub(crate) fn inside(&mut self, mut id: TypeId, steps: &[ElementStep]) -> TypeId {
        for step in steps {
            id = match step {
                ElementStep::Key(key) => {
                    let path = [Segment::Key(key.clone())];
                    self.select_from(id, &path)
                }
                ElementStep::Item | ElementStep::Each => self.items(id, *step == ElementStep::Each),
            };
        }
        id
    }

    fn items(&mut self, id: TypeId, values: bool) -> TypeId {
        let of = self.get(id).clone();
        let mut known = of.items.unwrap_or(TypeId::NEVER);
        if of.unknown || of.dynamic {
            known = self.join(known, TypeId::UNKNOWN);
        }
        let is_text = of.kinds.has(Kinds::TEXT) || of.values.iter().any(|value| value.as_str().is_some());
        if is_text || (of.fields.is_some() && !values) {
            let text = self.text();
            known = self.join(known, text);
        }
        for field in of.fields.iter().filter(|_| values).flat_map(|fields| fields.named.iter().map(|(_, of)| *of).chain([fields.others])) {
            if self.may_be_there(field) {
                let there = self.present(field);
                known = self.join(known, there);
            }
        }
        if known == TypeId::NEVER { known } else { self.present(known) }
    }

    /// Returns the field names that a mapping can have by name.
    pub(crate) fn names(&self, id: TypeId) -> Vec<Key> {
        let fields = self.get(id).fields.iter().flat_map(|fields| &fields.named);
        fields.filter(|(_, of)| self.may_be_there(*of)).map(|(key, _)| key.clone()).collect()
    }
}

/// Returns a schema of the values that have an element wherever `steps` lead.
pub(crate) fn having(steps: &[ElementStep]) -> Value {
    let Some((first, rest)) = steps.split_first() else { return Value::Bool(true) };
    let inner = having(rest);
    match first {
        ElementStep::Key(key) => {
            let properties: Mapping = [(key.clone(), inner)].into_iter().collect();
            Value::map([
                ("type", Value::text("object")),
                ("required", Value::list([Value::Text(key.clone())])),
                ("properties", Value::Map(properties)),
            ])
        }
        ElementStep::Item => Value::map([("items", inner)]),
        ElementStep::Each => Value::map([("items", inner.clone()), ("additionalProperties", inner)]),
    }
}
