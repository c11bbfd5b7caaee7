//! Needs: the keys that are read from a node on before they are written (language 8.7).
//!
//! In: a node that is entered, or a state that waits. Out: the context paths that it must have, computed on demand over the one edge list.
//!
//! - A **certain** need is read on every path on which nothing goes wrong: no error, denial, timeout, signal or invalid input. A session without it
//!   fails there, unless it goes round for ever before. A transition whose condition cannot hold counts as a path, so that no need is named in vain.
//! - A **possible** need is read on some path. A key whose absence the same condition or template asks for first is none.

mod branch;
mod local;
mod route;
mod search;

use std::{fmt, sync::OnceLock};

use self::{
    local::{Begin, Locals},
    route::nearest_end,
    search::{MAX_PATHS, search},
};
use super::{Node, PointIndex, Program};
use crate::state::{CallRole, State, Status};
use trellis_base::{path::KeyPath, schema::Schema};

/// The needs of a session, in the order of their reads.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Read on every path on which nothing goes wrong.
    pub certain: Vec<KeyPath>,
    /// Read on some path; the certain ones are among them.
    pub possible: Vec<KeyPath>,
    /// The schema that a key must fit if it is set: every path of edges on which nothing goes wrong accepts no other value.
    pub kinds: Vec<(KeyPath, Schema)>,
    /// Keys of `sys` that every such path reads; only earlier nodes write them, so a session that begins there has none of them.
    pub sys: Vec<KeyPath>,
}

/// The context paths that a state lacks and will certainly read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Missing(pub Vec<KeyPath>);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.0.iter().map(|path| format!("`{path}`")).collect();
        write!(f, "{} {} not set", paths.join(", "), if paths.len() == 1 { "is" } else { "are" })
    }
}

/// The certain needs of sessions that wait at each point, computed on the first request: many sessions wait at few points.
#[derive(Debug, Default)]
pub struct Waiting(OnceLock<Box<[PointNeeds]>>);

#[derive(Debug, Default)]
struct PointNeeds {
    /// The reads of one path, which include the certain needs; `None` if no path leads to an end, or too much is read.
    near: OnceLock<Option<Box<[KeyPath]>>>,
    /// The certain needs; `None` if they are too many to be computed at once.
    certain: OnceLock<Option<Box<[KeyPath]>>>,
}

impl Waiting {
    fn at(&self, program: &Program, point: PointIndex) -> Option<&PointNeeds> {
        let points = self.0.get_or_init(|| program.points.iter().map(|_| PointNeeds::default()).collect());
        points.get(point.0 as usize)
    }
}

impl PointNeeds {
    fn near(&self, program: &Program, point: PointIndex) -> Option<&[KeyPath]> {
        let near = self.near.get_or_init(|| {
            let locals = Locals::along(program, &nearest_end(program, point)?);
            (locals.paths.len() <= MAX_PATHS).then(|| search(&locals, |_| true).certain.into())
        });
        near.as_deref()
    }

    fn certain(&self, program: &Program, point: PointIndex) -> Option<&[KeyPath]> {
        let certain = self.certain.get_or_init(|| {
            let locals = Locals::of(program, Begin::Waiting(point));
            (locals.paths.len() <= MAX_PATHS).then(|| search(&locals, |_| true).certain.into())
        });
        certain.as_deref()
    }
}

impl Needs {
    /// Returns the keys that must be set, `sys` included.
    pub(crate) fn there(&self) -> impl Iterator<Item = &KeyPath> {
        self.certain.iter().chain(&self.sys)
    }
}

impl Program {
    /// Returns the needs of a session that enters `node`. It takes time that grows with the part of the graph behind the node.
    pub fn needs(&self, node: &Node) -> Needs {
        self.needs_where(Begin::Entering(node.gate.unwrap_or(node.body)), |_| true)
    }

    /// Checks that a state has the keys that it will certainly read from its present point on.
    ///
    /// # Errors
    /// The keys that it lacks.
    pub fn admits(&self, state: &State) -> Result<(), Missing> {
        let node = self.find(&state.current_node_id).or_else(|| self.find_renamed(&state.current_node_id));
        let Some(node) = node.filter(|_| !matches!(state.status, Status::Terminated | Status::RollingBack)) else { return Ok(()) };
        self.admits_at(state, self.node(node))
    }

    /// Checks the needs of a state that waits at `node`, independent of the id that the node had before, as [`Self::admits`] does by the id
    /// in the state.
    pub(crate) fn admits_at(&self, state: &State, node: &Node) -> Result<(), Missing> {
        let at_gate = state.pending_tool_call.as_ref().is_some_and(|call| call.role == CallRole::BeforeEach);
        let point = node.gate.filter(|_| at_gate).unwrap_or(node.body);
        let lacks = |path: &KeyPath| !state.has(path);
        let waiting = self.waiting.at(self, point);
        if waiting.and_then(|waiting| waiting.near(self, point)).is_some_and(|near| !near.iter().any(lacks)) {
            debug_assert_eq!(self.missing_at(point, waiting, lacks), [], "the shortcut holds what the long way holds");
            return Ok(());
        }
        let missing = self.missing_at(point, waiting, lacks);
        if missing.is_empty() { Ok(()) } else { Err(Missing(missing)) }
    }

    /// The certain needs of a point that a session lacks.
    fn missing_at(&self, point: PointIndex, waiting: Option<&PointNeeds>, lacks: impl Fn(&KeyPath) -> bool) -> Vec<KeyPath> {
        match waiting.and_then(|waiting| waiting.certain(self, point)) {
            Some(certain) => certain.iter().filter(|path| lacks(path)).cloned().collect(),
            None => self.needs_where(Begin::Waiting(point), lacks).certain,
        }
    }

    /// The needs among the paths that matter.
    fn needs_where(&self, begin: Begin, matters: impl Fn(&KeyPath) -> bool) -> Needs {
        search(&Locals::of(self, begin), matters)
    }
}
