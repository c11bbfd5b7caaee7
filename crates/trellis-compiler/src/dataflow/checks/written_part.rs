//! The parts of a written value, each with its type and its place, held to a type that is declared.
//!
//! **Example.** `{ id: "{{ w }}" }` has the part `id`, whose type is that of `w`.

use crate::dataflow::{
    domain::{Misfit, TypeId, TypeTable, item_of, key_of},
    fixpoint::{WrittenParts, WrittenType},
};
use trellis_base::{
    span::Span,
    template::{ElementStep, Shape},
};

/// A written value, or a part of it that is certainly there.
pub(super) struct WrittenPart<'a> {
    pub(super) given: &'a WrittenType,
    /// Its shape; `None` inside of an expression.
    pub(super) shape: Option<&'a Shape>,
    pub(super) span: Span,
}

/// The innermost part of a written value that has no value in common with its declaration.
pub(super) struct ApartPart {
    pub(super) span: Span,
    pub(super) misfit: Misfit,
}

impl<'a> WrittenPart<'a> {
    /// Returns the innermost part that has no value in common with what is declared. Unless it `is_complete`, a mapping may be filled later.
    pub(super) fn apart(&self, types: &mut TypeTable, declared: TypeId, subject: &str, is_complete: bool) -> Option<ApartPart> {
        let (given, declared) = (types.present(self.given.of), types.present(declared));
        if given == TypeId::NEVER || declared == TypeId::NEVER {
            return None;
        }
        let takes = types.get(declared).clone();
        let inner = match (&self.given.parts, &takes.fields, takes.items) {
            (WrittenParts::Entries(entries), Some(fields), _) => (0..)
                .zip(entries)
                .find_map(|(at, (key, of))| self.part(at, of).apart(types, fields.get(key), &key_of(subject, key), is_complete)),
            (WrittenParts::Items(items), _, Some(declared)) => {
                (0..).zip(items).find_map(|(at, of)| self.part(at, of).apart(types, declared, &item_of(subject), is_complete))
            }
            _ => None,
        };
        let is_filled_later = !is_complete && takes.fields.is_some() && matches!(self.given.parts, WrittenParts::Entries(_));
        if inner.is_some() || is_filled_later || types.meet(given, declared) != TypeId::NEVER {
            return inner;
        }
        let are_apart = |types: &mut TypeTable, of, declared| types.meet(of, declared) == TypeId::NEVER;
        Some(ApartPart { span: self.span, misfit: types.misfit(subject, given, declared, are_apart) })
    }

    /// Returns the innermost part that does not fit, of the items that it adds to a declared list.
    pub(super) fn apart_of_items(&self, types: &mut TypeTable, declared: TypeId, subject: &str) -> Option<ApartPart> {
        let declared = types.inside(declared, &[ElementStep::Item]);
        if let WrittenParts::Items(items) = &self.given.parts {
            return (0..).zip(items).find_map(|(at, of)| self.part(at, of).apart(types, declared, subject, true));
        }
        let of = types.present(self.given.of);
        let of = if of == TypeId::NEVER { of } else { types.items_added(of) };
        let given = WrittenType { of, parts: self.given.parts.clone() };
        WrittenPart { given: &given, ..*self }.apart(types, declared, subject, true)
    }

    /// Returns the part at a number.
    pub(super) fn part(&self, at: usize, given: &'a WrittenType) -> Self {
        let inner = match self.shape {
            Some(Shape::List(items)) => items.get(at),
            Some(Shape::Map(entries)) => entries.get(at).map(|(_, value)| value),
            _ => None,
        };
        Self { given, shape: inner.map(|inner| &inner.value), span: inner.map_or(self.span, |inner| inner.span) }
    }
}

/// Returns the span of the part of a shape at a pointer, or of the nearest one around it.
pub(super) fn span_at(mut shape: &Shape, mut span: Span, pointer: &str) -> Span {
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match shape {
            Shape::Map(entries) => entries.iter().rev().find(|(key, _)| *key.value == *step).map(|(_, value)| value),
            Shape::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
            _ => None,
        };
        let Some(next) = next else { break };
        (shape, span) = (&next.value, next.span);
    }
    span
}
