//! Uses of unknown values: they are counted by a path at their place.

use super::*;

impl TemplateReads<'_> {
    /// Records the use of an unknown value; if it does not begin with a path, by the last path before it.
    pub(super) fn blind(&mut self, tree: &Expr<'_>) {
        let before = || self.uses.last().map(|last| last.path.clone()).filter(|_| !matches!(inner(tree), Some(Expr::Const(_))));
        // The name of a value in a template means the path of its place; a generated name is not shown.
        let named = beginning(tree).map(|path| self.names.whole(path.root()).unwrap_or(path));
        let Some(path) = named.filter(|path| !path.root().starts_with(char::is_control)).or_else(before) else { return };
        let when = self.when.clone().into();
        let inside = Box::default();
        self.uses.push(Use { path, place: place(tree), when, inside, deep: true, demand: None, blind: true, calculation: None });
    }

    /// A membership test in a value that holds no items, such as a number.
    pub(super) fn looked_for(&mut self, sought: &Expr<'_>, within: &Expr<'_>) {
        if constant(within).is_some_and(|within| !KindSet::of(within).are(kinds::HOLDING)) {
            self.blind(sought);
        }
    }

    /// Adds the possible failures of a value of these sorts: it is absent, or of a sort that is not accepted.
    pub(super) fn takes(&mut self, tree: &Expr<'_>, made: KindSet, used: bool) {
        let is_unset = used && made.meet(KindSet::UNSET);
        let is_wrong = self.demand.is_some_and(|demand| !made.without(KindSet::UNSET).without(KindSet::READ).are(demand));
        if is_unset || is_wrong {
            self.blind(tree);
        }
    }
}
