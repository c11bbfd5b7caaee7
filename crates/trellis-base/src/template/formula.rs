//! Abstract values of expressions, as precise as the kinds of values are (language 3.3): an integer, a text, the value at a path.
//!
//! The input is the tree that runs, the output a [`Term`], into which the analysis puts the types of paths.
//!
//! **Invariant:** a term never leaves out a value that the engine makes of the expression; where nothing is known, it is [`Term::Unknown`].

use minijinja::{
    machinery::ast::{BinOpKind, CallArg, Expr, UnaryOpKind},
    value::Value as Dyn,
};

use super::{
    bridge::{Size, from_dyn},
    kinds::{self, KindSet},
    machine::hook,
    reads::{TemplateNames, ValueSource, inner, is_range},
};
use crate::{
    path::KeyPath,
    value::{Key, Value},
};

/// The abstract value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// An unknown value.
    Unknown,
    /// The value at a path, or no value.
    Path(KeyPath),
    /// Always the same.
    Constant(Value),
    /// A value of these sorts.
    Of(KindSet),
    /// An integer.
    Integer,
    /// A number computed from numbers: an integer if all of them are.
    Whole(Box<[Term]>),
    /// A number computed from numbers.
    Number(Box<[Term]>),
    /// Two numbers, texts or lists, added.
    Sum(Box<[Term; 2]>),
    /// Two numbers multiplied, or a text repeated.
    Product(Box<[Term; 2]>),
    /// The first if it is set, else the second. With `bool`, also the second if the first counts as false.
    Default(Box<[Term; 2]>, bool),
    /// One of the two.
    Either(Box<[Term; 2]>),
    /// A list of these.
    List(Box<[Term]>),
    /// A mapping.
    Map(Box<[(Key, Term)]>),
}

impl Term {
    /// Returns whether it describes the expression exactly: the same paths make the same value.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Path(_) | Self::Constant(_) => true,
            Self::Whole(terms) | Self::Number(terms) => terms.iter().all(Self::is_exact),
            Self::Sum(terms) | Self::Product(terms) | Self::Default(terms, false) => terms.iter().all(Self::is_exact),
            _ => false,
        }
    }

    /// Visits every path in it.
    pub fn each_path<'t>(&'t self, see: &mut impl FnMut(&'t KeyPath)) {
        match self {
            Self::Unknown | Self::Constant(_) | Self::Of(_) | Self::Integer => {}
            Self::Path(path) => see(path),
            Self::Whole(terms) | Self::Number(terms) | Self::List(terms) => terms.iter().for_each(|term| term.each_path(see)),
            Self::Sum(terms) | Self::Product(terms) | Self::Default(terms, _) | Self::Either(terms) => {
                terms.iter().for_each(|term| term.each_path(see));
            }
            Self::Map(entries) => entries.iter().for_each(|(_, term)| term.each_path(see)),
        }
    }
}

/// Returns the term of a lowered expression.
pub(super) fn term(tree: &Expr<'_>) -> Term {
    let names = TemplateNames::default();
    if let Some(source) = names.source(tree) {
        return ValueSource::plain(source).map_or(Term::Unknown, Term::Path);
    }
    let both = |left: &Expr<'_>, right: &Expr<'_>| Box::new([term(left), term(right)]);
    match tree {
        Expr::Const(node) => constant(&node.value),
        Expr::Filter(node) => match (&node.expr, node.args.first()) {
            (Some(of), arg) => filter(node.name, of, arg, node.args.len()),
            _ => Term::Unknown,
        },
        Expr::UnaryOp(node) => match node.op {
            UnaryOpKind::Not => Term::Of(KindSet::TRUTH),
            UnaryOpKind::Neg => Term::Whole(Box::new([term(&node.expr)])),
        },
        Expr::BinOp(node) => match node.op {
            BinOpKind::Sub | BinOpKind::FloorDiv | BinOpKind::Rem => Term::Whole(both(&node.left, &node.right)),
            BinOpKind::Div | BinOpKind::Pow => Term::Number(both(&node.left, &node.right)),
            BinOpKind::ScAnd | BinOpKind::ScOr => Term::Either(both(&node.left, &node.right)),
            BinOpKind::Eq | BinOpKind::Ne | BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte | BinOpKind::In => {
                Term::Of(KindSet::TRUTH)
            }
            // These are filters in the tree that runs.
            BinOpKind::Add | BinOpKind::Mul | BinOpKind::Concat => Term::Unknown,
        },
        Expr::Compare(_) | Expr::Test(_) => Term::Of(KindSet::TRUTH),
        Expr::IfExpr(node) => {
            let otherwise = node.false_expr.as_ref().map_or(Term::Constant(Value::Null), term);
            Term::Either(Box::new([term(&node.true_expr), otherwise]))
        }
        Expr::List(node) => Term::List(node.items.iter().map(term).collect()),
        Expr::Tuple(node) => Term::List(node.items.iter().map(term).collect()),
        Expr::Map(node) => {
            let key = |key: &Expr<'_>| match inner(key) {
                Some(Expr::Const(key)) => key.value.as_str().map(Key::from),
                _ => None,
            };
            let entries = node.keys.iter().zip(&node.values).map(|(name, value)| Some((key(name)?, term(value))));
            entries.collect::<Option<_>>().map_or(Term::Of(KindSet::MAPPING), Term::Map)
        }
        Expr::Call(_) if is_range(tree) => Term::List(Box::new([Term::Integer])),
        _ => Term::Unknown,
    }
}

fn constant(value: &Dyn) -> Term {
    from_dyn(value, Size::parts(1_000)).map_or(Term::Unknown, Term::Constant)
}

/// Returns the term of a filter; `arg` is its first argument of `count`.
fn filter(name: &str, of: &Expr<'_>, arg: Option<&CallArg<'_>>, count: usize) -> Term {
    let placed = match arg {
        Some(CallArg::Pos(value) | CallArg::Kwarg("default", value)) => Some(value),
        _ => None,
    };
    match (name, placed, count) {
        (hook::USE | hook::COMPARE | hook::KEEP | "optional", ..) => term(of),
        (hook::ADD, Some(other), 1) => Term::Sum(Box::new([term(of), term(other)])),
        (hook::MULTIPLY, Some(other), 1) => Term::Product(Box::new([term(of), term(other)])),
        ("default" | "d", None, 0) => Term::Default(Box::new([term(of), Term::Constant(Value::text(""))]), false),
        ("default" | "d", Some(other), count) => Term::Default(Box::new([term(of), term(other)]), count > 1),
        ("int", Some(other), 1) => Term::Either(Box::new([Term::Integer, term(other)])),
        ("int" | "round", _, 0) | ("length" | "count", ..) => Term::Integer,
        ("float", _, 0) => Term::Of(KindSet::NUMBER),
        ("abs", ..) => Term::Whole(Box::new([term(of)])),
        ("round", ..) => Term::Number(Box::new([term(of), Term::Integer])),
        // The effect of further arguments is not tracked.
        ("int" | "float" | "sum", ..) => Term::Unknown,
        _ => match kinds::made_by(name, KindSet::READ) {
            made @ (KindSet::TEXT | KindSet::TRUTH | KindSet::LIST) => Term::Of(made),
            _ => Term::Unknown,
        },
    }
}
