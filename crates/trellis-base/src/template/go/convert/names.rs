//! The Jinja names for the names of a Go tree: the dot of each `range` and `with`, and the variables.

use std::collections::BTreeSet;

use minijinja::machinery::{
    Token,
    ast::{CallArg, Expr, Stmt},
    tokenize,
};

use crate::template::{bridge::context_key, delimiters::syntax};

/// Words that Jinja takes for values, keywords or its own names.
const RESERVED_WORDS: [&str; 16] =
    ["true", "True", "false", "False", "none", "None", "not", "and", "or", "in", "is", "if", "else", "loop", "self", "range"];

/// Names with their written form, the newest last.
pub(super) struct FreshNames<'s> {
    /// Keys of the context that the template reads anywhere: no name may hide one.
    keys: BTreeSet<&'s str>,
    bound: Vec<(&'s str, String)>,
}

impl<'s> FreshNames<'s> {
    pub(super) fn new(tree: &Stmt<'s>) -> Self {
        let mut keys = BTreeSet::new();
        each_expression(tree, &mut |tree| variables(tree, &mut keys));
        Self { keys, bound: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.bound.len()
    }

    pub(super) fn forget(&mut self, down_to: usize) {
        self.bound.truncate(down_to);
    }

    /// The written form of a variable; none where it is a key of the context.
    pub(super) fn get(&self, id: &str) -> Option<&str> {
        self.bound.iter().rev().find(|(bound, _)| *bound == id).map(|(_, written)| written.as_str())
    }

    /// Binds a variable to a path.
    pub(super) fn stand(&mut self, id: &'s str, path: String) {
        self.bound.push((id, path));
    }

    /// Gives a variable a name that hides nothing.
    pub(super) fn name(&mut self, id: &'s str, wanted: &str) -> String {
        let wanted = if is_name(wanted) { wanted } else { "item" };
        let is_free = |name: &str| {
            !RESERVED_WORDS.contains(&name) && !self.keys.contains(name) && self.bound.iter().all(|(_, written)| written != name)
        };
        let numbered = (2..).map(|number: u32| format!("{wanted}{number}"));
        let name = std::iter::once(wanted.to_owned()).chain(numbered).find(|name| is_free(name)).unwrap_or_default();
        self.bound.push((id, name.clone()));
        name
    }
}

/// Returns whether Jinja reads a text as one name.
pub(super) fn is_name(text: &str) -> bool {
    let mut tokens = tokenize(text, true, syntax());
    matches!(tokens.next(), Some(Ok((Token::Ident(name), _))) if name == text)
}

/// Returns whether Jinja reads a name as a key of the context, outside of loops.
pub(super) fn is_key(name: &str) -> bool {
    is_name(name) && (!RESERVED_WORDS.contains(&name) || matches!(name, "loop" | "self" | "range"))
}

fn each_expression<'t, 's>(tree: &'t Stmt<'s>, see: &mut impl FnMut(&'t Expr<'s>)) {
    match tree {
        Stmt::Template(node) => node.children.iter().for_each(|child| each_expression(child, see)),
        Stmt::EmitExpr(node) => see(&node.expr),
        Stmt::IfCond(node) => {
            see(&node.expr);
            node.true_body.iter().chain(&node.false_body).for_each(|child| each_expression(child, see));
        }
        Stmt::ForLoop(node) => {
            see(&node.iter);
            node.body.iter().chain(&node.else_body).for_each(|child| each_expression(child, see));
        }
        Stmt::WithBlock(node) => {
            node.assignments.iter().for_each(|(_, value)| see(value));
            node.body.iter().for_each(|child| each_expression(child, see));
        }
        _ => {}
    }
}

fn variables<'s>(tree: &Expr<'s>, keys: &mut BTreeSet<&'s str>) {
    match tree {
        Expr::Var(node) => {
            keys.insert(context_key(node.id));
        }
        Expr::GetAttr(node) => variables(&node.expr, keys),
        Expr::GetItem(node) => [&node.expr, &node.subscript_expr].into_iter().for_each(|part| variables(part, keys)),
        Expr::UnaryOp(node) => variables(&node.expr, keys),
        Expr::BinOp(node) => [&node.left, &node.right].into_iter().for_each(|part| variables(part, keys)),
        Expr::List(node) => node.items.iter().for_each(|item| variables(item, keys)),
        Expr::Filter(node) => {
            node.expr.iter().for_each(|input| variables(input, keys));
            for arg in &node.args {
                if let CallArg::Pos(value) = arg {
                    variables(value, keys);
                }
            }
        }
        _ => {}
    }
}
