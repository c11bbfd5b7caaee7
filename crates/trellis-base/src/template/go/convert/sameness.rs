//! Two trees compared up to the names that they give: if they are the same, they render the same.
//!
//! A tree is written down with the number of its binder for each name that a `for` or `with` gave, so that a name which hides another shows. A `with`
//! of a path is the test of that path, and its name is replaced by the path: nothing can change it meanwhile.

use minijinja::{
    machinery::ast::{BinOpKind, CallArg, Expr, Stmt, UnaryOpKind},
    value::ValueKind,
};

use super::writer::is_path;
use crate::template::bridge::context_key;

/// Returns whether two trees render the same over every context.
pub(super) fn same(one: &Stmt<'_>, other: &Stmt<'_>) -> bool {
    let parts = |tree: &Stmt<'_>| {
        let mut parts = Parts::default();
        parts.statement(tree);
        (!parts.strange).then_some(parts.parts)
    };
    parts(one).is_some_and(|one| parts(other).as_ref() == Some(&one))
}

#[derive(PartialEq)]
enum ComparedPart {
    Text(String),
    Code(String),
}

#[derive(Default)]
struct Parts<'s> {
    parts: Vec<ComparedPart>,
    /// Names, and their written form.
    names: Vec<(&'s str, String)>,
    binders: usize,
    /// True once a form was met that no conversion makes.
    strange: bool,
}

impl<'s> Parts<'s> {
    fn code(&mut self, code: String) {
        self.parts.push(ComparedPart::Code(code));
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(ComparedPart::Text(before)) => before.push_str(text),
            _ => self.parts.push(ComparedPart::Text(text.to_owned())),
        }
    }

    fn bind(&mut self, target: &Expr<'s>) {
        match target {
            Expr::Var(node) => {
                self.binders += 1;
                self.names.push((node.id, format!("#{}", self.binders)));
            }
            Expr::List(node) => node.items.iter().for_each(|item| self.bind(item)),
            _ => self.strange = true,
        }
    }

    fn body(&mut self, trees: &[Stmt<'s>]) {
        let outside = self.names.len();
        trees.iter().for_each(|tree| self.statement(tree));
        self.names.truncate(outside);
    }

    fn statement(&mut self, tree: &Stmt<'s>) {
        let outside = self.names.len();
        match tree {
            Stmt::Template(node) => self.body(&node.children),
            Stmt::EmitRaw(node) => self.text(node.raw),
            Stmt::EmitExpr(node) => match &node.expr {
                Expr::Const(constant) if let Some(text) = constant.value.as_str() => self.text(text),
                value => {
                    let value = self.value(value);
                    self.code(value);
                }
            },
            Stmt::IfCond(node) => {
                let condition = self.value(&node.expr);
                self.code(format!("if {condition}"));
                self.body(&node.true_body);
                self.code("else".to_owned());
                self.body(&node.false_body);
                self.code("end".to_owned());
            }
            Stmt::ForLoop(node) => {
                self.strange |= node.filter_expr.is_some() || node.recursive;
                let over = self.value(&node.iter);
                self.bind(&node.target);
                let names = self.names.len() - outside;
                self.names.push(("loop", "#loop".to_owned()));
                self.code(format!("for {names} in {over}"));
                self.body(&node.body);
                self.names.truncate(outside);
                self.code("else".to_owned());
                self.body(&node.else_body);
                self.code("end".to_owned());
            }
            Stmt::WithBlock(node) => match node.assignments.as_slice() {
                [(Expr::Var(name), value)] if is_path(value) => {
                    let path = self.value(value);
                    self.names.push((name.id, path));
                    self.body(&node.body);
                }
                [(name, value)] => {
                    let value = self.value(value);
                    self.bind(name);
                    self.code(format!("with {value}"));
                    self.body(&node.body);
                    self.code("end".to_owned());
                }
                _ => self.strange = true,
            },
            _ => self.strange = true,
        }
        self.names.truncate(outside);
    }

    fn value(&mut self, tree: &Expr<'s>) -> String {
        match tree {
            Expr::Var(node) => match self.names.iter().rev().find(|(name, _)| *name == node.id) {
                Some((_, written)) => written.clone(),
                None => format!("key({})", context_key(node.id)),
            },
            Expr::Const(node) => match node.value.kind() {
                ValueKind::String => format!("{:?}", node.value.as_str()),
                ValueKind::Number if node.value.is_integer() => format!("int({})", node.value),
                ValueKind::Number => format!("decimal({})", node.value),
                kind => format!("{kind:?}({})", node.value),
            },
            Expr::GetAttr(node) => format!("{}.{}", self.value(&node.expr), node.name),
            Expr::GetItem(node) => format!("{}[{}]", self.value(&node.expr), self.value(&node.subscript_expr)),
            Expr::UnaryOp(node) => match (&node.op, &node.expr) {
                (UnaryOpKind::Not, value) => format!("not({})", self.value(value)),
                // A number with a sign is one constant in Go and two parts in Jinja.
                (UnaryOpKind::Neg, Expr::Const(number)) if number.value.kind() == ValueKind::Number => {
                    let sort = if number.value.is_integer() { "int" } else { "decimal" };
                    format!("{sort}(-{})", number.value)
                }
                _ => self.stranger(),
            },
            Expr::BinOp(node) => {
                let operator = match node.op {
                    BinOpKind::ScOr => "or",
                    BinOpKind::ScAnd => "and",
                    BinOpKind::Eq => "==",
                    BinOpKind::Ne => "!=",
                    BinOpKind::In => "in",
                    _ => return self.stranger(),
                };
                format!("({} {operator} {})", self.value(&node.left), self.value(&node.right))
            }
            Expr::List(node) => format!("[{}]", self.values(node.items.iter())),
            Expr::Filter(node) => {
                let Some(input) = &node.expr else { return self.stranger() };
                self.strange |= node.args.iter().any(|arg| !matches!(arg, CallArg::Pos(_)));
                let values = node.args.iter().filter_map(|arg| if let CallArg::Pos(value) = arg { Some(value) } else { None });
                format!("{}({}; {})", node.name, self.value(input), self.values(values))
            }
            _ => self.stranger(),
        }
    }

    fn values<'t>(&mut self, trees: impl Iterator<Item = &'t Expr<'s>>) -> String
    where
        's: 't,
    {
        trees.map(|tree| self.value(tree)).collect::<Vec<_>>().join(", ")
    }

    fn stranger(&mut self) -> String {
        self.strange = true;
        String::new()
    }
}
