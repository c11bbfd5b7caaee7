//! Calculations over followed paths. The engine itself evaluates each one on samples, once for every combination of kinds of its operands,
//! and the outcome is cached.
//!
//! **Why it is sound.** A combination fails only if the engine fails on all its samples, and works only if it worked on all of them and
//! nothing but the kinds decides that (see [`Calculation::outcome`]). A combination that is neither becomes an unchecked read. There are at
//! most [`PATHS`] operands of seven kinds each, so evaluation is bounded.
//!
//! **Example.** `a + b` with `a` a number or a text and `b` a number: the combination (text, number) fails, (number, number) works.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::keys::InternedPath;
use crate::dataflow::index::to_u32;
use trellis_base::template::{Calculation, CalculationOutcome, KindSet, PATHS};

/// Interned calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArithmeticId(u32);

/// Operands of a calculation; `None` for a path that is not followed.
pub(crate) type Operands = Arc<[Option<InternedPath>]>;

/// Interned calculations: equal forms over equal operands have one id.
#[derive(Debug, Default)]
pub(crate) struct ArithmeticTable {
    all: Vec<(Arc<Calculation>, Operands)>,
    by_form: FxHashMap<(Arc<str>, Operands), ArithmeticId>,
    outcomes: FxHashMap<(Arc<str>, [u8; PATHS]), CalculationOutcome>,
}

impl ArithmeticTable {
    pub(crate) fn put(&mut self, calculation: &Arc<Calculation>, parts: Operands) -> ArithmeticId {
        let all = &mut self.all;
        let next = || {
            all.push((Arc::clone(calculation), Arc::clone(&parts)));
            ArithmeticId(to_u32(all.len() - 1))
        };
        *self.by_form.entry((Arc::clone(&calculation.form), Arc::clone(&parts))).or_insert_with(next)
    }

    /// Returns the operands of a calculation.
    pub(crate) fn parts(&self, of: ArithmeticId) -> Operands {
        Arc::clone(&self.all[of.0 as usize].1)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Evaluates a calculation over every combination of these kinds, one set for each operand. Returns whether some combination fails, and
    /// whether all work.
    pub(crate) fn asked(&mut self, of: ArithmeticId, sorts: &[KindSet]) -> (bool, bool) {
        let calculation = &self.all[of.0 as usize].0;
        let (mut fails, mut works) = (false, true);
        for chosen in choices(sorts) {
            let mut key = [0; PATHS];
            key.iter_mut().zip(&chosen).for_each(|(key, sort)| *key = sort.number());
            let outcome = self.outcomes.entry((Arc::clone(&calculation.form), key)).or_insert_with(|| calculation.outcome(&chosen));
            fails |= *outcome == CalculationOutcome::Fails;
            works &= *outcome == CalculationOutcome::Works;
        }
        (fails, works)
    }
}

/// Returns every combination of one kind from each set.
pub(crate) fn choices(sorts: &[KindSet]) -> impl Iterator<Item = Vec<KindSet>> {
    let each: Vec<Vec<KindSet>> = sorts.iter().map(|sorts| sorts.each().collect()).collect();
    let count = each.iter().map(Vec::len).product::<usize>();
    (0..count).map(move |at| {
        let mut rest = at;
        let choose = |sorts: &Vec<KindSet>| {
            let chosen = sorts[rest % sorts.len()];
            rest /= sorts.len();
            chosen
        };
        each.iter().map(choose).collect()
    })
}
