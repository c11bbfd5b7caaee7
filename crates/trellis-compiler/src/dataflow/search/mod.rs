//! Decides alarms of the fixpoint by symbolic execution with counterexample-guided refinement.
//!
//! The fixpoint over-approximates: an alarm names a point and a violation that may happen there. A search looks for a session that runs into it.
//! Its state is a [`SymState`]: a point, and symbolic values with the constraints of the path so far. An alarm is decided in three steps, the
//! cheapest first: the shortest path ([`bfs`], `try_shortest`), an analysis of the key whose absence is searched ([`prune`]), and a breadth-first
//! search of all paths ([`bfs`], `explore`). A path into the violation is concretized and replayed on the engine.
//!
//! **It terminates:** each step is charged to one [`Budget`], and the numbers of states, of rounds and of replays are bounded.
//!
//! **It is sound:** [`Verdict::Witnessed`](path::Verdict) holds a session that the engine ran, so it is never a false alarm. `Refuted` is given
//! only if every path was followed or subsumed by a state with the same [`StateKey`](tracked::StateKey), and no branch was given up;
//! otherwise the verdict is `Undecided`.
//!
//! **Example:** `greet` reads `name`, which only the reply `known` of `start` sets. The alarm is `Missing(name)` at `greet`. The shortest path to
//! `greet` takes the reply `new`; replayed, it ends in the failure of the template, and the session becomes the witness.
//!
//! Exploring ([`bfs`]), execution ([`execute`], [`successors`]) and replay share the types of [`path`].

pub(super) mod bfs;
pub(super) mod entry;
pub(super) mod execute;
mod fork;
pub(super) mod outcome;
pub(super) mod path;
pub(super) mod prune;
pub(super) mod replay;
pub(super) mod shortest_paths;
pub(super) mod state;
mod successors;
mod tracked;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use self::{entry::EntryState, fork::ForkTrail, shortest_paths::ShortestPaths, state::SymState};
use super::{
    budget::Budget,
    fixpoint::violation::{Alarm, Violation},
    ir::Ir,
    symbolic::SchemaCache,
};
use crate::cfg::Cfg;
use trellis_base::{
    path::KeyPath,
    schema::Schema,
    template::{CalculationOutcome, KindSet},
    value::Key,
};
use trellis_engine::program::{NodeIndex, PointIndex, Program};

/// The parts of a search that never change: the program, results of the fixpoint, and the alarm.
pub(crate) struct SearchInput<'s, 'p> {
    pub(crate) program: &'p Arc<Program>,
    pub(crate) ir: &'s Ir<'p>,
    pub(crate) cfg: &'s Cfg<'p>,
    pub(crate) entry_states: &'s [EntryState],
    /// The shortest path to every point, regardless of conditions.
    pub(crate) shortest: &'s ShortestPaths,
    pub(crate) alarm: &'s Alarm,
    /// The points with syntax errors or unresolved names, by index: the search does not enter them.
    pub(crate) tainted: &'s [bool],
    /// The points where the missing path may be absent; `None` if that does not matter.
    pub(crate) absent: Option<&'s [bool]>,
    /// Returns the schemas that a successful call of a point fits.
    pub(crate) returns: &'s dyn Fn(PointIndex) -> Vec<Schema>,
    /// Schemas of the outputs of children that branches call.
    pub(crate) children: &'s BTreeMap<NodeIndex, Schema>,
    /// The keys that something reads.
    pub(crate) reads: &'s BTreeSet<Key>,
    /// The nodes where a session is known to fail: no session gets past them.
    pub(crate) failing_nodes: &'s BTreeSet<NodeIndex>,
}

/// One search for an alarm: its budget, its branches, and how precisely it followed paths so far.
pub(crate) struct SearchRun<'s, 'p> {
    pub(crate) input: &'s SearchInput<'s, 'p>,
    /// The paths that were found missing already, and that this search assumes to be set.
    pub(crate) assumed_set: &'s [KeyPath],
    /// The budget of all searches of a compilation, while this one [spends](Self::spending) it.
    budget: Budget,
    /// Derived data of schemas, for all searches of a compilation.
    cache: &'s Rc<RefCell<SchemaCache>>,
    /// The branches of the step that is being executed.
    forks: ForkTrail,
    precision: Precision,
    /// True if the engine left a path for a reason other than a failing node.
    is_astray: bool,
    /// The schema that the violation breaks; `None` before the search needs it.
    violated: Option<Option<Schema>>,
    /// The results of the alarm's calculation, by the kinds of its operands.
    outcomes: BTreeMap<Vec<KindSet>, CalculationOutcome>,
}

/// Precision with which a round of the search follows values.
#[derive(Default)]
struct Precision {
    /// The paths whose values distinguish states; `None` if no value is ever havocked.
    tracked: Option<BTreeSet<KeyPath>>,
    /// True if a violation could neither be found nor ruled out.
    incomplete: bool,
    /// The havocked paths where a violation could neither be found nor ruled out.
    imprecise: Option<BTreeSet<KeyPath>>,
}

impl<'p> SearchInput<'_, 'p> {
    /// Returns the path whose absence is searched.
    pub(crate) fn wanted(&self) -> Option<&'p KeyPath> {
        match self.alarm.violation {
            Violation::Missing(site) => Some(self.ir.sites[site.index()].path),
            _ => None,
        }
    }

    /// Returns whether something may read `sys.error`.
    fn reads_errors(&self) -> bool {
        self.reads.contains("sys")
    }

    /// Returns whether the alarm is this violation at this point.
    fn is_goal(&self, point: PointIndex, violation: Violation) -> bool {
        self.alarm.point == point && self.alarm.violation == violation
    }
}

impl<'s, 'p> SearchRun<'s, 'p> {
    /// Creates a search that assumes these paths to be set.
    pub(crate) fn new(input: &'s SearchInput<'s, 'p>, assumed_set: &'s [KeyPath], cache: &'s Rc<RefCell<SchemaCache>>) -> Self {
        Self {
            input,
            assumed_set,
            budget: Budget::default(),
            cache,
            forks: ForkTrail::default(),
            precision: Precision::default(),
            is_astray: false,
            violated: None,
            outcomes: BTreeMap::new(),
        }
    }

    /// Searches with the budget of the compilation, which the two runs of an alarm, with and without assumptions, spend in turns.
    pub(crate) fn spending<T>(&mut self, budget: &mut Budget, search: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.budget, budget);
        let found = search(self);
        std::mem::swap(&mut self.budget, budget);
        found
    }

    /// Records that something was neither found nor ruled out. If values were havocked on the path, the next round tracks them.
    fn mark_undecided(&mut self, state: &SymState) {
        if state.havocked.is_empty() {
            self.precision.incomplete = true;
        } else {
            self.precision.imprecise.get_or_insert_with(|| (*state.havocked).clone());
        }
    }
}
