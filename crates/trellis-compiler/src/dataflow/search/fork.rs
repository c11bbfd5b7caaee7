//! Depth-first backtracking over the branches of one step.
//!
//! Code with two branches asks `fork`. `for_each_branch` runs it again until every combination of answers was taken: the trail of the last run is
//! a binary counter whose last `false` becomes `true`. At most [`MAX_BRANCHES`] runs are made; beyond them the round is incomplete.
//!
//! **Example:** a write of an optional value forks once: the first run takes the value as present, the second as absent.

use super::SearchRun;
use crate::dataflow::budget::MAX_BRANCHES;

/// The branch taken at each fork.
#[derive(Debug, Default)]
pub(super) struct ForkTrail {
    taken: Vec<bool>,
    at: usize,
}

impl SearchRun<'_, '_> {
    /// Returns which of two branches to take; `false` in the first run.
    pub(super) fn fork(&mut self) -> bool {
        let forks = &mut self.forks;
        let at = forks.at;
        forks.at += 1;
        if at == forks.taken.len() {
            forks.taken.push(false);
        }
        forks.taken[at]
    }

    /// Takes the first branch at each fork until `for_each_branch` begins.
    pub(super) fn take_first_branches(&mut self) {
        self.forks = ForkTrail::default();
    }

    /// Runs something once for each combination of branches.
    pub(super) fn for_each_branch(&mut self, mut run: impl FnMut(&mut Self)) {
        self.forks = ForkTrail::default();
        for _ in 0..MAX_BRANCHES {
            self.forks.at = 0;
            run(self);
            while self.forks.taken.last() == Some(&true) {
                self.forks.taken.pop();
            }
            match self.forks.taken.last_mut() {
                Some(last) => *last = true,
                None => return,
            }
        }
        self.precision.incomplete = true;
    }
}
