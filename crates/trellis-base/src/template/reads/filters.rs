//! The operands and results of filters, and of operators that are filters.

use super::*;

impl<'s> TemplateReads<'s> {
    /// `is_one`: the calculation is analyzed as a whole.
    pub(super) fn filter(&mut self, name: &str, input: Option<&Expr<'s>>, args: &[CallArg<'s>], used: bool, is_one: bool) -> KindSet {
        let Some(tree) = input else {
            // The filter of a block takes the text of the block.
            self.arguments(args, false);
            return kinds::made_by(name, KindSet::TEXT);
        };
        match name {
            hook::USE | hook::COMPARE => {
                let made = self.expression(tree, true);
                let outside = self.demands(None);
                self.takes(tree, made, true);
                self.demand = outside;
                kinds::made_by(name, made)
            }
            hook::KEEP => self.expression(tree, used),
            "optional" | hook::MAYBE => kinds::made_by(name, self.expression(tree, false)),
            // The fallback is used only when it is the result.
            "default" | "d" => {
                let input = self.expression(tree, false).without(KindSet::UNSET);
                let path = inner(tree).and_then(|of| self.names.source(of)).and_then(ValueSource::plain);
                let test = path.map_or(GuardedTest::Opaque, |path| GuardedTest::Set(path, false));
                let fallback = self.under(vec![Asked::Test(test)], |reads| {
                    let (first, rest) = args.split_first()?;
                    let made = reads.expression(value_of(first), used);
                    reads.arguments(rest, false);
                    Some(made)
                });
                input.or(fallback.unwrap_or(KindSet::TEXT))
            }
            hook::ADD | hook::MULTIPLY => {
                let Some(other) = args.first().map(value_of) else { return KindSet::ANY };
                let (of_left, of_right) = self.sides(name, tree, other);
                self.part(tree, of_left, is_one);
                self.part(other, of_right, is_one);
                kinds::combined(name, self.side(name, tree), self.side(name, other))
            }
            hook::CONCAT => {
                self.visit(tree, None);
                args.iter().for_each(|arg| self.visit(value_of(arg), None));
                KindSet::TEXT
            }
            _ => {
                let made = self.part(tree, kinds::taken_by(name, !args.is_empty()), is_one);
                if matches!(name, hook::SLICE) {
                    for arg in args {
                        self.part(value_of(arg), Some(BOUND), is_one);
                    }
                } else {
                    self.arguments(args, is_one);
                }
                kinds::made_by(name, made)
            }
        }
    }

    /// Records the read of `map(attribute=…)` on each item, if the source of the items is known; returns whether it is.
    pub(super) fn mapped(&mut self, tree: &Expr<'s>, node: &Spanned<Filter<'s>>) -> bool {
        let Some(input) = node.expr.as_ref().filter(|_| attribute(node.name, &node.args).is_some()) else { return false };
        let Some(source) = self.names.items(tree) else { return false };
        self.part(input, Some(KindSet::LIST), false);
        let outside = self.demands(None);
        self.add(source, tree);
        self.demand = outside;
        true
    }

    /// Handles `sum`, which takes numbers.
    pub(super) fn summed(&mut self, tree: &Expr<'s>, node: &Spanned<Filter<'s>>) -> bool {
        let Some(input) = node.expr.as_ref().filter(|_| node.args.is_empty()) else { return false };
        let Some(source) = self.names.items(input) else { return false };
        self.part(input, Some(KindSet::LIST), false);
        let outside = self.demands(Some(KindSet::NUMBER));
        self.add(source, tree);
        self.demand = outside;
        true
    }

    /// Returns the demands of adding or multiplying on its left and right; `None` for a side that determines the demand on the other.
    pub(super) fn sides(&self, name: &str, left: &Expr<'_>, right: &Expr<'_>) -> (Option<Demand>, Option<Demand>) {
        let (of_left, of_right) = (self.quick_kinds(left), self.quick_kinds(right));
        let beside = |side: &Expr<'_>, other: KindSet| match name {
            hook::MULTIPLY if self.is_path(side) => KindSet::NONE,
            _ => kinds::beside(name, other),
        };
        let (on_left, on_right) = (beside(left, of_right), beside(right, of_left));
        let decides = |of: KindSet, on_other: Demand| on_other != KindSet::NONE && of.are(on_other);
        let demand = |on: Demand, decides: bool| Some(on).filter(|on| *on != KindSet::NONE || !decides);
        (demand(on_left, decides(of_left, on_right)), demand(on_right, decides(of_right, on_left)))
    }

    /// The sorts of one side, as far as the other does not decide them: a text times a number is a text.
    fn side(&self, name: &str, tree: &Expr<'_>) -> KindSet {
        if name == hook::MULTIPLY && self.is_path(tree) { KindSet::NUMBER.or(KindSet::TEXT) } else { self.quick_kinds(tree) }
    }

    fn is_path(&self, tree: &Expr<'_>) -> bool {
        self.names.source(inner(tree).unwrap_or(tree)).and_then(ValueSource::plain).is_some()
    }

    /// Returns the sorts of an operand, before it is visited: those of a path or of a nested computation are unknown.
    pub(super) fn quick_kinds(&self, tree: &Expr<'_>) -> KindSet {
        match inner(tree) {
            Some(Expr::Const(node)) => KindSet::of(&node.value),
            Some(Expr::Filter(node)) if matches!(node.name, hook::ADD | hook::MULTIPLY) => {
                let side = |tree: &Expr<'_>| match inner(tree) {
                    Some(Expr::Const(node)) => KindSet::of(&node.value),
                    _ if node.name == hook::MULTIPLY && self.is_path(tree) => KindSet::NUMBER.or(KindSet::TEXT),
                    _ => KindSet::READ,
                };
                let other = node.args.first().map_or(KindSet::READ, |arg| side(value_of(arg)));
                kinds::combined(node.name, node.expr.as_ref().map_or(KindSet::READ, side), other)
            }
            Some(Expr::Filter(node)) => kinds::made_by(node.name, KindSet::READ),
            Some(Expr::UnaryOp(node)) if matches!(node.op, UnaryOpKind::Neg) => KindSet::NUMBER,
            Some(Expr::BinOp(node)) if matches!(node.op, BinOpKind::Sub | BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem) => {
                KindSet::NUMBER
            }
            Some(Expr::GetAttr(node)) if matches!(&node.expr, Expr::Var(var) if var.id == "loop") => of_loop(node.name),
            Some(Expr::Var(node)) => {
                self.names.sorts(node.id).filter(|_| self.names.source(tree).is_none()).unwrap_or(KindSet::READ).without(KindSet::UNSET)
            }
            _ => KindSet::READ,
        }
    }

    /// Constants were tried when the template was checked; the filter decides about other arguments.
    pub(super) fn arguments(&mut self, args: &[CallArg<'s>], is_one: bool) {
        for arg in args {
            let value = value_of(arg);
            self.part(value, (!is_constant(value)).then_some(KindSet::NONE), is_one);
        }
    }
}

/// The sorts of a bound of a slice.
pub(super) const BOUND: Demand = KindSet::NULL.or(KindSet::NUMBER);

/// Returns whether an argument was evaluated when the template was checked.
pub(super) fn is_constant(value: &Expr<'_>) -> bool {
    matches!(inner(value), Some(Expr::Const(_) | Expr::List(_) | Expr::Map(_)))
}
