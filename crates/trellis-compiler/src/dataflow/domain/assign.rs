//! Transfer functions of writes: assignment below a path, and append (language 4.1).
//!
//! Each part of the union is written separately and the results are joined. A part that is no mapping contributes nothing, because the
//! engine ends a session there. The recursion follows the segments of the path, which are at most
//! [`FOLLOWED`](crate::dataflow::ir::FOLLOWED).
//!
//! **Example.** `a.b := 1` where `a` is absent or the text `"x"`: the result is the mapping `{b: 1}`; the text is dropped, and the alarm
//! that it raises is separate (`may_block`).

use super::*;

impl TypeTable {
    /// Returns the type after `new` was assigned at `path` below it. [`TypeId::NEVER`] if only values are possible that are no mapping: no
    /// session continues there (language 4.1).
    pub(crate) fn assign(&mut self, id: TypeId, path: SubPathId, new: TypeId) -> TypeId {
        if path == SubPathId::NONE {
            return new;
        }
        if let Some(known) = self.written.get(&(id, path, new)) {
            return *known;
        }
        let written = self.write(id, &self.questions.rest(path), new);
        self.written.insert((id, path, new), written);
        written
    }

    fn write(&mut self, id: TypeId, path: &[Segment], new: TypeId) -> TypeId {
        let Some((Segment::Key(key), rest)) = path.split_first() else { return new };
        let of = self.get(id).clone();
        let mut all: Option<Fields> = None;
        let mut or = |types: &mut Self, fields: Fields| {
            all = Some(match all.take() {
                Some(known) => types.join_fields(&known, &fields),
                None => fields,
            });
        };
        if of.absent {
            let inner = self.write(TypeId::ABSENT, rest, new);
            or(self, Fields { named: vec![(key.clone(), inner)], others: TypeId::ABSENT });
        }
        if of.unknown || of.dynamic {
            let inner = self.write(TypeId::DYNAMIC, rest, new);
            or(self, Fields { named: vec![(key.clone(), inner)], others: TypeId::DYNAMIC });
        }
        if let Some(mut fields) = of.fields {
            let inner = self.write(fields.get(key), rest, new);
            if inner != TypeId::NEVER {
                fields.set(key, inner);
                or(self, fields);
            }
        }
        match all {
            Some(fields) => self.intern(Type { fields: Some(fields), ..Type::default() }),
            None => TypeId::NEVER,
        }
    }

    /// Returns true if a write at `path` can meet a claimed value that is no mapping.
    pub(crate) fn may_block(&self, id: TypeId, path: SubPathId) -> bool {
        path != SubPathId::NONE && self.blocks(id, &self.questions.rest(path))
    }

    fn blocks(&self, id: TypeId, path: &[Segment]) -> bool {
        let Some((Segment::Key(key), rest)) = path.split_first() else { return false };
        let of = self.get(id);
        of.kinds != Kinds::default()
            || !of.values.is_empty()
            || of.items.is_some()
            || of.fields.as_ref().is_some_and(|fields| !rest.is_empty() && self.blocks(fields.get(key), rest))
    }

    /// Returns the type after a value was appended to a list; an absent list is created. [`TypeId::NEVER`] if it can be no list.
    pub(crate) fn appended(&mut self, id: TypeId, added: TypeId) -> TypeId {
        let added = self.items_added(added);
        let of = self.get(id).clone();
        let is_list = |value: &Value| matches!(value, Value::List(_));
        let mut result = TypeId::NEVER;
        if of.absent || of.unknown || of.dynamic || of.items.is_some() || of.values.iter().any(is_list) {
            let known = if of.unknown || of.dynamic { TypeId::UNKNOWN } else { of.items.unwrap_or(TypeId::NEVER) };
            let items = self.join(known, added);
            result = self.list(items);
        }
        result
    }

    /// Returns the type of the items that appending a value adds: those of a list, or the value itself.
    pub(crate) fn items_added(&mut self, id: TypeId) -> TypeId {
        let mut of = self.get(id).clone();
        let items = of.items.take();
        of.values.retain(|value| value.as_list().is_none());
        (of.absent, of.unknown, of.dynamic) = (false, of.unknown || of.dynamic, false);
        let others = self.intern(of);
        items.map_or(others, |items| self.join(others, items))
    }

    /// Returns true if the claimed part includes a value that is no list.
    pub(crate) fn may_be_no_list(&self, id: TypeId) -> bool {
        let of = self.get(id);
        of.kinds != Kinds::default() || of.fields.is_some() || of.values.iter().any(|value| !matches!(value, Value::List(_)))
    }
}
