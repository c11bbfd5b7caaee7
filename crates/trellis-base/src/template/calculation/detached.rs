//! Taking a calculation out of the tree that runs.

use std::sync::OnceLock;

use minijinja::machinery::ast::{self, BinOpKind, CallArg, CompareOp, CompareOpKind, Expr, Spanned, UnaryOpKind};

use super::{Calculation, LastOperation, NAMES, Nature, PATHS};
use crate::{
    path::KeyPath,
    template::{
        builtins::{FILTERS, TESTS},
        machine::hook,
    },
};

/// Parts that a calculation may have: each of them is copied as often as it is nested inside another.
const PARTS: usize = 32;

/// The hooks that a lowered tree calls in addition to the functions for authors.
const HOOKS: [&str; 7] = [hook::USE, hook::COMPARE, hook::MAYBE, hook::SLICE, hook::CONCAT, hook::ADD, hook::MULTIPLY];

struct Detaching<P> {
    at: P,
    paths: Vec<KeyPath>,
    form: String,
    parts: usize,
    nature: Nature,
    /// True if it has a part that is no number, for all values of its paths.
    is_mixed: bool,
}

/// The meaning of an expression.
pub(crate) enum At {
    Path(KeyPath),
    Computed,
    /// Something that is not followed.
    Elsewhere,
}

/// Returns the calculation of an expression; `None` if it reads too many paths, or has a part that is not tracked. `at` returns the meaning
/// of an expression.
pub(crate) fn detached(tree: &Expr<'_>, at: impl Fn(&Expr<'_>) -> At) -> Option<Calculation> {
    let mut detaching = Detaching { at, paths: Vec::new(), form: String::new(), parts: 0, nature: Nature::Sorts, is_mixed: false };
    let tree = detaching.expression(tree)?;
    let Detaching { paths, form, nature, is_mixed, .. } = detaching;
    Some(Calculation {
        paths: (!paths.is_empty()).then(|| paths.into())?,
        form: form.into(),
        nature: if nature == Nature::Numbers && is_mixed { Nature::Values } else { nature },
        last: match &tree {
            Expr::Filter(node) if node.name == hook::ADD => LastOperation::Adds,
            Expr::Filter(node) if node.name == hook::MULTIPLY => LastOperation::Reckons,
            Expr::BinOp(_) | Expr::UnaryOp(_) => LastOperation::Reckons,
            _ => LastOperation::Other,
        },
        tree,
        program: OnceLock::new(),
    })
}

impl<P: Fn(&Expr<'_>) -> At> Detaching<P> {
    fn is(&mut self, nature: Nature) {
        self.nature = self.nature.max(nature);
    }

    fn expression(&mut self, tree: &Expr<'_>) -> Option<Expr<'static>> {
        self.parts += 1;
        if self.parts > PARTS {
            return None;
        }
        let span = tree.span();
        match (self.at)(tree) {
            At::Elsewhere => return None,
            At::Path(path) => {
                let at = self.paths.iter().position(|known| *known == path).unwrap_or(self.paths.len());
                if at == self.paths.len() {
                    self.paths.push(path);
                }
                self.form.push(char::from(b'a' + u8::try_from(at).ok()?));
                return (at < PATHS).then(|| Expr::Var(Spanned::new(ast::Var { id: NAMES[at] }, span)));
            }
            At::Computed => {}
        }
        Some(match tree {
            Expr::Const(node) => {
                self.form.push_str(&format!("{:?}", node.value));
                self.is_mixed |= !node.value.is_number();
                Expr::Const(Spanned::new(ast::Const { value: node.value.clone() }, span))
            }
            Expr::Filter(node) => {
                let listed = FILTERS.iter().map(|known| known.name).chain(HOOKS);
                let name = self.named(node.name, listed)?;
                self.is(match name {
                    hook::USE | hook::ADD | hook::CONCAT => Nature::Sorts,
                    "default" | "d" if node.args.len() == 1 => Nature::Sorts,
                    hook::MULTIPLY => Nature::Numbers,
                    _ => Nature::Values,
                });
                self.is_mixed |= name == hook::CONCAT;
                let expr = Some(self.expression(node.expr.as_ref()?)?);
                Expr::Filter(Spanned::new(ast::Filter { name, expr, args: self.arguments(&node.args)? }, span))
            }
            Expr::Test(node) => {
                let name = self.named(node.name, TESTS.iter().map(|known| known.name))?;
                self.is(Nature::Values);
                let expr = self.expression(&node.expr)?;
                Expr::Test(Spanned::new(ast::Test { name, expr, args: self.arguments(&node.args)? }, span))
            }
            Expr::UnaryOp(node) => {
                let (op, sign) = match node.op {
                    UnaryOpKind::Not => (UnaryOpKind::Not, "not("),
                    UnaryOpKind::Neg => (UnaryOpKind::Neg, "-("),
                };
                self.is(if matches!(op, UnaryOpKind::Neg) { Nature::Numbers } else { Nature::Values });
                self.form.push_str(sign);
                let expr = self.expression(&node.expr)?;
                self.form.push(')');
                Expr::UnaryOp(Spanned::new(ast::UnaryOp { op, expr }, span))
            }
            Expr::BinOp(node) if !matches!(node.op, BinOpKind::ScAnd | BinOpKind::ScOr) => {
                let divides = || matches!(&node.right, Expr::Const(by) if by.value.is_number() && by.value.is_true());
                self.is(match node.op {
                    BinOpKind::Sub => Nature::Numbers,
                    BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem if divides() => Nature::Numbers,
                    _ => Nature::Values,
                });
                self.form.push_str(&format!("{}(", node.op as u8));
                let left = self.expression(&node.left)?;
                self.form.push(',');
                let right = self.expression(&node.right)?;
                self.form.push(')');
                Expr::BinOp(Spanned::new(ast::BinOp { op: node.op, left, right }, span))
            }
            Expr::Compare(node) => {
                self.is(Nature::Values);
                self.form.push_str("?(");
                let expr = self.expression(&node.expr)?;
                let ops = node.ops.iter().map(|op| self.compared(op.op, &op.expr)).collect::<Option<Vec<_>>>()?;
                self.form.push(')');
                Expr::Compare(Spanned::new(ast::Compare { expr, ops }, span))
            }
            Expr::Call(node) if matches!(&node.expr, Expr::Var(name) if name.id == hook::RANGE) => {
                self.is(Nature::Values);
                self.form.push_str(hook::RANGE);
                let expr = Expr::Var(Spanned::new(ast::Var { id: hook::RANGE }, span));
                Expr::Call(Spanned::new(ast::Call { expr, args: self.arguments(&node.args)? }, span))
            }
            Expr::List(node) => {
                self.form.push('[');
                let items = node.items.iter().map(|item| self.expression(item)).collect::<Option<Vec<_>>>()?;
                self.form.push(']');
                self.is_mixed = true;
                Expr::List(Spanned::new(ast::List { items }, span))
            }
            _ => return None,
        })
    }

    fn compared(&mut self, op: CompareOpKind, expr: &Expr<'_>) -> Option<CompareOp<'static>> {
        self.form.push_str(&format!("{},", op as u8));
        Some(CompareOp { op, expr: self.expression(expr)? })
    }

    fn named(&mut self, name: &str, mut listed: impl Iterator<Item = &'static str>) -> Option<&'static str> {
        let name = listed.find(|known| *known == name)?;
        self.form.push_str(name);
        Some(name)
    }

    /// Converts arguments by position: those by name are not tracked.
    fn arguments(&mut self, args: &[CallArg<'_>]) -> Option<Vec<CallArg<'static>>> {
        self.form.push('(');
        let args = args.iter().map(|arg| match arg {
            CallArg::Pos(value) => Some(CallArg::Pos(self.expression(value)?)),
            _ => None,
        });
        let args = args.collect::<Option<Vec<_>>>()?;
        self.form.push(')');
        Some(args)
    }
}
