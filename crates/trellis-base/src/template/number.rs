//! Numbers from expressions that people or models write: the calculations of a template and nothing else (language 9.24).

use minijinja::machinery::ast::{self, BinOpKind, CallArg, Expr, Spanned, UnaryOpKind};

use super::{
    Mistake, RenderLimits, TemplateError, failure, jinja, lower,
    machine::{Machine, hook},
};
use crate::{scope::Scope, span::Span, value::Value};

/// Bytes of an expression.
const MAX_EXPRESSION_BYTES: usize = 4 << 10;

/// More than an expression of that length can need.
const EXPRESSION_LIMITS: RenderLimits = RenderLimits { output: 1 << 10, fuel: 100_000 };

/// Before the expression, to make a template of it.
const EXPRESSION_START: &str = "{{ ";

/// Calculates a number: `+ - * / // % **`, parentheses, the filters `abs` and `round`. Each step has to fit 64 bits, or be a finite decimal.
///
/// Spans count bytes of `expression`.
///
/// # Errors
/// No expression, one of other values than numbers, a calculation that fails, more than 4 KiB.
pub fn number(expression: &str) -> Result<Value, TemplateError> {
    if expression.len() > MAX_EXPRESSION_BYTES {
        return Err(error(format!("the expression has {} bytes, at most {MAX_EXPRESSION_BYTES} are read", expression.len()), None));
    }
    if expression.trim().is_empty() {
        return Err(error("the expression is empty", None));
    }
    // None of these is part of a number, and some would end the template around it.
    let foreign =
        [('^', "`^` is no operator: write `**` for a power"), ('"', TEXTS), ('\'', TEXTS), ('{', LISTS), ('[', LISTS), ('}', LISTS)];
    for (char, message) in foreign {
        if let Some(at) = expression.find(char) {
            return Err(error(message, Some(at..at + 1)));
        }
    }
    let template = format!("{EXPRESSION_START}{expression} }}}}");
    let tree = jinja::parse(&template).map_err(refused)?;
    let Some(tree) = jinja::sole_expression(&tree, &template) else {
        return Err(error("this is not one expression", None));
    };
    let lowered = lower::expression(&bounded(tree).map_err(refused)?).0;
    let made = Machine::expression(&template, &lowered).evaluate(&Scope::default(), EXPRESSION_LIMITS);
    let made = made.map_err(|failure| {
        let (message, place) = failure::failure(&failure, &template, EXPRESSION_LIMITS);
        error(
            message,
            place.map(|place| {
                place.start.saturating_sub(EXPRESSION_START.len())..place.end.saturating_sub(EXPRESSION_START.len()).min(expression.len())
            }),
        )
    })?;
    made.ok_or_else(|| error("there is no number", None))
}

const TEXTS: &str = "an expression has numbers, no texts";
const LISTS: &str = "an expression has numbers, no lists or mappings";

fn error(message: impl Into<String>, place: Option<std::ops::Range<usize>>) -> TemplateError {
    TemplateError { message: message.into(), span: place.map(|place| Span::new(place.start, place.end)) }
}

fn refused(mistake: Mistake) -> TemplateError {
    let shifted = mistake.place.start.saturating_sub(EXPRESSION_START.len())..mistake.place.end.saturating_sub(EXPRESSION_START.len());
    error(mistake.message(), Some(shifted))
}

/// Returns the expression with a check of the bounds of each intermediate number.
fn bounded<'s>(tree: &Expr<'s>) -> Result<Expr<'s>, Mistake> {
    let span = lower::extent(tree);
    let held = |made: Expr<'s>| Expr::Filter(Spanned::new(ast::Filter { name: hook::FITS, expr: Some(made), args: Vec::new() }, span));
    let no = |message: String| Mistake::syntax(span.start_offset as usize..span.end_offset as usize, message);
    Ok(match tree {
        Expr::Const(node) if node.value.is_number() => held(Expr::Const(Spanned::new(ast::Const { value: node.value.clone() }, span))),
        Expr::UnaryOp(node) if matches!(node.op, UnaryOpKind::Neg) => {
            let lowered = ast::UnaryOp { op: UnaryOpKind::Neg, expr: bounded(&node.expr)? };
            held(Expr::UnaryOp(Spanned::new(lowered, span)))
        }
        Expr::BinOp(node) => {
            use BinOpKind::{Add, Div, FloorDiv, Mul, Pow, Rem, Sub};
            let op = match node.op {
                Add => Add,
                Sub => Sub,
                Mul => Mul,
                Div => Div,
                FloorDiv => FloorDiv,
                Rem => Rem,
                Pow => Pow,
                _ => return Err(no("an expression has no comparisons, `and`, `or` or `~`".to_owned())),
            };
            held(Expr::BinOp(Spanned::new(ast::BinOp { op, left: bounded(&node.left)?, right: bounded(&node.right)? }, span)))
        }
        Expr::Filter(node) if matches!(node.name, "abs" | "round") => {
            let Some(input) = &node.expr else { return Err(no("a filter follows a number".to_owned())) };
            let argument = |arg: &CallArg<'s>| match arg {
                CallArg::Pos(value) => bounded(value).map(CallArg::Pos),
                CallArg::Kwarg(name, value) => bounded(value).map(|value| CallArg::Kwarg(name, value)),
                CallArg::PosSplat(_) | CallArg::KwargSplat(_) => Err(no("arguments cannot be unpacked with `*`".to_owned())),
            };
            let args = node.args.iter().map(argument).collect::<Result<_, _>>()?;
            held(Expr::Filter(Spanned::new(ast::Filter { name: node.name, expr: Some(bounded(input)?), args }, span)))
        }
        Expr::Filter(node) => return Err(no(format!("an expression has the filters `abs` and `round`, not `{}`", node.name))),
        Expr::Var(node) => return Err(no(format!("an expression has numbers, and no name like `{}`", node.id))),
        _ => return Err(no("an expression has numbers, `+ - * / // % **`, parentheses, `abs` and `round`".to_owned())),
    })
}
