//! Writing over values, and adding to lists (language 4.1).

use super::{cache::ITEMS, *};
use crate::compile::dataflow::{domain::Kinds, ir::FOLLOWED};

impl Vars {
    /// Writes at a path and makes the mappings on the way; false over something that can be none.
    pub(crate) fn write(&mut self, context: &mut BTreeMap<Key, Sym>, path: &KeyPath, value: Sym) -> bool {
        path.segments().len() <= FOLLOWED && self.write_in(context, path.root(), path.rest(), value)
    }

    fn write_in(&mut self, entries: &mut BTreeMap<Key, Sym>, key: &Key, rest: &[Segment], value: Sym) -> bool {
        let here = entries.get(key).cloned().filter(|here| self.presence(here) != Some(false));
        match self.written(here, rest, value) {
            Some(written) => {
                entries.insert(key.clone(), written);
                true
            }
            None => false,
        }
    }

    fn written(&mut self, here: Option<Sym>, path: &[Segment], value: Sym) -> Option<Sym> {
        let Some((first, rest)) = path.split_first() else { return Some(value) };
        let Segment::Key(key) = first else { return None };
        let mut entries = match &here {
            None => BTreeMap::new(),
            Some(Sym::Known(Value::Map(known))) => known.iter().map(|(key, value)| (key.clone(), Sym::Known(value.clone()))).collect(),
            Some(Sym::Map(entries) | Sym::Over(_, entries)) => BTreeMap::clone(entries),
            Some(Sym::Var(_)) => BTreeMap::new(),
            Some(Sym::Known(_) | Sym::List(_)) => return None,
        };
        let base = match here {
            Some(Sym::Var(at)) => {
                let object = self.kind("object")?;
                (self.be(&Sym::Var(at), true) && self.fit(&Sym::Var(at), &object)).then_some(())?;
                Some(at)
            }
            Some(Sym::Over(at, _)) => Some(at),
            _ => None,
        };
        let inner = match (entries.get(key).cloned(), base) {
            (Some(inner), _) => Some(inner),
            (None, Some(at)) if !rest.is_empty() => match self.below(&Sym::Var(at), std::slice::from_ref(first)) {
                Found::There(inner) | Found::Maybe(inner) => Some(inner),
                Found::Absent => None,
            },
            (None, _) => None,
        };
        let inner = inner.filter(|inner| self.presence(inner) != Some(false));
        let written = self.written(inner, rest, value)?;
        entries.insert(key.clone(), written);
        Some(match base {
            Some(at) => Sym::Over(at, Rc::new(entries)),
            None => Sym::Map(Rc::new(entries)),
        })
    }

    /// A list after something was added to it; nothing where it can be no list.
    pub(crate) fn appended(&mut self, list: Option<&Sym>, added: Sym) -> Option<Sym> {
        let mut items = match list {
            None => Items::default(),
            Some(Sym::List(items)) => Items::clone(items),
            Some(Sym::Known(Value::List(known))) => {
                let mut items = Items::default();
                known.iter().for_each(|value| self.add_item(&mut items, Sym::Known(value.clone())));
                items
            }
            Some(Sym::Var(at)) => {
                let array = self.kind("array")?;
                self.fit(&Sym::Var(*at), &array).then_some(())?;
                Items { base: Some(*at), ..Items::default() }
            }
            Some(Sym::Known(_) | Sym::Map(_) | Sym::Over(..)) => return None,
        };
        match added {
            // What is added to a list are the items of a list.
            Sym::Known(Value::List(known)) => known.iter().for_each(|value| self.add_item(&mut items, Sym::Known(value.clone()))),
            Sym::List(more) => {
                more.some.iter().for_each(|item| self.add_item(&mut items, item.clone()));
                items.is_filled |= more.is_filled;
                if let Some(base) = more.base {
                    self.items_of(base).into_iter().for_each(|item| self.add_possible(&mut items, item));
                }
            }
            Sym::Var(at) => {
                let of = self.type_of(&Sym::Var(at));
                let (may_be_list, may_be_other) = {
                    let lore = self.lore.borrow();
                    let of = lore.types.get(of);
                    let is_list = |value: &Value| value.as_list().is_some();
                    let unknown = of.any || of.open;
                    let other = of.kinds != Kinds::default() || of.fields.is_some() || of.values.iter().any(|value| !is_list(value));
                    (unknown || of.items.is_some() || of.values.iter().any(is_list), unknown || other)
                };
                if may_be_list {
                    self.items_of(at).into_iter().for_each(|item| self.add_possible(&mut items, item));
                }
                match (may_be_other, may_be_list) {
                    (true, false) => self.add_item(&mut items, Sym::Var(at)),
                    (true, true) => self.add_possible(&mut items, Sym::Var(at)),
                    (false, _) => {}
                }
            }
            other => self.add_item(&mut items, other),
        }
        Some(Sym::List(Rc::new(items)))
    }

    /// What the items of a variable can be.
    pub(crate) fn items_of(&mut self, at: u32) -> Option<Sym> {
        let key = Key::from(ITEMS);
        if let Some(known) = self.get(at).parts.get(&key) {
            return Some(Sym::Var(*known));
        }
        let of = self.type_of(&Sym::Var(at));
        let inner = {
            let lore = self.lore.borrow();
            let of = lore.types.get(of);
            if of.any || of.open { Some(TypeId::ANY) } else { of.items }
        }?;
        let said = self.said(at, &key);
        let schemas = if said.is_empty() { self.schema_of(inner).into_iter().collect() } else { said };
        let item = self.perhaps(&schemas);
        if let Sym::Var(item) = item {
            self.var_mut(at).parts.insert(key, item);
        }
        Some(item)
    }

    fn add_item(&mut self, items: &mut Items, item: Sym) {
        items.is_filled |= self.presence(&item) == Some(true);
        self.add_possible(items, item);
    }

    /// Adds an item that may be there, unless one of which the same is known is there already.
    fn add_possible(&mut self, items: &mut Items, item: Sym) {
        let said = self.sketch(&item);
        if !items.some.iter().any(|known| self.sketch(known) == said) {
            items.some.push(item);
        }
    }
}
