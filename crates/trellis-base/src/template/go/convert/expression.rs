//! Expressions of a Go tree as Jinja writes them.

use std::fmt::Write;

use minijinja::{
    machinery::ast::{BinOpKind, CallArg, Expr, UnaryOpKind},
    value::{Value as Dyn, ValueKind},
};

use super::{
    Problem,
    names::{FreshNames, is_key, is_name},
};
use crate::template::bridge::context_key;

/// Precedence of a form, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConvertedBinding {
    Or,
    And,
    Not,
    Comparison,
    /// A side of a comparison, or the operand of `not`.
    Term,
    /// A filter, or a number with a sign.
    Filter,
    /// A value before a dot or a bracket.
    Primary,
}

/// Writes expressions.
pub(super) struct Printer<'p, 's> {
    /// The text that the tree was read from.
    pub(super) source: &'s str,
    pub(super) names: &'p FreshNames<'s>,
    /// True inside of a `range`, which hides the key `loop`.
    pub(super) looped: bool,
    /// True where `{#` and `/*` in texts must be escaped: a template that contains them is not taken for one expression.
    pub(super) hides_marks: bool,
}

impl Printer<'_, '_> {
    /// An expression, in parentheses where it binds less than is asked for.
    pub(super) fn print(&self, tree: &Expr<'_>, least: ConvertedBinding) -> Result<String, Problem> {
        let (written, binding) = self.form(tree)?;
        Ok(if binding < least { format!("({written})") } else { written })
    }

    fn form(&self, tree: &Expr<'_>) -> Result<(String, ConvertedBinding), Problem> {
        let start = tree.span().start_offset as usize;
        let problem = |reason: String| Problem { place: start..tree.span().end_offset as usize, reason };
        Ok(match tree {
            Expr::Var(node) => match self.names.get(node.id) {
                Some(written) => (written.to_owned(), ConvertedBinding::Primary),
                None if context_key(node.id) == "loop" && self.looped => {
                    return Err(problem("inside of a loop, `loop` is not a key in Jinja".to_owned()));
                }
                None if is_key(context_key(node.id)) => (context_key(node.id).to_owned(), ConvertedBinding::Primary),
                None => return Err(problem(format!("Jinja cannot read the key `{}`: it takes it for something else", node.id))),
            },
            Expr::Const(node) => self.constant(&node.value, start),
            Expr::GetAttr(node) => {
                if !is_name(node.name) {
                    return Err(problem(format!("`{}` is not a name in Jinja", node.name)));
                }
                (format!("{}.{}", self.print(&node.expr, ConvertedBinding::Primary)?, node.name), ConvertedBinding::Primary)
            }
            Expr::GetItem(node) => {
                let of = self.print(&node.expr, ConvertedBinding::Primary)?;
                (format!("{of}[{}]", self.print(&node.subscript_expr, ConvertedBinding::Or)?), ConvertedBinding::Primary)
            }
            Expr::UnaryOp(node) if matches!(node.op, UnaryOpKind::Not) => {
                (format!("not {}", self.print(&node.expr, ConvertedBinding::Term)?), ConvertedBinding::Not)
            }
            Expr::BinOp(node) => {
                let (operator, binding, left, right) = match node.op {
                    BinOpKind::ScOr => ("or", ConvertedBinding::Or, ConvertedBinding::Or, ConvertedBinding::And),
                    BinOpKind::ScAnd => ("and", ConvertedBinding::And, ConvertedBinding::And, ConvertedBinding::Not),
                    BinOpKind::Eq => ("==", ConvertedBinding::Comparison, ConvertedBinding::Term, ConvertedBinding::Term),
                    BinOpKind::Ne => ("!=", ConvertedBinding::Comparison, ConvertedBinding::Term, ConvertedBinding::Term),
                    BinOpKind::In => ("in", ConvertedBinding::Comparison, ConvertedBinding::Term, ConvertedBinding::Term),
                    _ => return Err(problem("Jinja has no such operator".to_owned())),
                };
                (format!("{} {operator} {}", self.print(&node.left, left)?, self.print(&node.right, right)?), binding)
            }
            Expr::List(node) => (format!("[{}]", self.items(node.items.iter())?), ConvertedBinding::Primary),
            Expr::Filter(node) => {
                let Some(input) = &node.expr else { return Err(problem("this filter filters nothing".to_owned())) };
                let mut written = format!("{} | {}", self.print(input, ConvertedBinding::Filter)?, node.name);
                if !node.args.is_empty() {
                    let values = node.args.iter().filter_map(|arg| if let CallArg::Pos(value) = arg { Some(value) } else { None });
                    let _ = write!(written, "({})", self.items(values)?);
                }
                (written, ConvertedBinding::Filter)
            }
            _ => return Err(problem("Jinja has no such form".to_owned())),
        })
    }

    fn items<'t, 's: 't>(&self, items: impl Iterator<Item = &'t Expr<'s>>) -> Result<String, Problem> {
        let items = items.map(|item| self.print(item, ConvertedBinding::Or)).collect::<Result<Vec<_>, _>>()?;
        Ok(items.join(", "))
    }

    fn constant(&self, value: &Dyn, start: usize) -> (String, ConvertedBinding) {
        let number = |written: String| {
            let binding = if written.starts_with('-') { ConvertedBinding::Filter } else { ConvertedBinding::Primary };
            (written, binding)
        };
        match value.kind() {
            ValueKind::Bool => (value.is_true().to_string(), ConvertedBinding::Primary),
            ValueKind::Number if value.is_integer() => number(value.to_string()),
            ValueKind::Number => number(f64::try_from(value.clone()).map_or_else(|_| value.to_string(), |number| format!("{number:?}"))),
            ValueKind::String => {
                // A raw text may be in a value whose own quotes are double ones.
                let quote = if self.source[start..].starts_with('`') { '\'' } else { '"' };
                (self.quoted(value.as_str().unwrap_or_default(), quote), ConvertedBinding::Primary)
            }
            _ => ("none".to_owned(), ConvertedBinding::Primary),
        }
    }

    /// A text with Jinja's escapes, in which nothing begins a tag.
    fn quoted(&self, text: &str, quote: char) -> String {
        let mut written = String::with_capacity(text.len() + 2);
        written.push(quote);
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            let hides = match (char, chars.peek()) {
                ('{', Some('{' | '%')) => true,
                ('{', Some('#')) | ('/', Some('*')) => self.hides_marks,
                _ => char.is_control(),
            };
            match char {
                '\n' => written.push_str("\\n"),
                '\r' => written.push_str("\\r"),
                '\t' => written.push_str("\\t"),
                _ if char == quote || char == '\\' => written.extend(['\\', char]),
                _ if hides => {
                    let _ = write!(written, "\\u{:04x}", u32::from(char));
                }
                _ => written.push(char),
            }
        }
        written.push(quote);
        written
    }
}
