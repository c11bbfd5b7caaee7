//! Calculations with paths as they are followed: what each comes to is asked of the engine once for each choice of sorts.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::interned::InternedPath;
use crate::{
    compile::dataflow::index::to_u32,
    template::{Calculation, KindSet, Outcome, PATHS},
};

/// A calculation that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArithmeticId(u32);

/// The paths of a calculation; nothing for what is not followed.
pub(crate) type Operands = Arc<[Option<InternedPath>]>;

/// All calculations that were read: those that differ in nothing have one number.
#[derive(Debug, Default)]
pub(crate) struct ArithmeticTable {
    all: Vec<(Arc<Calculation>, Operands)>,
    by_form: FxHashMap<(Arc<str>, Operands), ArithmeticId>,
    outcomes: FxHashMap<(Arc<str>, [u8; PATHS]), Outcome>,
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

    pub(crate) fn parts(&self, of: ArithmeticId) -> Operands {
        Arc::clone(&self.all[of.0 as usize].1)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// What it comes to over some of these sorts, each of its paths having one: whether it surely fails for some, and works for all.
    pub(crate) fn asked(&mut self, of: ArithmeticId, sorts: &[KindSet]) -> (bool, bool) {
        let calculation = &self.all[of.0 as usize].0;
        let (mut fails, mut works) = (false, true);
        for chosen in choices(sorts) {
            let mut key = [0; PATHS];
            key.iter_mut().zip(&chosen).for_each(|(key, sort)| *key = sort.number());
            let outcome = self.outcomes.entry((Arc::clone(&calculation.form), key)).or_insert_with(|| calculation.outcome(&chosen));
            fails |= *outcome == Outcome::Fails;
            works &= *outcome == Outcome::Works;
        }
        (fails, works)
    }
}

/// Every choice of one sort for each path.
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
