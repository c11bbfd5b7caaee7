//! Calculations in a scene: whether their parts can be of sorts that do not go together.

use crate::{
    compile::dataflow::{
        budget::Cost,
        ir::{ReadSite, interned::choices},
        search::{SearchRun, path::ExecResult, state::SymState},
        symbolic::Lookup,
    },
    template::{Calculation, KindSet, Outcome},
};

impl SearchRun<'_, '_> {
    /// Narrows to parts with which a calculation fails, if they can be such.
    pub(crate) fn calculate(&mut self, state: &mut SymState, site: &ReadSite<'_>, calculation: &Calculation) -> ExecResult {
        let mut details = state.clone();
        if !site.when().iter().all(|test| details.meets(test)) {
            return ExecResult::Continue;
        }
        let parts: Vec<Lookup> = calculation.paths.iter().map(|path| details.look(path)).collect();
        let sorts: Vec<KindSet> = parts.iter().map(|part| details.constraints.sorts(part)).collect();
        for chosen in choices(&sorts) {
            if self.outcome(calculation, &chosen) != Outcome::Fails {
                continue;
            }
            let mut narrowed = details.clone();
            let is_possible = calculation.paths.iter().zip(&parts).zip(&chosen).all(|((path, part), sort)| match part {
                _ if *sort == KindSet::UNSET => narrowed.decide(path, false),
                Lookup::Present(sym) => narrowed.constraints.assume_kind(sym, *sort),
                Lookup::MaybePresent(sym) => narrowed.decide(path, true) && narrowed.constraints.assume_kind(sym, *sort),
                Lookup::Absent => false,
            });
            if is_possible && !narrowed.constraints.is_impossible() {
                *state = narrowed;
                return ExecResult::Violates;
            }
        }
        // What was lost sight of may be anything.
        if parts.iter().any(|part| details.constraints.is_havocked(part)) {
            self.leave_open(state);
        }
        ExecResult::Continue
    }

    fn outcome(&mut self, calculation: &Calculation, sorts: &[KindSet]) -> Outcome {
        if let Some(outcome) = self.outcomes.get(sorts) {
            return *outcome;
        }
        self.budget.charge(Cost::Calculation);
        let outcome = calculation.outcome(sorts);
        self.outcomes.insert(sorts.to_vec(), outcome);
        outcome
    }
}
