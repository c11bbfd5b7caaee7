//! Calculations in a scene: whether their parts can be of sorts that do not go together.

use crate::{
    compile::dataflow::{
        ir::{Site, interned::choices},
        search::{Done, Search, state::Scene},
        symbolic::Found,
    },
    template::{Calculation, Outcome, Sorts},
};

impl Search<'_, '_> {
    /// Narrows to parts with which a calculation fails, if they can be such.
    pub(crate) fn calculate(&self, scene: &mut Scene, site: &Site<'_>, calculation: &Calculation) -> Done {
        let mut met = scene.clone();
        if !site.when().iter().all(|test| met.meets(test)) {
            return Done::On;
        }
        let parts: Vec<Found> = calculation.paths.iter().map(|path| met.look(path)).collect();
        let sorts: Vec<Sorts> = parts.iter().map(|part| met.vars.sorts(part)).collect();
        for chosen in choices(&sorts) {
            if self.outcome(calculation, &chosen) != Outcome::Fails {
                continue;
            }
            let mut narrowed = met.clone();
            let is_possible = calculation.paths.iter().zip(&parts).zip(&chosen).all(|((path, part), sort)| match part {
                _ if *sort == Sorts::UNSET => narrowed.decide(path, false),
                Found::There(sym) => narrowed.vars.be_of(sym, *sort),
                Found::Maybe(sym) => narrowed.decide(path, true) && narrowed.vars.be_of(sym, *sort),
                Found::Absent => false,
            });
            if is_possible && !narrowed.vars.is_impossible() {
                *scene = narrowed;
                return Done::Accident;
            }
        }
        // What was lost sight of may be anything.
        if parts.iter().any(|part| met.vars.is_lost(part)) {
            self.leave_open(scene);
        }
        Done::On
    }

    fn outcome(&self, calculation: &Calculation, sorts: &[Sorts]) -> Outcome {
        let mut outcomes = self.outcomes.borrow_mut();
        *outcomes.entry(sorts.to_vec()).or_insert_with(|| {
            self.spend(ASKED);
            calculation.outcome(sorts)
        })
    }
}

/// What asking the engine costs.
const ASKED: usize = 100;
