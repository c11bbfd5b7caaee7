//! The budget of the search, the cost of each kind of work, and every bound of a single search.
//!
//! One [`Budget`] serves all alarms of a compilation, so that the time of a check is bounded however many alarms there are. A unit is about the
//! time of one operation of the IR, such as a write of a value; each [`Cost`] names the work that it is charged for. If the budget is spent,
//! the search gives up and its alarm stays undecided: a spent budget never refutes an alarm.

/// Units that all searches of a compilation spend together.
const MAX_WORK: usize = 10_000_000;

/// Rounds over all alarms: a later round searches those that an earlier finding hid.
pub(crate) const MAX_PASSES: usize = 8;

/// Rounds of refinement in one search.
pub(crate) const MAX_REFINEMENT_ROUNDS: usize = 16;

/// States that one round takes from its queue, besides those for each point.
const MAX_STATES: usize = 2_000;

/// States that one round may take from its queue for each point of the graph: a path may lead past all of them.
const MAX_STATES_PER_POINT: usize = 2;

/// Paths of one round that the engine replays.
pub(crate) const MAX_REPLAYS: usize = 8;

/// Branches of one step.
pub(crate) const MAX_BRANCHES: usize = 64;

/// Nodes without entries left that one step passes by.
pub(crate) const MAX_PASSED_NODES: usize = 100;

/// Attempts, and undone effects, of one step of a replay.
pub(crate) const MAX_REPEATED_INPUTS: usize = 1_000;

/// The largest absolute value of an integer that the search follows. A counter beyond it is some integer, so that a loop that counts ends.
pub(crate) const MAX_TRACKED_INTEGER: u64 = 8;

/// Points of unchecked reads for which the points that lead there are computed.
pub(crate) const MAX_REACHING_SETS: usize = 256;

/// Points before the goal that are asked for the conditions there, where an absence is to be refuted.
pub(crate) const MAX_POINTS_BEFORE_GOAL: usize = 256;

/// Points with conditions of new keys, where an absence is to be refuted.
pub(crate) const MAX_ASKING_POINTS: usize = 4;

/// Keys, and edges into one point, by which an absence is refuted.
pub(crate) const MAX_CORRELATED_KEYS: usize = 80;

/// Work that is charged, with how much of it there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    /// Looks up the points that lead to the goal, in a graph of this number of points.
    ReachingPoints(usize),
    /// Begins a path with this number of keys in the context.
    EntryKeys(usize),
    /// Takes a state from the queue and hashes its successors.
    State,
    /// Executes this number of operations of a point or a reply.
    Operations(usize),
    /// Tests the condition of an edge for a state of the queue with this number of variables.
    Edge { variables: usize },
    /// Tests the condition of an edge for a state that was not charged by [`Cost::State`].
    DirectEdge { variables: usize },
    /// Evaluates a calculation on the template engine, once for each combination of operand kinds.
    Calculation,
    /// Replays this number of steps on the engine.
    Replay { steps: usize },
    /// Lists this number of names that are set where the replay ends.
    Names(usize),
    /// Propagates the absence of a key once through a graph of this number of points.
    AbsencePass { points: usize },
    /// Applies the transfer function to one point of such a pass.
    AbsenceTransfer,
}

/// Budget that is left for the searches of one compilation.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    left: usize,
}

impl Cost {
    fn units(self) -> usize {
        match self {
            Self::ReachingPoints(points) => points / 64,
            Self::EntryKeys(keys) => 10 * keys,
            Self::State => 50,
            Self::Operations(operations) => 1 + operations,
            Self::Edge { variables } => 1 + variables / 512,
            Self::DirectEdge { variables } => 3 + variables / 512,
            Self::Calculation => 100,
            Self::Replay { steps } => 40 * (1 + steps),
            Self::Names(names) => 4 * names,
            Self::AbsencePass { points } => points / 16,
            Self::AbsenceTransfer => 20,
        }
    }
}

impl Budget {
    /// Creates the budget of a compilation.
    pub(crate) fn new() -> Self {
        Self { left: MAX_WORK }
    }

    /// Charges for work, and returns whether anything is left.
    pub(crate) fn charge(&mut self, cost: Cost) -> bool {
        self.left = self.left.saturating_sub(cost.units());
        !self.is_spent()
    }

    /// Returns whether nothing is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0
    }
}

/// Returns how many states one round may take from its queue.
pub(crate) fn max_states(points: usize) -> usize {
    MAX_STATES + MAX_STATES_PER_POINT * points
}
