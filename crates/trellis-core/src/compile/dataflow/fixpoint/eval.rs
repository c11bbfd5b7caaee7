//! What is put at places: what came from outside, and what is made of what is known.

use super::*;

impl Knowledge<'_, '_> {
    /// What a source comes to.
    pub(crate) fn source(&mut self, seat: &Seat, facts: &Facts, source: Source) -> TypeId {
        match self.terms.sources.get(source) {
            Made::Known(of) => *of,
            // What is taken is there while it is taken: an option or a default, where it is not any answer.
            Made::Brought => match facts.get(INPUT, &mut self.types) {
                given if self.types.present(given) == TypeId::NEVER => self.answer(seat),
                given => self.types.present(given),
            },
            Made::Path(path, optional) => {
                let (path, optional) = (*path, *optional);
                let Some(slot) = self.slot(path) else { return TypeId::ANY };
                let known = self.below(facts, slot, path.rest);
                match optional {
                    true if self.types.get(known).open => TypeId::EITHER,
                    true => known,
                    false => self.types.present(known),
                }
            }
            Made::List(items) => {
                let items = items.clone();
                let items = items.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.source(seat, facts, *item);
                    let item = self.types.present(item);
                    self.types.join(known, item)
                });
                self.types.list(items)
            }
            Made::Map(entries) => {
                let entries = entries.clone();
                let entries: Vec<_> = entries.iter().map(|(key, of)| (key.clone(), self.source(seat, facts, *of))).collect();
                self.types.mapping(entries)
            }
            Made::Number(parts, whole) => {
                let (parts, whole) = (parts.clone(), *whole);
                let parts: Vec<TypeId> = parts.iter().map(|part| self.source(seat, facts, *part)).collect();
                self.types.number(&parts, whole)
            }
            Made::Sum(left, right) => {
                let (left, right) = self.both(seat, facts, (*left, *right));
                self.types.sum(left, right)
            }
            Made::Product(left, right) => {
                let (left, right) = self.both(seat, facts, (*left, *right));
                self.types.product(left, right)
            }
            Made::Default(first, second, falsy) => {
                let falsy = *falsy;
                let (first, second) = self.both(seat, facts, (*first, *second));
                self.types.fallback(first, second, falsy)
            }
            Made::Either(one, other) => {
                let (one, other) = self.both(seat, facts, (*one, *other));
                self.types.join(one, other)
            }
            Made::There(of) => {
                let of = *of;
                let of = self.source(seat, facts, of);
                self.types.present(of)
            }
        }
    }

    fn both(&mut self, seat: &Seat, facts: &Facts, (one, other): (Source, Source)) -> (TypeId, TypeId) {
        (self.source(seat, facts, one), self.source(seat, facts, other))
    }

    /// An accepted input, or a successful result, at a point.
    pub(crate) fn answer_at(&mut self, point: PointIndex) -> TypeId {
        let seat = self.terms.steps.seat(point).clone();
        self.answer(&seat)
    }

    /// An accepted input, or a successful result.
    pub(crate) fn answer(&mut self, seat: &Seat) -> TypeId {
        match &seat.brought {
            Brought::Known(of) => *of,
            Brought::Child(child, fitting) => {
                let output = self.output(*child);
                fitting.iter().fold(output, |known, declared| self.types.met(known, *declared))
            }
        }
    }
}
