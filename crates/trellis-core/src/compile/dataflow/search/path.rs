//! Words of a searched path: one step of it, its beginning, what becomes of executing a step, and the verdict on an alarm.
//!
//! Exploration, execution and replay share these types.

use std::{collections::BTreeMap, sync::Arc};

use super::state::SymState;
use crate::{compile::dataflow::symbolic::SymValue, id::SignalName, program::PointIndex, template::KindSet, value::Key, witness::Witness};

/// What a search came to.
pub(crate) enum Verdict {
    /// The engine walked this way into the accident.
    Witnessed(Vec<Hop>, WitnessDetails),
    /// There is no such way.
    Refuted,
    /// Every way that was found comes to grief before, where that was told.
    Masked,
    /// The budget was spent, or no way that was found could be walked.
    Undecided,
}

/// What was met where it went wrong.
#[derive(Default)]
pub(crate) struct WitnessDetails {
    /// The names that are set there.
    pub(crate) there: Vec<String>,
    /// What the engine said.
    pub(crate) said: Option<String>,
    /// Of what sorts the parts of a calculation were, where it is about one.
    pub(crate) sorts: Vec<KindSet>,
    /// The session that was walked; nothing where another mistake stands before it in the same text.
    pub(crate) witness: Option<Arc<Witness>>,
}

/// One step of a way: the reply that was taken at a point, and the edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) point: PointIndex,
    pub(crate) on: u32,
    pub(crate) edge: u32,
}

/// What is handed in for a step.
#[derive(Clone, Debug)]
pub(crate) enum HostInput {
    Pass,
    Answer(SymValue),
    Success(SymValue),
    Invalid,
    /// With what stands in `sys.error` then.
    Error(SymValue),
    Denied(SymValue),
    Signal(SignalName),
}

/// One step of a way, as the engine will be asked to take it.
#[derive(Clone, Debug)]
pub(crate) struct HostMove {
    pub(crate) given: HostInput,
    /// What predicates answer.
    pub(crate) answers: BTreeMap<u32, bool>,
}

/// How a way begins.
#[derive(Clone)]
pub(crate) struct InitialState {
    pub(crate) point: PointIndex,
    pub(crate) is_entry: bool,
    pub(crate) context: BTreeMap<Key, SymValue>,
}

/// What became of executing something in a state.
pub(crate) enum ExecResult {
    /// The path leads on.
    Continue,
    /// The session ends otherwise: no path leads through here.
    Infeasible,
    /// The alarm's violation happens here.
    Violates,
}

/// One step that was taken, before its target is entered.
pub(crate) struct Successor {
    pub(crate) state: SymState,
    pub(crate) hop: Hop,
    pub(crate) host_move: HostMove,
    pub(crate) result: ExecResult,
}
