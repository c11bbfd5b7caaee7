//! From the parsed tree to the tree that runs: undefined values, and operations that could explode, are handled here and not by the engine.
//!
//! The engine lets any path be unset at any depth. Each place that prints, loops over or calculates with a value asks for it with [`hook::USE`], which fails
//! and names the author's bytes; a place that tests or guards (language 3.2) takes it as it is.
//!
//! **Invariant:** every node keeps the author's byte range, and no node of the parsed tree is left out.

use minijinja::{
    machinery::{
        Span,
        ast::{self, BinOpKind, CallArg, Expr, Spanned, Stmt},
    },
    value::{Value as Dyn, ValueKind},
};

use super::{
    builtins::{GUARDS, OUTCOMES, is_namespace},
    machine::{AuthorText, Secret, hook},
};

/// A template ready for the engine.
/// A text with secrets is counted as a whole, since they have offsets in it.
pub(super) fn template<'s>(tree: &Stmt<'s>, secrets: bool, in_pieces: bool) -> Stmt<'s> {
    let raw = match (in_pieces, secrets) {
        (true, _) => RawText::Piece,
        (false, true) => RawText::Counted,
        (false, false) => RawText::Plain,
    };
    statement(tree, LoweringMode { raw, prints: true, is_compute: false })
}

/// A `compute` file ready for the engine: it prints nothing, so its blanks are left out where nothing captures them.
pub(super) fn compute<'s>(tree: &Stmt<'s>) -> Stmt<'s> {
    statement(tree, LoweringMode { raw: RawText::Counted, prints: false, is_compute: true })
}

/// The surroundings of a statement.
#[derive(Clone, Copy)]
struct LoweringMode {
    raw: RawText,
    /// Blanks are part of a text.
    prints: bool,
    /// True if an assigned value is part of a result.
    is_compute: bool,
}

/// Text between the tags of a template, by its path to the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RawText {
    /// Goes to the output directly.
    Plain,
    /// Goes through the printer, which counts.
    Counted,
    /// Goes through the printer as text of the author's.
    Piece,
}

impl LoweringMode {
    /// Returns the mode inside of a loop.
    fn looped(self) -> Self {
        let raw = if self.raw == RawText::Plain { RawText::Counted } else { self.raw };
        Self { raw, ..self }
    }

    fn captured(self) -> Self {
        Self { prints: true, ..self }
    }
}

/// An expression whose value is wanted, and whether it may be unset: only where it ends in `optional`.
pub(super) fn expression<'s>(tree: &Expr<'s>) -> (Expr<'s>, bool) {
    if ends_in_optional(tree) { (may_be_unset(tree), true) } else { (needed(tree), false) }
}

fn statements<'s>(trees: &[Stmt<'s>], mode: LoweringMode) -> Vec<Stmt<'s>> {
    let is_assigned = |tree: &&Stmt<'s>| mode.prints || !matches!(tree, Stmt::EmitRaw(node) if node.raw.trim().is_empty());
    trees.iter().filter(is_assigned).map(|tree| statement(tree, mode)).collect()
}

fn statement<'s>(tree: &Stmt<'s>, mode: LoweringMode) -> Stmt<'s> {
    match tree {
        Stmt::Template(node) => {
            Stmt::Template(Spanned::new(ast::Template { children: statements(&node.children, mode) }, flat(node.span())))
        }
        // Text outside of loops is as long as the template; inside it goes through the printer, which counts.
        Stmt::EmitRaw(node) if mode.raw == RawText::Piece => {
            emit(constant(Dyn::from_object(AuthorText(node.raw.into())), node.span()), node.span())
        }
        Stmt::EmitRaw(node) if mode.raw == RawText::Counted => emit(constant(Dyn::from(node.raw), node.span()), node.span()),
        Stmt::EmitRaw(node) => Stmt::EmitRaw(Spanned::new(ast::EmitRaw { raw: node.raw }, flat(node.span()))),
        Stmt::EmitExpr(node) if is_secret(&node.expr) => {
            emit(constant(Dyn::from_object(Secret { place: extent(&node.expr).start_offset as usize }), node.span()), node.span())
        }
        Stmt::EmitExpr(node) if ends_in_optional(&node.expr) => {
            emit(filter(hook::MAYBE, may_be_unset(&node.expr), Vec::new(), extent(&node.expr)), node.span())
        }
        Stmt::EmitExpr(node) => emit(needed(&node.expr), node.span()),
        Stmt::ForLoop(node) => {
            let lowered = ast::ForLoop {
                target: target(&node.target),
                iter: filter(hook::KEEP, loop_source(&node.target, &node.iter), Vec::new(), extent(&node.iter)),
                filter_expr: node.filter_expr.as_ref().map(may_be_unset),
                recursive: false,
                body: statements(&node.body, mode.looped()),
                else_body: statements(&node.else_body, mode),
            };
            Stmt::ForLoop(Spanned::new(lowered, flat(node.span())))
        }
        Stmt::IfCond(node) => {
            let lowered = ast::IfCond {
                expr: may_be_unset(&node.expr),
                true_body: statements(&node.true_body, mode),
                false_body: statements(&node.false_body, mode),
            };
            Stmt::IfCond(Spanned::new(lowered, flat(node.span())))
        }
        Stmt::WithBlock(node) => {
            let assignments = node.assignments.iter().map(|(name, value)| (target(name), assigned(value))).collect();
            Stmt::WithBlock(Spanned::new(ast::WithBlock { assignments, body: statements(&node.body, mode) }, flat(node.span())))
        }
        // The engine's own object, which `set` can change: a copy of it could not be.
        Stmt::Set(node) if let Some(made) = namespace(&node.expr) => {
            Stmt::Set(Spanned::new(ast::Set { target: target(&node.target), expr: made }, flat(node.span())))
        }
        // A part of a result must be set.
        Stmt::Set(node) if mode.is_compute && is_outcome(&node.target) => {
            let value = filter(hook::KEEP, needed(&node.expr), Vec::new(), extent(&node.expr));
            Stmt::Set(Spanned::new(ast::Set { target: target(&node.target), expr: value }, flat(node.span())))
        }
        Stmt::Set(node) => {
            Stmt::Set(Spanned::new(ast::Set { target: target(&node.target), expr: assigned(&node.expr) }, flat(node.span())))
        }
        Stmt::SetBlock(node) => {
            let lowered = ast::SetBlock {
                target: target(&node.target),
                filter: node.filter.as_ref().map(|filters| chain(filters)),
                body: statements(&node.body, mode.captured()),
            };
            Stmt::SetBlock(Spanned::new(lowered, flat(node.span())))
        }
        Stmt::FilterBlock(node) => {
            let lowered = ast::FilterBlock { filter: chain(&node.filter), body: statements(&node.body, mode.captured()) };
            Stmt::FilterBlock(Spanned::new(lowered, flat(node.span())))
        }
        // The checker has refused these: an accepted template has none.
        Stmt::AutoEscape(node) => emit(constant(Dyn::from(""), node.span()), node.span()),
        Stmt::Do(node) => emit(constant(Dyn::from(""), node.span()), node.span()),
    }
}

/// The value that a loop goes through.
fn loop_source<'s>(target: &Expr<'s>, tree: &Expr<'s>) -> Expr<'s> {
    let is_pair = matches!(target, Expr::List(names) if names.items.len() == 2);
    let may_be_groups = match tree {
        Expr::Filter(node) => matches!(node.name, "groupby" | "reverse" | "list" | "default" | "d"),
        tree => matches!(tree, Expr::Var(_) | Expr::Slice(_)),
    };
    if is_pair && may_be_groups { filter(hook::GROUPS, needed(tree), Vec::new(), extent(tree)) } else { needed(tree) }
}

/// A value that is printed, looped over or calculated with.
fn needed<'s>(tree: &Expr<'s>) -> Expr<'s> {
    let lowered = may_be_unset(tree);
    if certain(tree) { lowered } else { filter(hook::USE, lowered, Vec::new(), extent(tree)) }
}

/// A value that is compared.
fn compared<'s>(tree: &Expr<'s>) -> Expr<'s> {
    match tree {
        Expr::Const(node) => constant(node.value.clone(), node.span()),
        _ => filter(hook::COMPARE, may_be_unset(tree), Vec::new(), extent(tree)),
    }
}

/// A value that gets a name: reading is not yet using.
fn assigned<'s>(tree: &Expr<'s>) -> Expr<'s> {
    filter(hook::KEEP, may_be_unset(tree), Vec::new(), extent(tree))
}

/// Returns whether an expression always has a value.
fn certain(tree: &Expr<'_>) -> bool {
    match tree {
        Expr::Const(_)
        | Expr::Slice(_)
        | Expr::UnaryOp(_)
        | Expr::Compare(_)
        | Expr::Test(_)
        | Expr::List(_)
        | Expr::Tuple(_)
        | Expr::Map(_) => true,
        Expr::BinOp(node) => !matches!(node.op, BinOpKind::ScAnd | BinOpKind::ScOr),
        Expr::Filter(node) => !matches!(node.name, "default" | "d" | "optional" | "first" | "last" | "min" | "max" | "attr"),
        Expr::Call(_) => true,
        Expr::Var(_) | Expr::IfExpr(_) | Expr::GetAttr(_) | Expr::GetItem(_) => false,
    }
}

/// Lowers a value that may be unset: the values that it is part of may be unset too.
fn may_be_unset<'s>(tree: &Expr<'s>) -> Expr<'s> {
    let span = extent(tree);
    match tree {
        Expr::Var(node) => Expr::Var(Spanned::new(ast::Var { id: node.id }, span)),
        Expr::Const(node) => constant(node.value.clone(), span),
        Expr::GetAttr(node) => Expr::GetAttr(Spanned::new(ast::GetAttr { expr: may_be_unset(&node.expr), name: node.name }, span)),
        Expr::GetItem(node) => {
            let lowered = ast::GetItem { expr: may_be_unset(&node.expr), subscript_expr: needed(&node.subscript_expr) };
            Expr::GetItem(Spanned::new(lowered, span))
        }
        Expr::Slice(node) => {
            let bound = |bound: &Option<Expr<'s>>| bound.as_ref().map_or_else(|| constant(Dyn::from(()), span), needed);
            filter(hook::SLICE, needed(&node.expr), vec![bound(&node.start), bound(&node.stop), bound(&node.step)], span)
        }
        Expr::UnaryOp(node) => match node.op {
            ast::UnaryOpKind::Not => {
                Expr::UnaryOp(Spanned::new(ast::UnaryOp { op: ast::UnaryOpKind::Not, expr: may_be_unset(&node.expr) }, span))
            }
            ast::UnaryOpKind::Neg if let Some(number) = negated(&node.expr) => constant(number, span),
            ast::UnaryOpKind::Neg => {
                Expr::UnaryOp(Spanned::new(ast::UnaryOp { op: ast::UnaryOpKind::Neg, expr: needed(&node.expr) }, span))
            }
        },
        Expr::BinOp(node) => match node.op {
            BinOpKind::ScAnd | BinOpKind::ScOr => Expr::BinOp(Spanned::new(
                ast::BinOp { op: node.op, left: may_be_unset(&node.left), right: may_be_unset(&node.right) },
                span,
            )),
            BinOpKind::Concat => filter(hook::CONCAT, needed(&node.left), vec![needed(&node.right)], span),
            BinOpKind::Add => filter(hook::ADD, needed(&node.left), vec![needed(&node.right)], span),
            BinOpKind::Mul => filter(hook::MULTIPLY, needed(&node.left), vec![needed(&node.right)], span),
            BinOpKind::Eq | BinOpKind::Ne | BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte | BinOpKind::In => {
                Expr::BinOp(Spanned::new(ast::BinOp { op: node.op, left: compared(&node.left), right: compared(&node.right) }, span))
            }
            _ => Expr::BinOp(Spanned::new(ast::BinOp { op: node.op, left: needed(&node.left), right: needed(&node.right) }, span)),
        },
        Expr::Compare(node) => {
            let ops = node.ops.iter().map(|op| ast::CompareOp { op: op.op, expr: compared(&op.expr) }).collect();
            Expr::Compare(Spanned::new(ast::Compare { expr: compared(&node.expr), ops }, span))
        }
        Expr::IfExpr(node) => {
            let otherwise = node.false_expr.as_ref().map_or_else(|| constant(Dyn::from(()), span), may_be_unset);
            let lowered = ast::IfExpr {
                test_expr: may_be_unset(&node.test_expr),
                true_expr: may_be_unset(&node.true_expr),
                false_expr: Some(otherwise),
            };
            Expr::IfExpr(Spanned::new(lowered, span))
        }
        Expr::Filter(node) => {
            let lower = match node.name {
                "default" | "d" | "optional" => may_be_unset,
                "sort" | "dictsort" | "unique" | "min" | "max" | "groupby" => compared,
                _ => needed,
            };
            // The fallback of `default` matters only when it is the result.
            let lowered = ast::Filter { name: node.name, expr: node.expr.as_ref().map(lower), args: arguments(&node.args, lower) };
            Expr::Filter(Spanned::new(lowered, span))
        }
        Expr::Test(node) => {
            let lower = if GUARDS.contains(&node.name) { may_be_unset } else { compared };
            Expr::Test(Spanned::new(ast::Test { name: node.name, expr: lower(&node.expr), args: arguments(&node.args, compared) }, span))
        }
        Expr::Call(node) if matches!(&node.expr, Expr::Var(name) if name.id == "range") => {
            let callee = Expr::Var(Spanned::new(ast::Var { id: hook::RANGE }, span));
            Expr::Call(Spanned::new(ast::Call { expr: callee, args: arguments(&node.args, needed) }, span))
        }
        // `loop.cycle(…)`: the callee is no value.
        Expr::Call(node) => {
            Expr::Call(Spanned::new(ast::Call { expr: may_be_unset(&node.expr), args: arguments(&node.args, needed) }, span))
        }
        Expr::List(node) => Expr::List(Spanned::new(ast::List { items: node.items.iter().map(needed).collect() }, span)),
        Expr::Tuple(node) => Expr::Tuple(Spanned::new(ast::Tuple { items: node.items.iter().map(needed).collect() }, span)),
        Expr::Map(node) => {
            let lowered = ast::Map { keys: node.keys.iter().map(needed).collect(), values: node.values.iter().map(needed).collect() };
            Expr::Map(Spanned::new(lowered, span))
        }
    }
}

/// Returns whether the value of a name leaves a `compute` file, or is stored for one that does.
fn is_outcome(target: &Expr<'_>) -> bool {
    match target {
        Expr::Var(name) => OUTCOMES.contains(&name.id),
        other => matches!(other, Expr::GetAttr(_)),
    }
}

/// `namespace(…)` of a `compute` file, whose entries are values with names.
fn namespace<'s>(tree: &Expr<'s>) -> Option<Expr<'s>> {
    let Expr::Call(node) = tree else { return None };
    if !is_namespace(node) {
        return None;
    }
    let span = flat(node.span());
    let callee = Expr::Var(Spanned::new(ast::Var { id: hook::NAMESPACE }, span));
    Some(Expr::Call(Spanned::new(ast::Call { expr: callee, args: arguments(&node.args, assigned) }, span)))
}

/// Returns a filter as it runs over this value, in place of its author's input.
pub(super) fn filter_over<'s>(node: &Spanned<ast::Filter<'s>>, value: Dyn) -> Expr<'s> {
    let span = flat(node.span());
    let lowered = ast::Filter { name: node.name, expr: Some(constant(value, span)), args: arguments(&node.args, may_be_unset) };
    Expr::Filter(Spanned::new(lowered, span))
}

/// Returns a test as it runs over this value, in place of its author's input.
pub(super) fn test_over<'s>(node: &Spanned<ast::Test<'s>>, value: Dyn) -> Expr<'s> {
    let span = flat(node.span());
    Expr::Test(Spanned::new(ast::Test { name: node.name, expr: constant(value, span), args: arguments(&node.args, may_be_unset) }, span))
}

/// Returns a number with a sign, so that readers of the tree see one constant.
fn negated(tree: &Expr<'_>) -> Option<Dyn> {
    let Expr::Const(node) = tree else { return None };
    if node.value.kind() != ValueKind::Number {
        return None;
    }
    if node.value.is_integer() {
        return i64::try_from(-i128::try_from(node.value.clone()).ok()?).ok().map(Dyn::from);
    }
    f64::try_from(node.value.clone()).ok().map(|number| Dyn::from(-number))
}

fn arguments<'s>(args: &[CallArg<'s>], lower: fn(&Expr<'s>) -> Expr<'s>) -> Vec<CallArg<'s>> {
    let argument = |arg: &CallArg<'s>| match arg {
        CallArg::Pos(value) | CallArg::PosSplat(value) | CallArg::KwargSplat(value) => CallArg::Pos(lower(value)),
        CallArg::Kwarg(name, value) => CallArg::Kwarg(name, lower(value)),
    };
    args.iter().map(argument).collect()
}

/// The filters of a block, whose first one takes the captured text.
fn chain<'s>(tree: &Expr<'s>) -> Expr<'s> {
    match tree {
        Expr::Filter(node) => {
            let lowered = ast::Filter { name: node.name, expr: node.expr.as_ref().map(chain), args: arguments(&node.args, needed) };
            Expr::Filter(Spanned::new(lowered, flat(node.span())))
        }
        other => needed(other),
    }
}

/// Names that are assigned.
fn target<'s>(tree: &Expr<'s>) -> Expr<'s> {
    match tree {
        Expr::List(node) => Expr::List(Spanned::new(ast::List { items: node.items.iter().map(target).collect() }, flat(node.span()))),
        other => may_be_unset(other),
    }
}

/// Returns whether the value is `… | optional`, in one of its branches at least.
fn ends_in_optional(tree: &Expr<'_>) -> bool {
    match tree {
        Expr::Filter(node) => node.name == "optional",
        Expr::IfExpr(node) => ends_in_optional(&node.true_expr) || node.false_expr.as_ref().is_some_and(ends_in_optional),
        _ => false,
    }
}

/// Returns whether an expression is a masked `{{secret:name}}`.
pub(super) fn is_secret(tree: &Expr<'_>) -> bool {
    matches!(tree, Expr::Var(node) if super::secret::is_masked(node.id))
}

/// The bytes of an expression, from its leftmost part: the parser's own ranges begin at the last operator.
pub(super) fn extent(tree: &Expr<'_>) -> Span {
    let left = match tree {
        Expr::GetAttr(node) => Some(&node.expr),
        Expr::GetItem(node) => Some(&node.expr),
        Expr::Slice(node) => Some(&node.expr),
        Expr::Call(node) => Some(&node.expr),
        Expr::Test(node) => Some(&node.expr),
        Expr::Filter(node) => node.expr.as_ref(),
        Expr::BinOp(node) => Some(&node.left),
        Expr::Compare(node) => Some(&node.expr),
        Expr::IfExpr(node) => Some(&node.true_expr),
        _ => None,
    };
    let mut span = flat(tree.span());
    if let Some(left) = left {
        span.start_offset = span.start_offset.min(extent(left).start_offset);
    }
    span
}

/// All on one line: the engine forgets a byte range where it meets a new line, and counts lines to 65,535 only.
fn flat(span: Span) -> Span {
    Span { start_line: 1, start_col: 0, end_line: 1, end_col: 0, ..span }
}

fn constant<'s>(value: Dyn, span: Span) -> Expr<'s> {
    Expr::Const(Spanned::new(ast::Const { value }, flat(span)))
}

fn filter<'s>(name: &'s str, input: Expr<'s>, args: Vec<Expr<'s>>, span: Span) -> Expr<'s> {
    let args = args.into_iter().map(CallArg::Pos).collect();
    Expr::Filter(Spanned::new(ast::Filter { name, expr: Some(input), args }, flat(span)))
}

fn emit<'s>(expr: Expr<'s>, span: Span) -> Stmt<'s> {
    Stmt::EmitExpr(Spanned::new(ast::EmitExpr { expr }, flat(span)))
}
