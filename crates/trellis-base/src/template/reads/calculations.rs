//! Calculations that are analyzed as a whole: no demand on the sort of one part decides whether they work.

use super::{
    super::calculation::{At, detached},
    filters::{BOUND, is_constant},
    scope::attribute,
    *,
};

impl<'s> TemplateReads<'s> {
    /// Returns the calculation of an expression, if it must be analyzed as a whole, and can be.
    pub(super) fn calculation(&self, tree: &Expr<'s>) -> Option<Arc<Calculation>> {
        if !self.is_open(tree) {
            return None;
        }
        let at = |tree: &Expr<'_>| match self.names.source(tree).map(ValueSource::plain) {
            Some(Some(path)) => At::Path(path),
            Some(None) => At::Elsewhere,
            None => At::Computed,
        };
        detached(tree, at).map(Arc::new)
    }

    /// Records that a calculation is made when its parts are set.
    pub(super) fn calculates(&mut self, calculation: Option<Arc<Calculation>>, tree: &Expr<'s>) {
        let Some(calculation) = calculation else { return };
        let (path, when) = (calculation.paths[0].clone(), self.when.clone().into());
        let (inside, calculation) = (Box::default(), Some(calculation));
        self.uses.push(Use { path, place: place(tree), when, inside, deep: false, demand: None, blind: false, calculation });
    }

    /// A part of a calculation. If that is analyzed as a whole, only a demand that the part alone decides is recorded.
    pub(super) fn part(&mut self, tree: &Expr<'s>, demand: Option<Demand>, is_one: bool) -> KindSet {
        let is_decisive = |demand: Demand| demand != KindSet::NONE && !self.falls_short(tree, Some(demand));
        self.operand(tree, demand.filter(|demand| !is_one || is_decisive(*demand)))
    }

    /// Returns whether the sorts of an expression's parts leave its success open.
    fn is_open(&self, tree: &Expr<'s>) -> bool {
        let given = |args: &[CallArg<'s>]| args.iter().map(value_of).any(|value| !is_constant(value));
        match tree {
            Expr::Filter(node) => {
                let Some(input) = &node.expr else { return false };
                match node.name {
                    hook::USE | hook::COMPARE | hook::KEEP | hook::MAYBE | hook::CONCAT | "optional" | "default" | "d" => false,
                    hook::ADD | hook::MULTIPLY => node.args.first().map(value_of).is_some_and(|other| {
                        let (of_left, of_right) = self.sides(node.name, input, other);
                        self.falls_short(input, of_left) || self.falls_short(other, of_right)
                    }),
                    hook::SLICE => {
                        self.falls_short(input, kinds::taken_by(node.name, true))
                            || node.args.iter().any(|arg| self.falls_short(value_of(arg), Some(BOUND)))
                    }
                    "sum" if node.args.is_empty() && self.names.items(input).is_some() => self.falls_short(input, Some(KindSet::LIST)),
                    name if attribute(name, &node.args).is_some() => self.falls_short(input, Some(KindSet::LIST)),
                    name => given(&node.args) || self.falls_short(input, kinds::taken_by(name, !node.args.is_empty())),
                }
            }
            Expr::UnaryOp(node) => matches!(node.op, UnaryOpKind::Neg) && self.falls_short(&node.expr, Some(KindSet::NUMBER)),
            Expr::BinOp(node) => {
                let (left, right) = kinds::taken_by_operator(&node.op, constant(&node.right));
                self.falls_short(&node.left, left) || self.falls_short(&node.right, right)
            }
            Expr::Test(node) => given(&node.args) || self.falls_short(&node.expr, taken_by_test(node.name)),
            Expr::Call(node) => is_range(tree) && given(&node.args),
            _ => false,
        }
    }

    /// Returns whether the sorts of an operand do not decide whether it meets a demand.
    fn falls_short(&self, tree: &Expr<'_>, demand: Option<Demand>) -> bool {
        let Some(demand) = demand else { return false };
        let Some(of) = inner(tree) else { return true };
        if matches!(of, Expr::Const(_)) {
            return false;
        }
        match self.names.source(of) {
            Some(_) => demand == KindSet::NONE,
            None => demand == KindSet::NONE || !self.quick_kinds(of).without(KindSet::UNSET).are(demand),
        }
    }
}

/// Returns the sorts that a test accepts.
pub(super) fn taken_by_test(name: &str) -> Option<Demand> {
    matches!(name, "startingwith" | "endingwith" | "lower" | "upper" | "in").then_some(KindSet::NONE)
}

/// The constant that an expression is.
pub(super) fn constant<'a>(tree: &'a Expr<'_>) -> Option<&'a Dyn> {
    if let Some(Expr::Const(node)) = inner(tree) { Some(&node.value) } else { None }
}
