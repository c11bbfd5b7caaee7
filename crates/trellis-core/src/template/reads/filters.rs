//! What filters and operators that are filters take and make.

use super::*;

impl<'s> Reads<'s> {
    pub(super) fn filter(&mut self, name: &str, input: Option<&Expr<'s>>, args: &[CallArg<'s>], used: bool) -> Sorts {
        let Some(tree) = input else {
            // The filter of a block takes the text of the block.
            self.arguments(args);
            return sorts::made_by(name, Sorts::TEXT);
        };
        match name {
            hook::USE | hook::COMPARE => {
                let made = self.expression(tree, true);
                let outside = self.demands(None);
                self.takes(tree, made, true);
                self.demand = outside;
                sorts::made_by(name, made)
            }
            hook::KEEP => self.expression(tree, used),
            "optional" | hook::MAYBE => sorts::made_by(name, self.expression(tree, false)),
            // What it falls back to is used only when it is the result.
            "default" | "d" => {
                let input = self.expression(tree, false).without(Sorts::UNSET);
                let path = inner(tree).and_then(|of| self.names.source(of)).and_then(Source::plain);
                let test = path.map_or(Test::Opaque, |path| Test::Set(path, false));
                let fallback = self.under(vec![Asked::Test(test)], |reads| {
                    let (first, rest) = args.split_first()?;
                    let made = reads.expression(value_of(first), used);
                    reads.arguments(rest);
                    Some(made)
                });
                input.or(fallback.unwrap_or(Sorts::TEXT))
            }
            hook::ADD | hook::MULTIPLY => {
                let Some(other) = args.first().map(value_of) else { return Sorts::ANY };
                let (left, right) = (self.glance(tree), self.glance(other));
                self.operand(tree, Some(sorts::beside(name, right)));
                self.operand(other, Some(sorts::beside(name, left)));
                sorts::combined(name, left, right)
            }
            _ => {
                let made = self.operand(tree, sorts::taken_by(name, !args.is_empty()));
                if matches!(name, hook::SLICE) {
                    args.iter().for_each(|arg| self.visit(value_of(arg), Some(Sorts::NULL.or(Sorts::NUMBER))));
                } else {
                    self.arguments(args);
                }
                sorts::made_by(name, made)
            }
        }
    }

    /// The sorts of an operand, before it is visited: of what is read or computed further down, nothing is known.
    fn glance(&self, tree: &Expr<'_>) -> Sorts {
        match inner(tree) {
            Some(Expr::Const(node)) => Sorts::of(&node.value),
            Some(Expr::Filter(node)) if matches!(node.name, hook::ADD | hook::MULTIPLY) => {
                let side = |tree: &Expr<'_>| match inner(tree) {
                    Some(Expr::Const(node)) => Sorts::of(&node.value),
                    _ => Sorts::READ,
                };
                let other = node.args.first().map_or(Sorts::READ, |arg| side(value_of(arg)));
                sorts::combined(node.name, node.expr.as_ref().map_or(Sorts::READ, side), other)
            }
            Some(Expr::Filter(node)) => sorts::made_by(node.name, Sorts::READ),
            Some(Expr::UnaryOp(node)) if matches!(node.op, UnaryOpKind::Neg) => Sorts::NUMBER,
            Some(Expr::BinOp(node)) if matches!(node.op, BinOpKind::Sub | BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem) => {
                Sorts::NUMBER
            }
            Some(Expr::GetAttr(node)) if matches!(&node.expr, Expr::Var(var) if var.id == "loop") => of_loop(node.name),
            Some(Expr::Var(node)) => {
                self.names.sorts(node.id).filter(|_| self.names.source(tree).is_none()).unwrap_or(Sorts::READ).without(Sorts::UNSET)
            }
            _ => Sorts::READ,
        }
    }

    /// Constants were tried when the template was checked; what else is given, the filter decides about.
    pub(super) fn arguments(&mut self, args: &[CallArg<'s>]) {
        for arg in args {
            let value = value_of(arg);
            let is_constant = matches!(inner(value), Some(Expr::Const(_) | Expr::List(_) | Expr::Map(_)));
            self.operand(value, (!is_constant).then_some(Sorts::NONE));
        }
    }
}
