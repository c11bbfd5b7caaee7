//! Writes and appends over symbolic values (language 4.1).

use super::{cache::ITEMS, *};
use crate::dataflow::{domain::Kinds, ir::MAX_PATH_SEGMENTS};

impl Constraints {
    /// Writes at a path, and creates the mappings above it. False if a value on it can be no mapping, or the path is deeper than is
    /// followed.
    pub(crate) fn write(&mut self, context: &mut BTreeMap<Key, SymValue>, path: &KeyPath, value: SymValue) -> bool {
        path.segments().len() <= MAX_PATH_SEGMENTS && self.write_in(context, path.root(), path.rest(), value)
    }

    fn write_in(&mut self, entries: &mut BTreeMap<Key, SymValue>, key: &Key, rest: &[Segment], value: SymValue) -> bool {
        let here = entries.get(key).cloned().filter(|here| self.presence(here) != Some(false));
        match self.written(here, rest, value) {
            Some(written) => {
                entries.insert(key.clone(), written);
                true
            }
            None => false,
        }
    }

    fn written(&mut self, here: Option<SymValue>, path: &[Segment], value: SymValue) -> Option<SymValue> {
        let Some((first, rest)) = path.split_first() else { return Some(value) };
        let Segment::Key(key) = first else { return None };
        let mut entries = match &here {
            None => BTreeMap::new(),
            Some(SymValue::Known(Value::Map(known))) => {
                known.iter().map(|(key, value)| (key.clone(), SymValue::Known(value.clone()))).collect()
            }
            Some(SymValue::Map(entries) | SymValue::Overlay(_, entries)) => BTreeMap::clone(entries),
            Some(SymValue::Var(_)) => BTreeMap::new(),
            Some(SymValue::Known(_) | SymValue::List(_)) => return None,
        };
        let base = match here {
            Some(SymValue::Var(at)) => {
                let object = self.kind("object")?;
                (self.assume_present(&SymValue::Var(at), true) && self.assume_fits(&SymValue::Var(at), &object)).then_some(())?;
                Some(at)
            }
            Some(SymValue::Overlay(at, _)) => Some(at),
            _ => None,
        };
        let inner = match (entries.get(key).cloned(), base) {
            (Some(inner), _) => Some(inner),
            (None, Some(at)) if !rest.is_empty() => match self.below(&SymValue::Var(at), std::slice::from_ref(first)) {
                Lookup::Present(inner) | Lookup::MaybePresent(inner) => Some(inner),
                Lookup::Absent => None,
            },
            (None, _) => None,
        };
        let inner = inner.filter(|inner| self.presence(inner) != Some(false));
        let written = self.written(inner, rest, value)?;
        entries.insert(key.clone(), written);
        Some(match base {
            Some(at) => SymValue::Overlay(at, Rc::new(entries)),
            None => SymValue::Map(Rc::new(entries)),
        })
    }

    /// Returns a list after a value was appended; `None` if it can be no list.
    pub(crate) fn appended(&mut self, list: Option<&SymValue>, added: SymValue) -> Option<SymValue> {
        let mut items = match list {
            None => Items::default(),
            Some(SymValue::List(items)) => Items::clone(items),
            Some(SymValue::Known(Value::List(known))) => {
                let mut items = Items::default();
                known.iter().for_each(|value| self.add_item(&mut items, SymValue::Known(value.clone())));
                items
            }
            Some(SymValue::Var(at)) => {
                let array = self.kind("array")?;
                self.assume_fits(&SymValue::Var(*at), &array).then_some(())?;
                Items { base: Some(*at), ..Items::default() }
            }
            Some(SymValue::Known(_) | SymValue::Map(_) | SymValue::Overlay(..)) => return None,
        };
        match added {
            // Appending a list adds its items.
            SymValue::Known(Value::List(known)) => known.iter().for_each(|value| self.add_item(&mut items, SymValue::Known(value.clone()))),
            SymValue::List(more) => {
                more.some.iter().for_each(|item| self.add_item(&mut items, item.clone()));
                items.is_filled |= more.is_filled;
                if let Some(base) = more.base {
                    self.items_of(base).into_iter().for_each(|item| self.add_possible(&mut items, item));
                }
            }
            SymValue::Var(at) => {
                let of = self.type_of(&SymValue::Var(at));
                let (may_be_list, may_be_other) = {
                    let cache = self.cache.borrow();
                    let of = cache.types.get(of);
                    let is_list = |value: &Value| value.as_list().is_some();
                    let unknown = of.unknown || of.dynamic;
                    let other = of.kinds != Kinds::default() || of.fields.is_some() || of.values.iter().any(|value| !is_list(value));
                    (unknown || of.items.is_some() || of.values.iter().any(is_list), unknown || other)
                };
                if may_be_list {
                    self.items_of(at).into_iter().for_each(|item| self.add_possible(&mut items, item));
                }
                match (may_be_other, may_be_list) {
                    (true, false) => self.add_item(&mut items, SymValue::Var(at)),
                    (true, true) => self.add_possible(&mut items, SymValue::Var(at)),
                    (false, _) => {}
                }
            }
            other => self.add_item(&mut items, other),
        }
        Some(SymValue::List(Rc::new(items)))
    }

    /// Returns the variable of the items of a list; `None` if it can be no list, or has none.
    pub(crate) fn items_of(&mut self, at: VarId) -> Option<SymValue> {
        let key = Key::from(ITEMS);
        if let Some(known) = self.get(at).parts.get(&key) {
            return Some(SymValue::Var(*known));
        }
        let of = self.type_of(&SymValue::Var(at));
        let inner = {
            let cache = self.cache.borrow();
            let of = cache.types.get(of);
            if of.unknown || of.dynamic { Some(TypeId::UNKNOWN) } else { of.items }
        }?;
        let part_schemas = self.part_schemas(at, &key);
        let schemas = if part_schemas.is_empty() { self.schema_of(inner).into_iter().collect() } else { part_schemas };
        let item = self.fresh_optional(&schemas);
        if let SymValue::Var(item) = item {
            self.var_mut(at).parts.insert(key, item);
        }
        Some(item)
    }

    fn add_item(&mut self, items: &mut Items, item: SymValue) {
        items.is_filled |= self.presence(&item) == Some(true);
        self.add_possible(items, item);
    }

    /// Adds a possible item, unless it has an equal description.
    fn add_possible(&mut self, items: &mut Items, item: SymValue) {
        let fingerprint = self.fingerprint(&item);
        if !items.some.iter().any(|known| self.fingerprint(known) == fingerprint) {
            items.some.push(item);
        }
    }
}
