//! The tests that decide whether a part of a template is reached.

use minijinja::machinery::ast::UnaryOpKind;

use super::{
    scope::{TemplateNames, ValueSource},
    *,
};

/// A test that decides whether a part of a template is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum GuardedTest {
    /// The path is set and neither empty, zero nor false; `false` negates the test.
    Truthy(KeyPath, bool),
    /// The path is set.
    Set(KeyPath, bool),
    /// The path is this value.
    Is(KeyPath, bool, Value),
    /// Something that is not followed.
    Opaque,
}

impl GuardedTest {
    /// The path that it asks about.
    pub fn path(&self) -> Option<&KeyPath> {
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

/// A test, or the presence of a value inside of that of a path.
#[derive(Clone)]
pub(super) enum Asked {
    Test(GuardedTest),
    Inside(ValueSource, bool),
}

/// Returns the tests that hold when an expression is true; all of them must.
pub(super) fn asked(names: &TemplateNames<'_>, tree: &Expr<'_>) -> Vec<Asked> {
    let about = |tree: &Expr<'_>, test: fn(KeyPath, bool) -> GuardedTest, yes: bool| match inner(tree).and_then(|of| names.source(of)) {
        Some(source) if source.deep => Asked::Test(GuardedTest::Opaque),
        Some(source) if !source.inside.is_empty() => Asked::Inside(source, yes),
        Some(source) => Asked::Test(test(source.path, yes)),
        None => Asked::Test(GuardedTest::Opaque),
    };
    let Some(tree) = inner(tree) else { return vec![Asked::Test(GuardedTest::Opaque)] };
    match tree {
        Expr::BinOp(node) if matches!(node.op, BinOpKind::ScAnd) => [asked(names, &node.left), asked(names, &node.right)].concat(),
        Expr::UnaryOp(node) if matches!(node.op, UnaryOpKind::Not) => opposite(&asked(names, &node.expr)),
        Expr::Test(node) if matches!(node.name, "defined" | "undefined") => {
            vec![about(&node.expr, GuardedTest::Set, node.name == "defined")]
        }
        Expr::BinOp(node) if matches!(node.op, BinOpKind::Eq | BinOpKind::Ne) => {
            let test = comparison(names, &node.left, &node.right, matches!(node.op, BinOpKind::Eq));
            vec![Asked::Test(test.unwrap_or(GuardedTest::Opaque))]
        }
        other => vec![about(other, GuardedTest::Truthy, true)],
    }
}

fn comparison(names: &TemplateNames<'_>, left: &Expr<'_>, right: &Expr<'_>, equal: bool) -> Option<GuardedTest> {
    let (left, right) = (inner(left)?, inner(right)?);
    let (of, literal) = match (left, right) {
        (of, Expr::Const(literal)) | (Expr::Const(literal), of) => (of, literal),
        _ => return None,
    };
    Some(GuardedTest::Is(names.source(of)?.plain()?, equal, literal_value(&literal.value)?))
}

fn literal_value(value: &Dyn) -> Option<Value> {
    match value.kind() {
        ValueKind::String => value.as_str().map(Value::text),
        ValueKind::Bool => Some(value.is_true().into()),
        ValueKind::Number if value.is_integer() => i64::try_from(value.clone()).ok().map(Value::Int),
        _ => None,
    }
}

/// Returns the tests that hold when these do not all hold: known only for a single one.
pub(super) fn opposite(asked: &[Asked]) -> Vec<Asked> {
    match asked {
        [Asked::Test(test)] => vec![Asked::Test(test.clone().negated())],
        [Asked::Inside(source, yes)] => vec![Asked::Inside(source.clone(), !yes)],
        _ => vec![Asked::Test(GuardedTest::Opaque)],
    }
}
