//! Uses of which nothing is known: they are counted by a path that stands there.

use super::*;

impl TemplateReads<'_> {
    /// Says that something is used of which nothing is known; where it does not begin with a path, by the last path before it.
    pub(super) fn blind(&mut self, tree: &Expr<'_>) {
        let before = || self.uses.last().map(|last| last.path.clone()).filter(|_| !matches!(inner(tree), Some(Expr::Const(_))));
        // What a template calls a value is the path where it stands; a name that nobody wrote is not shown.
        let named = beginning(tree).map(|path| self.names.whole(path.root()).unwrap_or(path));
        let Some(path) = named.filter(|path| !path.root().starts_with(char::is_control)).or_else(before) else { return };
        let when = self.when.clone().into();
        let inside = Box::default();
        self.uses.push(Use { path, place: place(tree), when, inside, deep: true, demand: None, blind: true, calculation: None });
    }

    /// Something is looked for in what holds nothing, such as a number.
    pub(super) fn looked_for(&mut self, sought: &Expr<'_>, within: &Expr<'_>) {
        if constant(within).is_some_and(|within| !KindSet::of(within).are(kinds::HOLDING)) {
            self.blind(sought);
        }
    }

    /// What a value of these sorts may fail with: nothing is there, or something that is not taken.
    pub(super) fn takes(&mut self, tree: &Expr<'_>, made: KindSet, used: bool) {
        let is_unset = used && made.meet(KindSet::UNSET);
        let is_wrong = self.demand.is_some_and(|demand| !made.without(KindSet::UNSET).without(KindSet::READ).are(demand));
        if is_unset || is_wrong {
            self.blind(tree);
        }
    }
}
