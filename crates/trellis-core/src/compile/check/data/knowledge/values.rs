//! What is put at places: what came from outside, and what is made of what is known.

use super::*;

impl Knowledge<'_, '_> {
    /// What a source comes to.
    pub(super) fn source(&mut self, seat: &Seat, facts: &Facts, source: Source) -> TypeId {
        match self.terms.sources.get(source) {
            Made::Known(of) => *of,
            Made::Brought => self.answer(seat),
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
        }
    }

    /// An accepted input, or a successful result, at a point.
    pub(in super::super) fn answer_at(&mut self, point: PointIndex) -> TypeId {
        let seat = self.terms.steps.seat(point).clone();
        self.answer(&seat)
    }

    /// An accepted input, or a successful result.
    pub(super) fn answer(&mut self, seat: &Seat) -> TypeId {
        match &seat.brought {
            Brought::Known(of) => *of,
            Brought::Child(child, fitting) => {
                let output = self.output(*child);
                fitting.iter().fold(output, |known, declared| self.types.met(known, *declared))
            }
        }
    }
}
