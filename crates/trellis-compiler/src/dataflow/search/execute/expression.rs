//! Symbolic evaluation of expressions: the value, if all operands are known, else a variable of the expression's type.
//!
//! **Example:** `count + 1` is `3` where `count` is `2`, and some integer where `count` is an input.

use crate::dataflow::{
    budget::MAX_TRACKED_INTEGER,
    domain::TypeId,
    search::{state::SymState, tracked::key_path},
    symbolic::{Lookup, SymValue},
};
use trellis_base::{
    context::Context,
    scope::{RESERVED, Scope},
    template::{Expression, RenderLimits, Term},
    value::{Mapping, Value},
};
use trellis_engine::program::Limits;

impl SymState {
    /// Evaluates an expression that is not a path.
    pub(crate) fn make(&mut self, expression: &Expression) -> SymValue {
        if let Some(value) = self.work_out(expression) {
            return SymValue::Known(value);
        }
        let of = self.type_of(expression.term());
        self.constraints.of_type(of, expression.is_optional())
    }

    /// Returns the value of an expression whose operands are all known.
    fn work_out(&mut self, expression: &Expression) -> Option<Value> {
        let term = expression.term();
        if !term.is_exact() {
            return None;
        }
        let mut paths = Vec::new();
        term.each_path(&mut |path| paths.push(path));
        let mut known = Mapping::new();
        for path in paths {
            let root = path.root();
            if RESERVED.contains(&&**root) {
                return None;
            }
            match self.lookup(&key_path(root)?) {
                Lookup::Present(SymValue::Known(value)) => drop(known.insert(root.clone(), value)),
                Lookup::Absent => {}
                Lookup::Present(_) | Lookup::MaybePresent(_) => return None,
            }
        }
        let scope = Scope { context: Context::new(known), ..Scope::default() };
        let limits = Limits::default();
        let limits = RenderLimits { output: limits.template_output, fuel: limits.template_fuel };
        let value = expression.evaluate(&scope, limits).ok()??;
        let is_counted = match &value {
            Value::Null | Value::Bool(_) => true,
            Value::Int(number) => number.unsigned_abs() <= MAX_TRACKED_INTEGER,
            _ => false,
        };
        is_counted.then_some(value)
    }

    fn type_of(&mut self, term: &Term) -> TypeId {
        match term {
            Term::Unknown => TypeId::UNKNOWN_OR_ABSENT,
            Term::Path(path) => match self.lookup(path) {
                Lookup::Present(sym) | Lookup::MaybePresent(sym) => self.constraints.type_of(&sym),
                Lookup::Absent => TypeId::ABSENT,
            },
            Term::Constant(value) => self.constraints.types(|types| types.of_value(value)),
            Term::Of(sorts) => self.constraints.types(|types| types.of_sorts(*sorts)),
            Term::Integer => self.constraints.types(|types| types.integer()),
            Term::Whole(tables) | Term::Number(tables) => {
                let parts: Vec<TypeId> = tables.iter().map(|term| self.type_of(term)).collect();
                let whole = matches!(term, Term::Whole(_));
                self.constraints.types(|types| types.number(&parts, whole))
            }
            Term::Sum(tables) => {
                let [left, right] = [self.type_of(&tables[0]), self.type_of(&tables[1])];
                self.constraints.types(|types| types.sum(left, right))
            }
            Term::Product(tables) => {
                let [left, right] = [self.type_of(&tables[0]), self.type_of(&tables[1])];
                self.constraints.types(|types| types.product(left, right))
            }
            Term::Default(tables, falsy) => {
                let [first, second] = [self.type_of(&tables[0]), self.type_of(&tables[1])];
                self.constraints.types(|types| types.fallback(first, second, *falsy))
            }
            Term::Either(tables) => {
                let [one, other] = [self.type_of(&tables[0]), self.type_of(&tables[1])];
                self.constraints.types(|types| types.join(one, other))
            }
            Term::List(tables) => {
                let items: Vec<TypeId> = tables.iter().map(|term| self.type_of(term)).collect();
                self.constraints.types(|types| {
                    let items = items.into_iter().fold(TypeId::NEVER, |known, item| {
                        let item = types.present(item);
                        types.join(known, item)
                    });
                    types.list(items)
                })
            }
            Term::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|(key, term)| (key.clone(), self.type_of(term))).collect();
                self.constraints.types(|types| {
                    let entries: Vec<_> = entries.into_iter().map(|(key, of)| (key, types.present(of))).collect();
                    types.mapping(entries)
                })
            }
        }
    }
}
