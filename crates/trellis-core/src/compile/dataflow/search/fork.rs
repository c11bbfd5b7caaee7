//! Backtracking over the branches of one step, depth first.

use super::SearchRun;
use crate::compile::dataflow::budget::MAX_BRANCHES;

/// Which of two branches is taken, each time there are two.
#[derive(Debug, Default)]
pub(super) struct ForkTrail {
    taken: Vec<bool>,
    at: usize,
}

impl SearchRun<'_, '_> {
    /// Takes one of two ways on where either may be; each is taken in its turn.
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

    /// Does something as often as there are ways on in it.
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
