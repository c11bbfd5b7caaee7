//! The uses of a template: every path that must be set when it is reached, with the tests that decide whether it is reached.
//!
//! It reads the tree that runs, in which every use carries [`hook::USE`] or [`hook::COMPARE`]; a path that a guard accepts unset carries none.
//!
//! **Invariant:** every possible failure because of a value is a use: of the path at its place, or [`Use::blind`] where that is not tracked.

mod calculations;
mod filters;
mod scope;
mod tests_of;

use std::{ops::Range, sync::Arc};

use minijinja::{
    machinery::ast::{BinOpKind, CallArg, Expr, Filter, Spanned, Stmt, UnaryOpKind},
    value::{Value as Dyn, ValueKind},
};

pub(super) use self::scope::{OF_LOOP, TemplateNames, ValueSource, is_range};
use self::{
    calculations::{constant, taken_by_test},
    scope::{Binding, attribute, beginning, of_loop},
    tests_of::{Asked, opposite},
};
pub use self::{scope::ElementStep, tests_of::GuardedTest};
use super::{
    calculation::Calculation,
    kinds::{self, Demand, KindSet},
    lower::extent,
    machine::hook,
};
use crate::{path::KeyPath, value::Value};

/// A use of a path; it fails if the path is not set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Use {
    pub(super) path: KeyPath,
    /// Bytes of the template.
    pub(super) place: Range<usize>,
    /// The tests under which it is reached.
    pub(super) when: Box<[GuardedTest]>,
    /// Steps from the path into its value, where not the whole value is used.
    pub(super) inside: Box<[ElementStep]>,
    /// True if it continues from there, into unknown values: a list's item by its number, a computed key.
    pub(super) deep: bool,
    /// The sorts that it must have, lest the rendering fails.
    pub(super) demand: Option<Demand>,
    /// True if it only marks an unchecked use here; the path names it.
    pub(super) blind: bool,
    /// The calculation that it is, where several parts have to go together: then each part is a use of its own as well.
    pub(super) calculation: Option<Arc<Calculation>>,
}

/// The uses of a template, in order.
pub(super) fn of_template(tree: &Stmt<'_>) -> Box<[Use]> {
    let mut reads = TemplateReads::default();
    reads.statement(tree);
    reads.uses.into()
}

/// The uses of an expression whose value is wanted, unless it is optional.
pub(super) fn of_expression(tree: &Expr<'_>, optional: bool) -> Box<[Use]> {
    let mut reads = TemplateReads::default();
    let made = reads.expression(tree, !optional);
    reads.takes(tree, made, !optional);
    reads.uses.into()
}

/// The path that an expression is, with or without `optional` behind it.
pub(super) fn path_of(tree: &Expr<'_>) -> Option<KeyPath> {
    let tree = match tree {
        Expr::Filter(node) if node.name == "optional" => node.expr.as_ref()?,
        other => other,
    };
    TemplateNames::default().source(inner(tree)?)?.plain()
}

#[derive(Default)]
struct TemplateReads<'s> {
    uses: Vec<Use>,
    names: TemplateNames<'s>,
    when: Vec<GuardedTest>,
    /// The values inside of paths that enclosing tests show to be present.
    there: Vec<ValueSource>,
    demand: Option<Demand>,
}

impl<'s> TemplateReads<'s> {
    fn add(&mut self, source: ValueSource, tree: &Expr<'_>) {
        let is_there = |known: &ValueSource| known.path == source.path && known.inside.starts_with(&source.inside) && !source.deep;
        if !source.inside.is_empty() && self.demand.is_none() && self.there.iter().any(is_there) {
            return;
        }
        let (when, inside) = (self.when.clone().into(), source.inside.into());
        // What is unknown inside of a value is calculated with there, not the value.
        let (demand, deep) = (self.demand.filter(|_| !source.deep), source.deep);
        self.uses.push(Use { path: source.path, place: place(tree), when, inside, deep, demand, blind: false, calculation: None });
    }

    /// Sets the demand from here on, and returns the one before. No closure: templates nest deeply, and each frame counts.
    fn demands(&mut self, demand: Option<Demand>) -> Option<Demand> {
        std::mem::replace(&mut self.demand, demand)
    }

    /// An operand with `demand` on its value.
    fn operand(&mut self, tree: &Expr<'s>, demand: Option<Demand>) -> KindSet {
        let outside = self.demands(demand);
        let made = self.expression(tree, false);
        self.takes(tree, made, false);
        self.demand = outside;
        made
    }

    fn visit(&mut self, tree: &Expr<'s>, demand: Option<Demand>) {
        self.operand(tree, demand);
    }

    /// Visits a part that is reached only when `asked` holds.
    fn under<T>(&mut self, asked: Vec<Asked>, visit: impl FnOnce(&mut Self) -> T) -> T {
        let (outside, there) = (self.when.len(), self.there.len());
        for asked in asked {
            match asked {
                Asked::Test(test) => self.when.push(test),
                Asked::Inside(source, yes) => {
                    self.when.push(GuardedTest::Opaque);
                    self.there.extend(yes.then_some(source));
                }
            }
        }
        let result = visit(self);
        self.when.truncate(outside);
        self.there.truncate(there);
        result
    }

    fn body(&mut self, statements: &[Stmt<'s>]) {
        statements.iter().for_each(|child| self.statement(child));
    }

    fn statement(&mut self, tree: &Stmt<'s>) {
        match tree {
            Stmt::Template(node) => self.body(&node.children),
            Stmt::EmitExpr(node) => self.visit(&node.expr, None),
            Stmt::ForLoop(node) => {
                self.operand(&node.iter, Some(kinds::LOOPED));
                let test = self.names.over(&node.iter).map_or(GuardedTest::Opaque, |path| GuardedTest::Truthy(path, true));
                let outside = self.names.len();
                let is_pair = matches!(&node.target, Expr::List(list) if list.items.len() == 2);
                let bindings = self.names.looped(&node.iter, is_pair);
                let asked = vec![Asked::Test(test)];
                let otherwise = opposite(&asked);
                let mapped = self.names.mapped(&node.iter);
                self.under(asked, |reads| {
                    reads.there.extend(mapped);
                    reads.named(&node.target, bindings);
                    reads.names.bind("loop", Binding::of(KindSet::MAPPING));
                    let inside = node.filter_expr.as_ref().map(|filter| {
                        reads.operand(filter, None);
                        tests_of::asked(&reads.names, filter)
                    });
                    reads.under(inside.unwrap_or_default(), |reads| reads.body(&node.body));
                });
                self.names.forget(outside);
                self.under(otherwise, |reads| reads.body(&node.else_body));
                self.names.forget(outside);
            }
            Stmt::IfCond(node) => {
                self.operand(&node.expr, None);
                let asked = tests_of::asked(&self.names, &node.expr);
                let otherwise = opposite(&asked);
                let outside = self.names.len();
                self.under(asked, |reads| reads.body(&node.true_body));
                let one = self.names.forget(outside);
                self.under(otherwise, |reads| reads.body(&node.false_body));
                let other = self.names.forget(outside);
                self.names.meet(&one, &other);
            }
            Stmt::WithBlock(node) => {
                let outside = self.names.len();
                for (target, value) in &node.assignments {
                    self.assign(target, value);
                }
                self.body(&node.body);
                self.names.forget(outside);
            }
            Stmt::Set(node) => self.assign(&node.target, &node.expr),
            Stmt::SetBlock(node) => {
                self.body(&node.body);
                let made = node.filter.as_ref().map_or(KindSet::TEXT, |filter| self.operand(filter, None));
                self.named(&node.target, vec![Binding::of(made)]);
            }
            Stmt::FilterBlock(node) => {
                self.operand(&node.filter, None);
                self.body(&node.body);
            }
            Stmt::EmitRaw(_) | Stmt::AutoEscape(_) | Stmt::Do(_) => {}
        }
    }

    fn assign(&mut self, target: &Expr<'s>, value: &Expr<'s>) {
        let made = self.operand(value, None);
        let of = inner(value).unwrap_or(value);
        let (whole, items) = (self.names.source(of), self.names.items(of));
        let binding = Binding { whole, items, ..Binding::of(made) };
        self.named(target, vec![binding]);
    }

    /// Gives names to values; where there are more names than values, a list has to be taken apart.
    fn named(&mut self, target: &Expr<'s>, bindings: Vec<Binding>) {
        match target {
            Expr::Var(node) => {
                let binding = bindings.into_iter().next().unwrap_or_else(|| Binding::of(KindSet::ANY));
                self.names.bind(node.id, binding);
            }
            Expr::List(node) => {
                if bindings.len() != node.items.len() {
                    self.blind(target);
                    return node.items.iter().for_each(|item| self.named(item, Vec::new()));
                }
                node.items.iter().zip(bindings).for_each(|(item, binding)| self.named(item, vec![binding]));
            }
            _ => {}
        }
    }

    /// Returns the sorts of an expression. `used`: whether it fails if the value is absent.
    fn expression(&mut self, tree: &Expr<'s>, used: bool) -> KindSet {
        if let Some(source) = self.names.source(tree) {
            let is_asked = self.demand.is_some();
            let made = match source.clone().plain() {
                _ if used => {
                    self.add(source, tree);
                    KindSet::READ
                }
                Some(path) if is_asked => {
                    // It is read as it is only if it is set.
                    self.under(vec![Asked::Test(GuardedTest::Set(path, true))], |reads| reads.add(source, tree));
                    KindSet::READ.or(KindSet::UNSET)
                }
                _ => KindSet::READ.or(KindSet::UNSET).or(if is_asked { KindSet::ANY } else { KindSet::NONE }),
            };
            self.subscripts(tree);
            return made;
        }
        match tree {
            Expr::Const(node) => KindSet::of(&node.value),
            Expr::Var(node) => self.names.sorts(node.id).unwrap_or(KindSet::ANY.or(KindSet::UNSET)),
            Expr::Filter(node) if node.name == "map" && self.mapped(tree, node) => KindSet::LIST,
            Expr::Filter(node) if node.name == "sum" && self.summed(tree, node) => KindSet::NUMBER,
            Expr::Filter(node) => {
                let calculation = self.calculation(tree);
                let made = self.filter(node.name, node.expr.as_ref(), &node.args, used, calculation.is_some());
                self.calculates(calculation, tree);
                made
            }
            Expr::GetAttr(node) => match &node.expr {
                Expr::Var(var) if var.id == "loop" => of_loop(node.name),
                of => {
                    self.operand(of, None);
                    KindSet::ANY.or(KindSet::UNSET)
                }
            },
            Expr::GetItem(node) => {
                self.operand(&node.expr, None);
                self.operand(&node.subscript_expr, None);
                KindSet::ANY.or(KindSet::UNSET)
            }
            Expr::UnaryOp(node) if matches!(node.op, UnaryOpKind::Neg) => {
                let calculation = self.calculation(tree);
                self.part(&node.expr, Some(KindSet::NUMBER), calculation.is_some());
                self.calculates(calculation, tree);
                KindSet::NUMBER
            }
            Expr::UnaryOp(node) => {
                self.operand(&node.expr, None);
                KindSet::TRUTH
            }
            Expr::BinOp(node) => match node.op {
                BinOpKind::ScAnd | BinOpKind::ScOr => {
                    let is_and = matches!(node.op, BinOpKind::ScAnd);
                    let asked = tests_of::asked(&self.names, &node.left);
                    let otherwise = opposite(&asked);
                    let left =
                        if is_and { self.expression(&node.left, used) } else { self.expression(&node.left, false).without(KindSet::UNSET) };
                    let right = self.under(if is_and { asked } else { otherwise }, |reads| reads.expression(&node.right, used));
                    left.or(right)
                }
                ref op => {
                    let (of_left, of_right) = kinds::taken_by_operator(op, constant(&node.right));
                    let calculation = self.calculation(tree);
                    self.part(&node.left, of_left, calculation.is_some());
                    self.part(&node.right, of_right, calculation.is_some());
                    if matches!(op, BinOpKind::In) {
                        self.looked_for(&node.left, &node.right);
                    }
                    self.calculates(calculation, tree);
                    let is_asked = matches!(
                        op,
                        BinOpKind::Eq | BinOpKind::Ne | BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte | BinOpKind::In
                    );
                    if is_asked { KindSet::TRUTH } else { KindSet::NUMBER }
                }
            },
            Expr::Compare(node) => {
                self.operand(&node.expr, None);
                for op in &node.ops {
                    let demand = kinds::taken_by_comparison(op.op);
                    self.visit(&op.expr, demand);
                    if demand.is_some() {
                        self.looked_for(&node.expr, &op.expr);
                    }
                }
                KindSet::TRUTH
            }
            Expr::IfExpr(node) => {
                self.operand(&node.test_expr, None);
                let asked = tests_of::asked(&self.names, &node.test_expr);
                let otherwise = opposite(&asked);
                let one = self.under(asked, |reads| reads.expression(&node.true_expr, used));
                let other = self.under(otherwise, |reads| node.false_expr.as_ref().map(|value| reads.expression(value, used)));
                one.or(other.unwrap_or(KindSet::NULL))
            }
            Expr::Test(node) => {
                let calculation = self.calculation(tree);
                self.part(&node.expr, taken_by_test(node.name), calculation.is_some());
                self.arguments(&node.args, calculation.is_some());
                self.calculates(calculation, tree);
                KindSet::TRUTH
            }
            Expr::Call(node) => {
                let calculation = self.calculation(tree);
                self.arguments(&node.args, calculation.is_some());
                self.calculates(calculation, tree);
                let is_changed = matches!(&node.expr, Expr::GetAttr(of) if of.name == "changed");
                if is_range(tree) {
                    KindSet::LIST
                } else if is_changed {
                    KindSet::TRUTH
                } else {
                    KindSet::ANY
                }
            }
            Expr::List(node) => {
                node.items.iter().for_each(|item| self.visit(item, None));
                KindSet::LIST
            }
            Expr::Tuple(node) => {
                node.items.iter().for_each(|item| self.visit(item, None));
                KindSet::LIST
            }
            Expr::Map(node) => {
                node.keys.iter().chain(&node.values).for_each(|item| self.visit(item, None));
                KindSet::MAPPING
            }
            Expr::Slice(_) => KindSet::ANY,
        }
    }

    /// Visits the computed subscripts of a path.
    fn subscripts(&mut self, tree: &Expr<'s>) {
        match tree {
            Expr::GetAttr(node) => self.subscripts(&node.expr),
            Expr::GetItem(node) => {
                self.subscripts(&node.expr);
                self.visit(&node.subscript_expr, None);
            }
            _ => {}
        }
    }
}

fn place(tree: &Expr<'_>) -> Range<usize> {
    let span = extent(tree);
    span.start_offset as usize..span.end_offset as usize
}

fn value_of<'a, 's>(arg: &'a CallArg<'s>) -> &'a Expr<'s> {
    let (CallArg::Pos(value) | CallArg::PosSplat(value) | CallArg::KwargSplat(value) | CallArg::Kwarg(_, value)) = arg;
    value
}

/// Returns the expression inside of hooks.
pub(super) fn inner<'a, 's>(tree: &'a Expr<'s>) -> Option<&'a Expr<'s>> {
    match tree {
        Expr::Filter(node) if matches!(node.name, hook::USE | hook::COMPARE | hook::KEEP) => inner(node.expr.as_ref()?),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
mod untracked;
