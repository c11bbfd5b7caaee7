//! What is put at places: what came from outside, and what is made of what is known.

use super::*;

impl Analysis<'_, '_> {
    /// What a source comes to.
    pub(crate) fn source(&mut self, seat: &PointOps, facts: &Env, source: SourceId) -> TypeId {
        match self.terms.sources.get(source) {
            SourceExpr::Known(of) => *of,
            // What is taken is there while it is taken: an option or a default, where it is not any answer.
            SourceExpr::Brought => match facts.get(INPUT, &mut self.types) {
                given if self.types.present(given) == TypeId::NEVER => self.answer(seat),
                given => self.types.present(given),
            },
            SourceExpr::Path(path, optional) => {
                let (path, optional) = (*path, *optional);
                let Some(slot) = self.slot(path) else { return TypeId::UNKNOWN };
                let known = self.below(facts, slot, path.rest);
                match optional {
                    true if self.types.get(known).dynamic => TypeId::UNKNOWN_OR_ABSENT,
                    true => known,
                    false => self.types.present(known),
                }
            }
            SourceExpr::List(items) => {
                let items = items.clone();
                let items = items.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.source(seat, facts, *item);
                    let item = self.types.present(item);
                    self.types.join(known, item)
                });
                self.types.list(items)
            }
            SourceExpr::Map(entries) => {
                let entries = entries.clone();
                let entries: Vec<_> = entries.iter().map(|(key, of)| (key.clone(), self.source(seat, facts, *of))).collect();
                self.types.mapping(entries)
            }
            SourceExpr::Number(parts, whole) => {
                let (parts, whole) = (parts.clone(), *whole);
                let parts: Vec<TypeId> = parts.iter().map(|part| self.source(seat, facts, *part)).collect();
                self.types.number(&parts, whole)
            }
            SourceExpr::Sum(left, right) => {
                let (left, right) = self.both(seat, facts, (*left, *right));
                self.types.sum(left, right)
            }
            SourceExpr::Product(left, right) => {
                let (left, right) = self.both(seat, facts, (*left, *right));
                self.types.product(left, right)
            }
            SourceExpr::Default(first, second, falsy) => {
                let falsy = *falsy;
                let (first, second) = self.both(seat, facts, (*first, *second));
                self.types.fallback(first, second, falsy)
            }
            SourceExpr::Either(one, other) => {
                let (one, other) = self.both(seat, facts, (*one, *other));
                self.types.join(one, other)
            }
            SourceExpr::There(of) => {
                let of = *of;
                let of = self.source(seat, facts, of);
                self.types.present(of)
            }
        }
    }

    fn both(&mut self, seat: &PointOps, facts: &Env, (one, other): (SourceId, SourceId)) -> (TypeId, TypeId) {
        (self.source(seat, facts, one), self.source(seat, facts, other))
    }

    /// An accepted input, or a successful result, at a point.
    pub(crate) fn answer_at(&mut self, point: PointIndex) -> TypeId {
        let seat = self.terms.steps.seat(point).clone();
        self.answer(&seat)
    }

    /// An accepted input, or a successful result.
    pub(crate) fn answer(&mut self, seat: &PointOps) -> TypeId {
        match &seat.brought {
            Incoming::Known(of) => *of,
            Incoming::Child(child, fitting) => {
                let output = self.output(*child);
                fitting.iter().fold(output, |known, declared| self.types.meet(known, *declared))
            }
        }
    }
}
