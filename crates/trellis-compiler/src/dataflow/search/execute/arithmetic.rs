//! Symbolic execution of calculations: whether the operands can be of kinds with which the calculation fails.
//!
//! Every combination of the kinds that the operands can have is evaluated once on the template engine.
//!
//! **Example:** in `total + 1`, a `total` that may be a text or a number is narrowed to a text.

use crate::dataflow::{
    budget::Cost,
    ir::{ReadSite, arithmetic::choices},
    search::{SearchRun, path::ExecResult, state::SymState},
    symbolic::Lookup,
};
use trellis_base::template::{Calculation, CalculationOutcome, KindSet};

impl SearchRun<'_, '_> {
    /// Narrows the operands to kinds with which a calculation fails, if that is possible.
    pub(crate) fn calculate(&mut self, state: &mut SymState, site: &ReadSite<'_>, calculation: &Calculation) -> ExecResult {
        let mut details = state.clone();
        if !site.when().iter().all(|test| details.meets(test)) {
            return ExecResult::Continue;
        }
        let parts: Vec<Lookup> = calculation.paths.iter().map(|path| details.lookup(path)).collect();
        let sorts: Vec<KindSet> = parts.iter().map(|part| details.constraints.sorts(part)).collect();
        for chosen in choices(&sorts) {
            if self.outcome(calculation, &chosen) != CalculationOutcome::Fails {
                continue;
            }
            let mut narrowed = details.clone();
            let is_possible = calculation.paths.iter().zip(&parts).zip(&chosen).all(|((path, part), sort)| match part {
                _ if *sort == KindSet::UNSET => narrowed.assume_presence(path, false),
                Lookup::Present(sym) => narrowed.constraints.assume_kind(sym, *sort),
                Lookup::MaybePresent(sym) => narrowed.assume_presence(path, true) && narrowed.constraints.assume_kind(sym, *sort),
                Lookup::Absent => false,
            });
            if is_possible && !narrowed.constraints.is_impossible() {
                *state = narrowed;
                return ExecResult::Violates;
            }
        }
        // A havocked operand can have any kind.
        if parts.iter().any(|part| details.constraints.is_havocked(part)) {
            self.mark_undecided(state);
        }
        ExecResult::Continue
    }

    fn outcome(&mut self, calculation: &Calculation, sorts: &[KindSet]) -> CalculationOutcome {
        if let Some(outcome) = self.outcomes.get(sorts) {
            return *outcome;
        }
        self.budget.charge(Cost::Calculation);
        let outcome = calculation.outcome(sorts);
        self.outcomes.insert(sorts.to_vec(), outcome);
        outcome
    }
}
