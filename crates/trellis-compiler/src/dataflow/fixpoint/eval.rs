//! Abstract evaluation of expressions: values that are written, returned or passed to a call.
//!
//! One recursion over the expression tree, which is finite. Every case over-approximates; an expression that is not followed is unknown.
//!
//! **Example.** `["{{ a }}", 1]` with `a: text` is a list of text or `1`.

use super::*;

/// Type of a written value, with the types of the parts that it certainly has.
#[derive(Clone, Debug)]
pub(crate) struct WrittenType {
    pub(crate) of: TypeId,
    pub(crate) parts: WrittenParts,
}

/// Parts of a value that is written as a list or a mapping, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) enum WrittenParts {
    Whole,
    Items(Vec<WrittenType>),
    Entries(Vec<(Key, WrittenType)>),
}

impl Analysis<'_, '_> {
    /// Returns the type of a written expression in an environment, part by part.
    pub(crate) fn written_type(&mut self, point_ops: &PointOps, env: &Env, source: SourceId) -> WrittenType {
        let of = self.source(point_ops, env, source);
        let parts = match self.tables.sources.get(source).clone() {
            SourceExpr::There(inner) => self.written_type(point_ops, env, inner).parts,
            SourceExpr::List(items) => WrittenParts::Items(items.iter().map(|item| self.written_type(point_ops, env, *item)).collect()),
            SourceExpr::Map(entries) => {
                WrittenParts::Entries(entries.iter().map(|(key, of)| (key.clone(), self.written_type(point_ops, env, *of))).collect())
            }
            _ => WrittenParts::Whole,
        };
        WrittenType { of, parts }
    }

    /// Returns the type of an expression in an environment.
    pub(crate) fn source(&mut self, point_ops: &PointOps, env: &Env, source: SourceId) -> TypeId {
        match self.tables.sources.get(source) {
            SourceExpr::Known(of) => *of,
            SourceExpr::Branch(name) => {
                let of = match &point_ops.incoming {
                    Incoming::Parallel(results) => results.branches.iter().find(|(branch, _)| branch == name).map(|(_, of)| of.clone()),
                    Incoming::Known(_) | Incoming::Child(..) => None,
                };
                let of = of.map_or(TypeId::UNKNOWN, |of| self.incoming(&of));
                self.types.join(of, TypeId::ABSENT)
            }
            // The input is present while it is taken. Without one, as for an option or a default, it can be any answer.
            SourceExpr::Brought => match env.get(INPUT, &mut self.types) {
                given if self.types.present(given) == TypeId::NEVER => self.answer(point_ops),
                given => self.types.present(given),
            },
            SourceExpr::Path(path, optional) => {
                let (path, optional) = (*path, *optional);
                let Some(slot) = self.slot(path) else { return TypeId::UNKNOWN };
                let known = self.below(env, slot, path.rest);
                match optional {
                    true if self.types.get(known).dynamic => TypeId::UNKNOWN_OR_ABSENT,
                    true => known,
                    false => self.types.present(known),
                }
            }
            SourceExpr::List(items) => {
                let items = items.clone();
                let items = items.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.source(point_ops, env, *item);
                    let item = self.types.present(item);
                    self.types.join(known, item)
                });
                self.types.list(items)
            }
            SourceExpr::Map(entries) => {
                let entries = entries.clone();
                let entries: Vec<_> = entries.iter().map(|(key, of)| (key.clone(), self.source(point_ops, env, *of))).collect();
                self.types.mapping(entries)
            }
            SourceExpr::Number(parts, whole) => {
                let (parts, whole) = (parts.clone(), *whole);
                let parts: Vec<TypeId> = parts.iter().map(|part| self.source(point_ops, env, *part)).collect();
                self.types.number(&parts, whole)
            }
            SourceExpr::Sum(left, right) => {
                let [left, right] = self.both(point_ops, env, [*left, *right]);
                self.types.sum(left, right)
            }
            SourceExpr::Product(left, right) => {
                let [left, right] = self.both(point_ops, env, [*left, *right]);
                self.types.product(left, right)
            }
            SourceExpr::Default(first, second, falsy) => {
                let falsy = *falsy;
                let [first, second] = self.both(point_ops, env, [*first, *second]);
                self.types.fallback(first, second, falsy)
            }
            SourceExpr::Either(one, other) => {
                let [one, other] = self.both(point_ops, env, [*one, *other]);
                self.types.join(one, other)
            }
            SourceExpr::There(of) => {
                let of = *of;
                let of = self.source(point_ops, env, of);
                self.types.present(of)
            }
        }
    }

    fn both(&mut self, point_ops: &PointOps, env: &Env, sources: [SourceId; 2]) -> [TypeId; 2] {
        sources.map(|source| self.source(point_ops, env, source))
    }

    /// Returns the type of an accepted input, or of a successful result, at a point.
    pub(crate) fn answer_at(&mut self, point: PointIndex) -> TypeId {
        let point_ops = self.tables.ops.point_ops(point).clone();
        self.answer(&point_ops)
    }

    /// Returns the type of an accepted input, or of a successful result.
    pub(crate) fn answer(&mut self, point_ops: &PointOps) -> TypeId {
        self.incoming(&point_ops.incoming)
    }

    /// Returns the type of the successful result of a call.
    pub(crate) fn result(&mut self, call: &Call) -> TypeId {
        let incoming = Incoming::of_call(&mut self.types, call);
        self.incoming(&incoming)
    }

    fn incoming(&mut self, incoming: &Incoming) -> TypeId {
        let (made, fitting) = match incoming {
            Incoming::Known(of) => return *of,
            Incoming::Child(child, fitting) => (self.output(*child), fitting),
            Incoming::Parallel(results) => {
                let entries: Vec<_> = results.branches.iter().map(|(name, of)| (name.clone(), self.entry(results, of))).collect();
                (self.types.mapping(entries), &results.fitting)
            }
        };
        fitting.iter().fold(made, |known, declared| self.types.meet(known, *declared))
    }

    /// Returns the type of what a branch leaves in the result of the whole.
    fn entry(&mut self, results: &ParallelResults, branch: &Incoming) -> TypeId {
        let of = if results.collects { TypeId::UNKNOWN } else { self.incoming(branch) };
        if results.any { self.types.join(of, TypeId::ABSENT) } else { of }
    }
}
