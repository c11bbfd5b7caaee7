//! Fields of symbolic values, and their presence.

use super::*;

impl Constraints {
    /// Returns true if a value is present, false if absent; `None` while undecided.
    pub(crate) fn presence(&self, of: &SymValue) -> Option<bool> {
        if let SymValue::Var(at) = of { self.get(*at).presence } else { Some(true) }
    }

    /// Returns true if a value is the result of a template.
    pub(crate) fn is_rendered(&self, of: &SymValue) -> bool {
        matches!(of, SymValue::Var(at) if matches!(self.get(*at).kind, VarOrigin::Rendered))
    }

    /// Constrains the presence of a value. False if the opposite was decided.
    pub(crate) fn assume_present(&mut self, of: &SymValue, there: bool) -> bool {
        let SymValue::Var(at) = of else { return there };
        match self.get(*at).presence {
            Some(known) => known == there,
            None => {
                self.change(*at).presence = Some(there);
                true
            }
        }
    }

    /// Looks up a path below a value.
    pub(crate) fn below(&mut self, of: &SymValue, path: &[Segment]) -> Lookup {
        let mut at = of.clone();
        let mut is_certain = true;
        for segment in std::iter::once(None).chain(path.iter().map(Some)) {
            if let Some(segment) = segment {
                // Items are not followed by index (language 3.2).
                let Segment::Key(key) = segment else { return Lookup::MaybePresent(self.fresh_optional_rendered()) };
                match self.child(&at, key) {
                    Some(child) => at = child,
                    None => return Lookup::Absent,
                }
            }
            match self.presence(&at) {
                Some(true) => {}
                Some(false) => return Lookup::Absent,
                None => is_certain = false,
            }
        }
        if is_certain { Lookup::Present(at) } else { Lookup::MaybePresent(at) }
    }

    /// Constrains a path below a value to be present, and everything above it. False if it cannot be.
    pub(crate) fn assume_present_below(&mut self, of: &SymValue, path: &[Segment]) -> bool {
        if !self.assume_present(of, true) {
            return false;
        }
        match path.split_first() {
            None => true,
            Some((Segment::Index(_), _)) => true,
            Some((Segment::Key(key), rest)) => self.child(of, key).is_some_and(|child| self.assume_present_below(&child, rest)),
        }
    }

    /// Constrains a list to have an item, if it is a variable that can be a list.
    pub(crate) fn assume_filled(&mut self, of: &SymValue) {
        let SymValue::Var(at) = of else { return };
        if let Some(SymValue::Var(item)) = self.items_of(*at)
            && self.get(item).presence.is_none()
        {
            let at = self.type_of(of);
            let is_list = self.cache.borrow().types.get(at).items.is_some();
            if is_list {
                self.var_mut(item).presence = Some(true);
            }
        }
    }

    /// Constrains a path below a value to be absent. False if it is certainly present.
    pub(crate) fn assume_absent_below(&mut self, of: &SymValue, path: &[Segment]) -> bool {
        if self.presence(of) == Some(false) {
            return true;
        }
        let inner = match path.split_first() {
            None => false,
            Some((Segment::Index(_), _)) => true,
            Some((Segment::Key(key), rest)) => self.child(of, key).is_none_or(|child| self.assume_absent_below(&child, rest)),
        };
        inner || self.assume_present(of, false)
    }

    /// Returns the value of a field, whether or not it is present; `None` if it is certainly absent.
    fn child(&mut self, of: &SymValue, key: &Key) -> Option<SymValue> {
        match of {
            SymValue::Known(Value::Map(entries)) => entries.get(key).cloned().map(SymValue::Known),
            SymValue::Map(entries) => entries.get(key).cloned(),
            SymValue::Overlay(at, entries) => entries.get(key).cloned().or_else(|| self.part(*at, key)),
            SymValue::Var(at) => self.part(*at, key),
            SymValue::Known(_) | SymValue::List(_) => None,
        }
    }

    fn part(&mut self, at: VarId, key: &Key) -> Option<SymValue> {
        if let Some(part) = self.get(at).parts.get(key) {
            return Some(SymValue::Var(*part));
        }
        let (kind, there) = match &self.get(at).kind {
            VarOrigin::Any => (VarOrigin::Any, None),
            VarOrigin::Rendered => (VarOrigin::Rendered, None),
            VarOrigin::Havocked => (VarOrigin::Havocked, None),
            VarOrigin::Text => return None,
            VarOrigin::Schemas(_) | VarOrigin::Input(_) => {
                let of = self.below_var(at, key);
                if of == TypeId::ABSENT || of == TypeId::NEVER {
                    return None;
                }
                let part_schemas = self.part_schemas(at, key);
                let known: Vec<Schema> = if part_schemas.is_empty() { self.schema_of(of).into_iter().collect() } else { part_schemas };
                let kind = if known.is_empty() { VarOrigin::Any } else { VarOrigin::Schemas(known.into()) };
                (kind, if self.may_lack(of) { None } else { Some(true) })
            }
        };
        let part = self.add(kind, there);
        self.var_mut(at).parts.insert(key.clone(), part);
        Some(SymValue::Var(part))
    }

    /// Returns the schemas of a property, from the schemas of a variable.
    pub(crate) fn part_schemas(&self, at: VarId, key: &Key) -> Vec<Schema> {
        let var = self.get(at);
        let own = if let VarOrigin::Schemas(schemas) = &var.kind { &schemas[..] } else { &[] };
        let cache = &mut *self.cache.borrow_mut();
        own.iter().chain(&var.fits).filter_map(|schema| cache.part(schema, key)).collect()
    }

    /// Returns the demand of one schema on a property.
    pub(crate) fn demanded(&self, schema: &Schema, key: &str) -> Option<Schema> {
        self.cache.borrow_mut().part(schema, &Key::from(key))
    }
}
