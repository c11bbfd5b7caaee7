//! What a template uses: every path that must be set when it is met, with what decides whether it is met.
//!
//! It reads the tree that runs, in which every use carries [`hook::USE`] or [`hook::COMPARE`]; what a guard takes as it is carries none.

use std::ops::Range;

use minijinja::{
    machinery::ast::{BinOpKind, CallArg, Expr, Stmt, UnaryOpKind},
    value::{Value as Dyn, ValueKind},
};

use super::{
    demand::{Demand, demand_of, demand_of_operator},
    lower::extent,
    machine::hook,
};
use crate::{
    path::{KeyPath, Segment},
    value::Value,
};

/// A use of a path; it fails where nothing is there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Use {
    pub(super) path: KeyPath,
    /// Bytes of the template.
    pub(super) place: Range<usize>,
    /// What must hold for it to be met.
    pub(super) when: Box<[Test]>,
    /// Whether it goes on below the path, into what nothing is known of: a list's item, a computed key.
    pub(super) deep: bool,
    /// What it must be, lest the rendering fails.
    pub(super) demand: Option<Demand>,
}

/// What decides whether a part of a template is met.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// The path is there and neither empty, zero nor false; `false` turns it round.
    Truthy(KeyPath, bool),
    /// The path is there.
    Set(KeyPath, bool),
    /// The path is this value.
    Is(KeyPath, bool, Value),
    /// Something that is not followed.
    Opaque,
}

impl Test {
    /// The path that it asks about.
    pub(crate) fn path(&self) -> Option<&KeyPath> {
        match self {
            Self::Truthy(path, _) | Self::Set(path, _) | Self::Is(path, ..) => Some(path),
            Self::Opaque => None,
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Truthy(path, yes) => Self::Truthy(path, !yes),
            Self::Set(path, yes) => Self::Set(path, !yes),
            Self::Is(path, yes, value) => Self::Is(path, !yes, value),
            Self::Opaque => Self::Opaque,
        }
    }
}

/// The uses of a template, in order.
pub(super) fn of_template(tree: &Stmt<'_>) -> Box<[Use]> {
    let mut reads = Reads::default();
    reads.statement(tree);
    reads.uses.into()
}

/// The uses of an expression whose value is wanted, unless it is optional.
pub(super) fn of_expression(tree: &Expr<'_>, optional: bool) -> Box<[Use]> {
    let mut reads = Reads::default();
    reads.expression(tree, !optional);
    reads.uses.into()
}

/// The path that an expression is, with or without `optional` behind it.
pub(super) fn path_of(tree: &Expr<'_>) -> Option<KeyPath> {
    let tree = match tree {
        Expr::Filter(node) if node.name == "optional" => node.expr.as_ref()?,
        other => other,
    };
    path(inner(tree)?).filter(|(_, deep)| !deep).map(|(path, _)| path)
}

#[derive(Default)]
struct Reads<'s> {
    uses: Vec<Use>,
    /// Names that the template gives values to.
    local: Vec<&'s str>,
    when: Vec<Test>,
    demand: Option<Demand>,
}

impl<'s> Reads<'s> {
    fn add(&mut self, path: KeyPath, deep: bool, tree: &Expr<'_>) {
        if self.local.contains(&&**path.root()) {
            return;
        }
        let span = extent(tree);
        let place = span.start_offset as usize..span.end_offset as usize;
        self.uses.push(Use { path, place, when: self.when.clone().into(), deep, demand: self.demand });
    }

    /// Says what is demanded from here on, and what was before. No closure: templates nest deeply, and each frame counts.
    fn demands(&mut self, demand: Option<Demand>) -> Option<Demand> {
        std::mem::replace(&mut self.demand, demand)
    }

    /// Visits what is met only when `tests` hold.
    fn under(&mut self, tests: Vec<Test>, visit: impl FnOnce(&mut Self)) {
        let outside = self.when.len();
        self.when.extend(tests);
        visit(self);
        self.when.truncate(outside);
    }

    fn body(&mut self, statements: &[Stmt<'s>]) {
        statements.iter().for_each(|child| self.statement(child));
    }

    fn statement(&mut self, tree: &Stmt<'s>) {
        match tree {
            Stmt::Template(node) => self.body(&node.children),
            Stmt::EmitExpr(node) => self.expression(&node.expr, false),
            Stmt::ForLoop(node) => {
                let outside = self.demands(Some(Demand::Items));
                self.expression(&node.iter, false);
                self.demand = outside;
                let test = inner(&node.iter).and_then(path).map_or(Test::Opaque, |(path, _)| Test::Truthy(path, true));
                let outside = self.local.len();
                self.named(&node.target);
                self.local.push("loop");
                self.under(vec![test.clone()], |reads| {
                    reads.body(&node.body);
                    reads.under(vec![Test::Opaque], |reads| node.filter_expr.iter().for_each(|filter| reads.expression(filter, false)));
                });
                self.local.truncate(outside);
                self.under(vec![test.negated()], |reads| reads.body(&node.else_body));
            }
            Stmt::IfCond(node) => {
                self.expression(&node.expr, false);
                let tests = tests(&node.expr);
                let otherwise = opposite(&tests);
                self.under(tests, |reads| reads.body(&node.true_body));
                self.under(otherwise, |reads| reads.body(&node.false_body));
            }
            Stmt::WithBlock(node) => {
                let outside = self.local.len();
                for (target, value) in &node.assignments {
                    self.expression(value, false);
                    self.named(target);
                }
                self.body(&node.body);
                self.local.truncate(outside);
            }
            Stmt::Set(node) => {
                self.expression(&node.expr, false);
                self.named(&node.target);
            }
            Stmt::SetBlock(node) => {
                self.body(&node.body);
                self.named(&node.target);
            }
            Stmt::FilterBlock(node) => {
                self.expression(&node.filter, false);
                self.body(&node.body);
            }
            Stmt::EmitRaw(_) | Stmt::AutoEscape(_) | Stmt::Do(_) => {}
        }
    }

    fn named(&mut self, target: &Expr<'s>) {
        match target {
            Expr::Var(node) => self.local.push(node.id),
            Expr::List(node) => node.items.iter().for_each(|item| self.named(item)),
            _ => {}
        }
    }

    /// `used`: whether the value fails where nothing is there.
    fn expression(&mut self, tree: &Expr<'s>, used: bool) {
        if let Some((path, deep)) = path(tree).filter(|_| used) {
            self.add(path, deep, tree);
        }
        match tree {
            Expr::Filter(node) => self.filter(node.name, node.expr.as_ref(), &node.args, used),
            Expr::GetAttr(node) if path(tree).is_none() => self.expression(&node.expr, used),
            Expr::GetItem(node) => {
                if path(tree).is_none() {
                    self.expression(&node.expr, used);
                }
                self.expression(&node.subscript_expr, false);
            }
            Expr::UnaryOp(node) => {
                let is_negation = matches!(node.op, UnaryOpKind::Neg);
                let outside = self.demands(is_negation.then_some(Demand::Number));
                self.expression(&node.expr, is_negation);
                self.demand = outside;
            }
            Expr::BinOp(node) => match node.op {
                BinOpKind::ScAnd => {
                    self.expression(&node.left, used);
                    self.under(tests(&node.left), |reads| reads.expression(&node.right, used));
                }
                BinOpKind::ScOr => {
                    self.expression(&node.left, false);
                    self.under(opposite(&tests(&node.left)), |reads| reads.expression(&node.right, used));
                }
                ref op => {
                    let outside = self.demands(demand_of_operator(op));
                    self.expression(&node.left, false);
                    self.expression(&node.right, false);
                    self.demand = outside;
                }
            },
            Expr::Compare(node) => {
                let outside = self.demands(None);
                self.expression(&node.expr, false);
                node.ops.iter().for_each(|op| self.expression(&op.expr, false));
                self.demand = outside;
            }
            Expr::IfExpr(node) => {
                self.expression(&node.test_expr, false);
                let tests = tests(&node.test_expr);
                let otherwise = opposite(&tests);
                self.under(tests, |reads| reads.expression(&node.true_expr, used));
                self.under(otherwise, |reads| node.false_expr.iter().for_each(|value| reads.expression(value, used)));
            }
            Expr::Test(node) => {
                let is_plain = node.args.is_empty() && !matches!(node.name, "odd" | "even");
                let outside = self.demands((!is_plain).then_some(Demand::Other));
                self.expression(&node.expr, false);
                self.demand = outside;
                self.arguments(&node.args);
            }
            Expr::Call(node) => self.arguments(&node.args),
            Expr::List(node) => node.items.iter().for_each(|item| self.expression(item, false)),
            Expr::Tuple(node) => node.items.iter().for_each(|item| self.expression(item, false)),
            Expr::Map(node) => node.keys.iter().chain(&node.values).for_each(|item| self.expression(item, false)),
            Expr::GetAttr(_) | Expr::Var(_) | Expr::Const(_) | Expr::Slice(_) => {}
        }
    }

    fn filter(&mut self, name: &str, input: Option<&Expr<'s>>, args: &[CallArg<'s>], used: bool) {
        match name {
            hook::USE | hook::COMPARE => input.iter().for_each(|input| self.expression(input, true)),
            hook::KEEP => input.iter().for_each(|input| self.expression(input, used)),
            // What it falls back to is used only when it is the result.
            "default" | "d" => {
                input.iter().for_each(|input| self.expression(input, false));
                let test = input.and_then(path).map_or(Test::Opaque, |(path, _)| Test::Set(path, false));
                self.under(vec![test], |reads| args.iter().for_each(|arg| reads.expression(value_of(arg), used)));
            }
            _ => {
                let outside = self.demands(demand_of(name));
                input.iter().for_each(|input| self.expression(input, false));
                self.demand = outside;
                self.arguments(args);
            }
        }
    }

    fn arguments(&mut self, args: &[CallArg<'s>]) {
        let outside = self.demands(Some(Demand::Other));
        args.iter().for_each(|arg| self.expression(value_of(arg), false));
        self.demand = outside;
    }
}

fn value_of<'a, 's>(arg: &'a CallArg<'s>) -> &'a Expr<'s> {
    let (CallArg::Pos(value) | CallArg::PosSplat(value) | CallArg::KwargSplat(value) | CallArg::Kwarg(_, value)) = arg;
    value
}

/// What stands inside of hooks.
fn inner<'a, 's>(tree: &'a Expr<'s>) -> Option<&'a Expr<'s>> {
    match tree {
        Expr::Filter(node) if matches!(node.name, hook::USE | hook::COMPARE | hook::KEEP) => inner(node.expr.as_ref()?),
        other => Some(other),
    }
}

/// What holds when an expression is taken for true; everything of it must.
fn tests(tree: &Expr<'_>) -> Vec<Test> {
    let Some(tree) = inner(tree) else { return vec![Test::Opaque] };
    match tree {
        Expr::BinOp(node) if matches!(node.op, BinOpKind::ScAnd) => [tests(&node.left), tests(&node.right)].concat(),
        Expr::UnaryOp(node) if matches!(node.op, UnaryOpKind::Not) => opposite(&tests(&node.expr)),
        Expr::Test(node) if matches!(node.name, "defined" | "undefined") => match path(&node.expr) {
            Some((path, false)) => vec![Test::Set(path, node.name == "defined")],
            _ => vec![Test::Opaque],
        },
        Expr::BinOp(node) if matches!(node.op, BinOpKind::Eq | BinOpKind::Ne) => {
            comparison(&node.left, &node.right, matches!(node.op, BinOpKind::Eq)).map_or_else(|| vec![Test::Opaque], |test| vec![test])
        }
        other => match path(other) {
            Some((path, false)) => vec![Test::Truthy(path, true)],
            _ => vec![Test::Opaque],
        },
    }
}

fn comparison(left: &Expr<'_>, right: &Expr<'_>, equal: bool) -> Option<Test> {
    let (left, right) = (inner(left)?, inner(right)?);
    let (of, literal) = match (left, right) {
        (of, Expr::Const(literal)) | (Expr::Const(literal), of) => (of, literal),
        _ => return None,
    };
    let (path, deep) = path(of)?;
    (!deep).then_some(Test::Is(path, equal, literal_value(&literal.value)?))
}

fn literal_value(value: &Dyn) -> Option<Value> {
    match value.kind() {
        ValueKind::String => value.as_str().map(Value::text),
        ValueKind::Bool => Some(value.is_true().into()),
        ValueKind::Number if value.is_integer() => i64::try_from(value.clone()).ok().map(Value::Int),
        _ => None,
    }
}

/// What holds when these do not all hold: known only of a single one.
fn opposite(tests: &[Test]) -> Vec<Test> {
    match tests {
        [test] => vec![test.clone().negated()],
        _ => vec![Test::Opaque],
    }
}

/// The path that an expression is, if it begins with a name, and whether it goes on below it.
fn path(tree: &Expr<'_>) -> Option<(KeyPath, bool)> {
    fn segments(tree: &Expr<'_>, out: &mut Vec<Segment>) -> Option<bool> {
        let (of, segment) = match tree {
            Expr::Var(node) if !super::secret::is_masked(node.id) => {
                out.push(Segment::Key(node.id.into()));
                return Some(false);
            }
            Expr::GetAttr(node) => (&node.expr, Some(Segment::Key(node.name.into()))),
            Expr::GetItem(node) => match inner(&node.subscript_expr)? {
                Expr::Const(key) => (&node.expr, key.value.as_str().map(|key| Segment::Key(key.into()))),
                _ => (&node.expr, None),
            },
            _ => return None,
        };
        let deep = segments(of, out)?;
        match segment {
            Some(segment) if !deep => {
                out.push(segment);
                Some(false)
            }
            _ => Some(true),
        }
    }
    let mut out = Vec::new();
    let deep = segments(tree, &mut out)?;
    Some((KeyPath::new(out)?, deep))
}

#[cfg(test)]
mod tests;
