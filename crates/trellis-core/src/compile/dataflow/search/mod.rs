//! Path-sensitive search: what can be handed in to a session where it waits, and where that leads.

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
use crate::{
    compile::cfg::Cfg,
    path::KeyPath,
    program::{NodeIndex, PointIndex, Program},
    schema::Schema,
    template::{KindSet, Outcome},
    value::Key,
};

/// What a search reads and never changes: the program, what the fixpoint says of it, and the alarm.
pub(crate) struct SearchInput<'s, 'p> {
    pub(crate) program: &'p Arc<Program>,
    pub(crate) ir: &'s Ir<'p>,
    pub(crate) cfg: &'s Cfg<'p>,
    pub(crate) entry_states: &'s [EntryState],
    /// The shortest paths to every point, whatever is written on them.
    pub(crate) shortest: &'s ShortestPaths,
    pub(crate) alarm: &'s Alarm,
    /// The tainted points, of which nothing is known.
    pub(crate) tainted: &'s [bool],
    /// The points where the missing path may be absent; `None` if that does not matter.
    pub(crate) absent: Option<&'s [bool]>,
    /// Returns the schemas that a successful call of a point fits.
    pub(crate) returns: &'s dyn Fn(PointIndex) -> Vec<Schema>,
    /// The keys that something reads.
    pub(crate) reads: &'s BTreeSet<Key>,
    /// The nodes where a session is known to fail: none comes past them.
    pub(crate) failing_nodes: &'s BTreeSet<NodeIndex>,
}

/// One search for an alarm: what is left to spend, and how precisely paths were followed so far.
pub(crate) struct SearchRun<'s, 'p> {
    pub(crate) input: &'s SearchInput<'s, 'p>,
    /// Paths that were found missing already, and that this search assumes to be set.
    pub(crate) assumed_set: &'s [KeyPath],
    /// What all searches of a compilation may still do.
    budget: &'s Budget,
    /// What is known of schemas, for all searches of a compilation.
    cache: &'s Rc<RefCell<SchemaCache>>,
    /// The branches that are taken where a step has several.
    forks: ForkTrail,
    precision: Precision,
    /// Whether the engine did not follow a path for a reason other than a failing node.
    is_astray: bool,
    /// The schema that the violation breaks, once it is made.
    violated: Option<Option<Schema>>,
    /// What the calculation of the alarm comes to, by the kinds of its operands.
    outcomes: BTreeMap<Vec<KindSet>, Outcome>,
}

/// How precisely a round of the search follows values.
#[derive(Default)]
struct Precision {
    /// The paths by which states are told apart; `None` if nothing is forgotten of any path.
    tracked: Option<BTreeSet<KeyPath>>,
    /// Whether something could neither be found nor ruled out.
    incomplete: bool,
    /// The paths that were forgotten where something could neither be found nor ruled out.
    imprecise: Option<BTreeSet<KeyPath>>,
}

impl<'p> SearchInput<'_, 'p> {
    /// Returns the path whose absence is searched.
    pub(crate) fn wanted(&self) -> Option<&'p KeyPath> {
        match self.alarm.violation {
            Violation::Missing(site) => Some(self.ir.sites[site as usize].path),
            _ => None,
        }
    }

    /// Returns whether the alarm is this violation at this point.
    fn is_goal(&self, point: PointIndex, violation: Violation) -> bool {
        self.alarm.point == point && self.alarm.violation == violation
    }
}

impl<'s, 'p> SearchRun<'s, 'p> {
    /// Creates a search that assumes these paths to be set.
    pub(crate) fn new(
        input: &'s SearchInput<'s, 'p>,
        assumed_set: &'s [KeyPath],
        budget: &'s Budget,
        cache: &'s Rc<RefCell<SchemaCache>>,
    ) -> Self {
        Self {
            input,
            assumed_set,
            budget,
            cache,
            forks: ForkTrail::default(),
            precision: Precision::default(),
            is_astray: false,
            violated: None,
            outcomes: BTreeMap::new(),
        }
    }

    /// Something was neither found nor ruled out. Where it was looked at as if less were known, it is looked at again.
    fn leave_open(&mut self, state: &SymState) {
        if state.havocked.is_empty() {
            self.precision.incomplete = true;
        } else {
            self.precision.imprecise.get_or_insert_with(|| (*state.havocked).clone());
        }
    }
}
