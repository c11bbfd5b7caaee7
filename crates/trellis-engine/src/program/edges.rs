//! The edges out of a point, as data: the engine executes them, the checks analyse them, `graph` draws them (language 8.1).

use std::{ops::Range, sync::Arc};

use super::{NodeIndex, Program, Writes};
use trellis_base::{id::SignalName, index::to_u32, path::KeyPath, span::Span, value::Value};

/// A point's place in [`Program::points`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointIndex(pub u32);

impl PointIndex {
    /// Creates the index of the point at a place of [`Program::points`](crate::program::Program::points).
    pub fn from_usize(at: usize) -> Self {
        Self(to_u32(at))
    }

    /// Returns the place in [`Program::points`](crate::program::Program::points).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A point of a session: a node is one point, or two when the graph has `before_each`.
#[derive(Debug)]
pub struct Point {
    /// The node.
    pub node: NodeIndex,
    /// The part of the node.
    pub part: Part,
    /// The possible replies: a range of [`Program::replies`].
    pub replies: Range<u32>,
}

/// The kind of a point of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `before_each` is called here.
    Gate,
    /// The node itself.
    Body,
}

/// A possible outcome at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The node passes through.
    Pass,
    /// A valid input.
    Answer,
    /// A valid input that is this option, an index into [`super::Listen::options`], which writes something of its own (language 6.4).
    Chosen(u32),
    /// An invalid input that counts (`on_invalid.max`, language 6.5).
    Invalid,
    /// A call succeeded.
    Success,
    /// A call failed, or its result broke `returns`.
    Error,
    /// A call took too long.
    Timeout,
    /// A call was denied, or its approval expired.
    Denied,
    /// This signal.
    Signal(SignalName),
    /// Any other signal.
    AnySignal,
    /// The node was to be entered more than `max_visits` times. Nothing was entered.
    Exhausted,
    /// Everything was unwound (language 7.7); belongs to the graph, not to a point.
    RolledBack,
}

/// One outcome with its writes and its edges. Writes come before the guards, for every edge alike.
#[derive(Debug)]
pub struct Reply {
    /// The outcome at which this reply is taken.
    pub on: Outcome,
    /// The writes before the edges, in order.
    pub update: Writes,
    /// The edges, in order; the last one always holds.
    pub edges: Range<u32>,
}

/// An edge: a guard and a target.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Its guard.
    pub when: Guard,
    /// Its target.
    pub to: Target,
    /// The key that declares it.
    pub why: Provenance,
    /// The place of that key; `None` for an edge that follows from the rules alone.
    pub origin: Option<Origin>,
}

/// A place in one of the program's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Index into [`Program::documents`].
    pub document: u32,
    /// Bytes there.
    pub span: Span,
}

/// The origin of an edge, for readers of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// An option, by its text.
    Option(Arc<str>),
    /// A transition.
    Transition,
    /// `to` of the node.
    To,
    /// `on_error`.
    OnError,
    /// `on_denied`.
    OnDenied,
    /// `on_timeout` or an `on_signal` entry.
    OnSignal,
    /// `on_max_visits`.
    OnMaxVisits,
    /// `on_invalid`.
    OnInvalid,
    /// `on_signal_default`, of the graph.
    SignalDefault,
    /// `on_error` of the graph.
    ErrorDefault,
    /// `on_rolled_back`.
    OnRolledBack,
    /// A retry policy.
    Retry,
    /// `before_each`.
    BeforeEach,
    /// The node is terminal.
    Terminal,
    /// No other edge held: the rules of the language determine this one.
    Rule,
}

/// The condition of an edge. Conditions grow no operators (language 6.1).
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    /// No condition.
    Always,
    /// The operand equals the value; `false` turns it round.
    Is(Operand, bool, Value),
    /// The operand is one of the values; `false` turns it round.
    In(Operand, bool, Box<[Value]>),
    /// The operand is this boolean.
    Truth(Operand, bool),
    /// The operand is present; `false`: absent.
    Set(Operand, bool),
    /// The operand is absent or empty; `false`: is neither.
    Empty(Operand, bool),
    /// The predicate, an index into [`Program::predicates`], answers with this boolean.
    Predicate(u32, bool),
    /// Fewer than this number of attempts were made at this point: `State::attempt` is below it, and the error that is being resolved is
    /// not final (language 9.3).
    Attempts(u32),
}

impl Guard {
    /// Returns the operand of the guard, if it reads a value.
    pub fn operand(&self) -> Option<&Operand> {
        match self {
            Self::Is(operand, ..) | Self::In(operand, ..) | Self::Truth(operand, _) | Self::Set(operand, _) | Self::Empty(operand, _) => {
                Some(operand)
            }
            Self::Always | Self::Predicate(..) | Self::Attempts(_) => None,
        }
    }

    /// Returns whether the guard holds when its operand is `value`; [`Truth::Either`] where that cannot be decided: an absent value is
    /// compared, or a value that is no boolean is tested as one (language 6.1).
    pub fn over(&self, value: Option<&Value>) -> Truth {
        let decided = match (self, value) {
            (Self::Always, _) => Some(true),
            (Self::Set(_, wanted), value) => Some(value.is_some() == *wanted),
            (Self::Empty(_, wanted), value) => Some(value.is_none_or(Value::is_empty) == *wanted),
            (Self::Is(_, wanted, literal), Some(value)) => Some((value == literal) == *wanted),
            (Self::In(_, wanted, literals), Some(value)) => Some(literals.contains(value) == *wanted),
            (Self::Truth(_, wanted), Some(Value::Bool(truth))) => Some(truth == wanted),
            _ => None,
        };
        decided.map_or(Truth::Either, Truth::from)
    }
}

impl std::convert::From<bool> for Truth {
    fn from(truth: bool) -> Self {
        if truth { Self::Yes } else { Self::No }
    }
}

/// The operand of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operand {
    /// The top-level name.
    pub root: Root,
    /// The whole path, root included.
    pub path: KeyPath,
}

/// The top-level names (language 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// `input`.
    Input,
    /// `tool_result`.
    Result,
    /// `sys`.
    Sys,
    /// A context key.
    Context,
}

/// The target of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Enters a point.
    Point(PointIndex),
    /// From a gate on to its node: no second entering, the visit is counted already.
    Proceed(PointIndex),
    /// This point once more, with one more attempt.
    Again,
    /// Starts compensation (language 7.7).
    Rollback,
    /// Ends the session.
    End(Reason),
}

/// The reason for the end of a session (language 7.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Success.
    Finished,
    /// Failure, and which.
    Failed(Failure),
    /// A call was denied and nothing handled it.
    Denied,
    /// Everything was unwound.
    RolledBack,
}

/// Failures with a code in `ended.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// `fail` was the target.
    Fail,
    /// The terminal declares `end: failed`.
    End,
    /// No transition matched.
    NoMatch,
    /// A tool error that nothing handles.
    ToolError,
    /// A call's or node's timeout that nothing handles.
    Timeout,
    /// `max_visits` without `on_max_visits`.
    MaxVisits,
    /// `on_invalid.max` without `on_invalid.to`.
    InvalidInput,
    /// `required_context` is not met.
    MissingContext,
    /// `context_schema` is not met.
    ContextSchema,
    /// `assert` does not hold.
    Assert,
    /// A template could not be rendered.
    Template,
    /// A condition could not be decided: it compares something absent.
    Condition,
    /// A write could not be made: over something that is no mapping, or no list.
    Write,
    /// A bound was reached.
    Limit,
}

impl Provenance {
    /// Returns true for a default of a graph that does not apply to a child which a node of that graph calls (language 5.4).
    pub fn is_graph_wide(&self) -> bool {
        matches!(self, Self::SignalDefault | Self::ErrorDefault | Self::OnRolledBack)
    }
}

impl Failure {
    /// The code in `ended.code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::End => "end-failed",
            Self::NoMatch => "no-match",
            Self::ToolError => "tool-error",
            Self::Timeout => "timeout",
            Self::MaxVisits => "max-visits",
            Self::InvalidInput => "invalid-input",
            Self::MissingContext => "missing-context",
            Self::ContextSchema => "context-schema",
            Self::Assert => "failed-assert",
            Self::Template => "template",
            Self::Condition => "condition",
            Self::Write => "write",
            Self::Limit => "limit",
        }
    }
}

/// The value of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// Both are possible: only an analysis has this value.
    Either,
}

/// An edge with its reply, read from the edge list.
#[derive(Clone, Copy, Debug)]
pub struct OutEdge<'p> {
    /// The reply.
    pub reply: &'p Reply,
    /// The edge, with its target and guard.
    pub edge: &'p Edge,
    /// The place of the edge in the edge list: no two edges of a program share one.
    pub index: u32,
}

/// An edge that a step took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TakenEdge {
    /// The point that it leaves; for an edge after a rollback, the node where the rollback ended.
    pub point: PointIndex,
    /// Its place in the edge list, [`OutEdge::index`]; an edge belongs to one reply.
    pub edge: u32,
}

/// Returns the edges of a reply, in order.
fn edges_of_reply<'p>(program: &'p Program, reply: &'p Reply) -> impl Iterator<Item = OutEdge<'p>> + Clone {
    let edges = program.edges(&reply.edges).iter();
    edges.zip(reply.edges.clone()).map(move |(edge, index)| OutEdge { reply, edge, index })
}

impl Program {
    /// Returns every edge out of a point, in the order in which the engine tries them: the one edge list (language 8.1).
    pub fn out_edges(&self, point: PointIndex) -> impl Iterator<Item = OutEdge<'_>> + Clone {
        let replies = self.replies(&self.point(point).replies);
        replies.iter().flat_map(|reply| edges_of_reply(self, reply))
    }

    /// Returns every edge to a node, with the point that it leaves, in the order of points. It goes through all edges once.
    pub fn in_edges(&self, node: NodeIndex) -> impl Iterator<Item = (PointIndex, OutEdge<'_>)> {
        let to = self.node(node);
        let is_here = move |target: &Target| match target {
            Target::Point(point) => *point == to.body || Some(*point) == to.gate,
            Target::Proceed(_) | Target::Again | Target::Rollback | Target::End(_) => false,
        };
        let points = (0..to_u32(self.points.len())).map(PointIndex);
        points.flat_map(move |point| self.out_edges(point).filter(move |out| is_here(&out.edge.to)).map(move |out| (point, out)))
    }

    /// Returns the edges after a rollback in a graph.
    pub fn edges_after_rollback(&self, graph: u32) -> impl Iterator<Item = OutEdge<'_>> + Clone {
        edges_of_reply(self, &self.replies[self.graphs[graph as usize].rollback_reply as usize])
    }

    /// Returns the point where a session continues after a rollback in a graph; `None` if it ends.
    pub fn after_rollback(&self, graph: u32) -> Option<PointIndex> {
        self.edges_after_rollback(graph).find_map(|out| match out.edge.to {
            Target::Point(point) => Some(point),
            _ => None,
        })
    }

    /// The reply of a point to an outcome.
    pub fn reply(&self, point: PointIndex, on: &Outcome) -> Option<&Reply> {
        self.replies(&self.point(point).replies).iter().find(|reply| reply.on == *on)
    }

    /// The edges of a reply, in order.
    pub fn edges_of(&self, reply: &Reply) -> &[Edge] {
        self.edges(&reply.edges)
    }
}
