//! What decides whether something is read: what holds of paths where it is.

use rustc_hash::FxHashMap;

use super::Path;
use crate::compile::dataflow::domain::Question;

/// Some answers to questions about paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tests(u32);

impl Tests {
    /// Nothing that is followed decides about it.
    pub(crate) const NONE: Self = Self(0);
}

/// A question about a path, and its answer.
pub(crate) type Tested = (Path, Question, bool);

/// All that were read: equal ones have one number.
#[derive(Debug)]
pub(crate) struct AllTests {
    all: Vec<Box<[Tested]>>,
    known: FxHashMap<Box<[Tested]>, Tests>,
}

impl Default for AllTests {
    fn default() -> Self {
        Self { all: vec![Box::default()], known: [(Box::default(), Tests::NONE)].into_iter().collect() }
    }
}

impl AllTests {
    pub(crate) fn put(&mut self, tests: Box<[Tested]>) -> Tests {
        if let Some(known) = self.known.get(&tests) {
            return *known;
        }
        let number = Tests(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(tests.clone());
        self.known.insert(tests, number);
        number
    }

    pub(crate) fn get(&self, Tests(at): Tests) -> &[Tested] {
        &self.all[at as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}
