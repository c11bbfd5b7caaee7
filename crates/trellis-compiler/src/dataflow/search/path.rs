//! Types of a symbolic path, which exploration, execution and replay share.

use std::{collections::BTreeMap, sync::Arc};

use super::state::SymState;
use crate::dataflow::{
    index::{EdgeIndex, ReplyIndex},
    symbolic::SymValue,
};
use trellis_base::{id::SignalName, template::KindSet, value::Key, witness::Witness};
use trellis_engine::program::PointIndex;

/// The result of searching an alarm.
pub(crate) enum Verdict {
    /// The engine ran this path into the violation.
    Witnessed(Vec<Hop>, WitnessDetails),
    /// No path leads into the violation.
    Refuted,
    /// Every path that was found fails earlier, at a node that was reported.
    Masked,
    /// The budget was spent, precision was lost, or the engine followed no path that was found.
    Undecided,
}

/// Details of the session that ran into the violation.
#[derive(Default)]
pub(crate) struct WitnessDetails {
    /// The names that are set at the violation.
    pub(crate) set_names: Vec<String>,
    /// The message of the engine.
    pub(crate) message: Option<String>,
    /// The kinds of the operands, if the violation is one of a calculation.
    pub(crate) sorts: Vec<KindSet>,
    /// The session; `None` if another mistake comes before it in the same text.
    pub(crate) witness: Option<Arc<Witness>>,
}

/// One transition of a path: the reply at a point, and the edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) point: PointIndex,
    pub(crate) reply: ReplyIndex,
    pub(crate) edge: EdgeIndex,
}

/// The input of one step.
#[derive(Clone, Debug)]
pub(crate) enum HostInput {
    Pass,
    Answer(SymValue),
    Success(SymValue),
    Invalid,
    /// Fails, with the value of `sys.error`.
    Error(SymValue),
    /// Denies the call, with the value of `sys.error`.
    Denied(SymValue),
    Signal(SignalName),
}

/// One step of a path, as replay asks the engine to take it.
#[derive(Clone, Debug)]
pub(crate) struct HostMove {
    /// The failure of an attempt before, which is tried again.
    pub(crate) before: Option<HostInput>,
    pub(crate) given: HostInput,
    /// The answers of predicates, by their index in the program.
    pub(crate) answers: BTreeMap<u32, bool>,
}

/// The beginning of a path.
#[derive(Clone)]
pub(crate) struct InitialState {
    pub(crate) point: PointIndex,
    pub(crate) is_entry: bool,
    pub(crate) context: BTreeMap<Key, SymValue>,
}

/// The result of executing an operation, a reply or an edge in a state.
pub(crate) enum ExecResult {
    /// The path continues.
    Continue,
    /// The constraints contradict each other, or the session ends otherwise.
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
