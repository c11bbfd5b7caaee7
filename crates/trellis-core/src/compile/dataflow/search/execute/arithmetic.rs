//! Calculations in a scene: whether their parts can be of sorts that do not go together.

use crate::{
    compile::dataflow::{
        ir::{ReadSite, arithmetic::choices},
        search::{ExecResult, Search, state::SymState},
        symbolic::Lookup,
    },
    template::{Calculation, CalculationOutcome, KindSet},
};

impl Search<'_, '_> {
    /// Narrows to parts with which a calculation fails, if they can be such.
    pub(crate) fn calculate(&self, state: &mut SymState, site: &ReadSite<'_>, calculation: &Calculation) -> ExecResult {
        let mut details = state.clone();
        if !site.when().iter().all(|test| details.meets(test)) {
            return ExecResult::On;
        }
        let parts: Vec<Lookup> = calculation.paths.iter().map(|path| details.look(path)).collect();
        let sorts: Vec<KindSet> = parts.iter().map(|part| details.constraints.sorts(part)).collect();
        for chosen in choices(&sorts) {
            if self.outcome(calculation, &chosen) != CalculationOutcome::Fails {
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
                return ExecResult::Accident;
            }
        }
        // What was lost sight of may be anything.
        if parts.iter().any(|part| details.constraints.is_havocked(part)) {
            self.leave_open(state);
        }
        ExecResult::On
    }

    fn outcome(&self, calculation: &Calculation, sorts: &[KindSet]) -> CalculationOutcome {
        let mut outcomes = self.outcomes.borrow_mut();
        *outcomes.entry(sorts.to_vec()).or_insert_with(|| {
            self.spend(ASKED);
            calculation.outcome(sorts)
        })
    }
}

/// What asking the engine costs.
const ASKED: usize = 100;
