//! Forward abstract interpretation: the environment at each point, and the alarms (language 8.1, 8.2).
//!
//! **Algorithm.** A worklist iteration over the strongly connected components of the control-flow graph, in topological order, so that each
//! component is solved once, after everything that leads into it. [`transfer`] executes the operations of a point over an [`Env`], `branch`
//! splits the result over the edges of each reply, `worklist` joins it into the successors until nothing grows. Calls of child graphs are
//! interprocedural edges: arguments flow to the child's entry, its outputs return in one context-insensitive
//! [`CallSummary`](calls::CallSummary) for each child.
//!
//! **State.** `Solution::at`, an environment for each point, `None` for an unreached one; `onward`, one environment for each edge; and
//! notes, which become alarms, unchecked reads and conditions that never hold.
//!
//! **Termination.** Within a component environments only grow, and their lattice has finite height (see [`domain`](super::domain)).
//!
//! **Soundness.** Guards and writes are those of the engine, executed over types. A point whose file has mistakes sends a dynamic
//! environment to all its successors. After an alarm the analysis continues with the sessions that passed: a path that was read is present
//! from then on.
//!
//! **Edits.** The result of a component is a function of its operations and of its incoming environments. So an edit solves only those
//! components again for which one of the two changed (`incremental`), and the result is that of a new analysis.
//!
//! **Invariant:** the concrete state of every session at a point is included in the environment of that point.
//!
//! **Example.** `start` saves `"phone"` or `"letter"` to `means`; the edge guarded by `means == "phone"` carries `means: {"phone"}`, the
//! other one `means: {"letter"}`, and where they meet it is both again.

mod alarms;
mod branch;
mod calls;
mod entry;
mod eval;
mod incremental;
mod refute_absence;
pub(super) mod snapshot;
pub(super) mod taint_flow;
mod transfer;
pub(super) mod violation;
mod worklist;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(crate) use self::{
    alarms::{Alarms, UnknownAt},
    eval::{WrittenParts, WrittenType},
};
use self::{
    alarms::{Observation, PointResult},
    calls::CallSummaries,
    violation::Violation,
};
use super::{
    domain::{ElementPathId, GuardId, SubPathId, TypeId, TypeTable, external},
    env::{Env, UpperBound},
    ir::{
        VISITS,
        arithmetic::ArithmeticId,
        intern::Interner,
        interned::{BranchTarget, GuardSetId, Incoming, Op, OpRange, OpTable, ParallelResults, PointOps, ReplyInput, WriteMode},
        keys::InternedPath,
        source::{SourceExpr, SourceId},
        split,
        tables::IrTables,
    },
    slot::{INPUT, RESULT, Slot},
};
use crate::{
    Unknown,
    cfg::{
        Cfg,
        digraph::{Components, Digraph},
    },
};
use trellis_base::{
    path::KeyPath,
    value::{Key, Value},
};
use trellis_engine::program::{Call, Guard, Node, NodeIndex, PointIndex, Program};

/// Analysis of one program: its tables, and the solution.
pub(crate) struct Analysis<'a, 'p> {
    pub(crate) program: &'p Program,
    pub(crate) types: TypeTable,
    tables: IrTables,
    solved: Solution,
    /// Points whose file has mistakes: their operations are not trusted.
    tainted: &'a [bool],
    /// The points that were visited this time.
    touched: Vec<u32>,
    /// Points that read, write or check each key; computed on first use.
    touching: Option<FxHashMap<Slot, Vec<u32>>>,
}

/// Tables and solution that an incremental analysis starts from.
#[derive(Debug)]
pub(crate) struct AnalysisCache {
    types: TypeTable,
    tables: IrTables,
    solved: Solution,
    /// Size of all tables now.
    size: usize,
    /// Number of points that the last analysis executed.
    #[cfg(test)]
    pub(crate) processed: usize,
}

/// Solution of the dataflow equations.
#[derive(Debug)]
struct Solution {
    /// Control-flow graph with the calls and returns of children.
    digraph: Arc<Digraph>,
    /// Control-flow graph without the returns of children.
    edges: Arc<Digraph>,
    /// Strongly connected components of `digraph`, in topological order.
    parts: Arc<Components>,
    /// Summaries of the nodes that are called as children.
    children: CallSummaries,
    tainted: Vec<bool>,
    /// Environment at the start of a session.
    begun: Env,
    /// Environment on entering each point; `None` if no session reaches it.
    at: Vec<Option<Env>>,
    /// Environments that leave each point, by target, sorted.
    onward: Vec<Box<[(PointIndex, Env)]>>,
    /// Observations at each point.
    notes: Vec<Box<[Observation]>>,
    /// By point, sorted.
    /// Size of the tables after the last analysis from scratch.
    size: usize,
}

impl AnalysisCache {
    /// Returns true for each point whose operations were not trusted.
    pub(crate) fn tainted(&self) -> &[bool] {
        &self.solved.tainted
    }
}

impl<'a, 'p> Analysis<'a, 'p> {
    /// Analyses a program from scratch.
    pub(crate) fn new(program: &'p Program, cfg: &Cfg<'_>, tainted: &'a [bool]) -> Self {
        let mut types = TypeTable::new();
        let mut tables = IrTables::new(&mut types);
        tables.read(program, &mut types);
        let count = program.points.len();
        let solved = Solution {
            digraph: Arc::clone(&cfg.digraph),
            edges: Arc::clone(&cfg.digraph),
            parts: Arc::default(),
            children: calls::children(program, &tables.ops),
            tainted: tainted.to_vec(),
            begun: Env::absent(tables.keys.room()),
            at: vec![None; count],
            onward: vec![Box::default(); count],
            notes: std::iter::repeat_with(Box::default).take(count).collect(),
            size: 0,
        };
        let mut known = Self { program, types, tables, solved, tainted, touched: Vec::new(), touching: None };
        known.solved.begun = known.begin();
        known.build_digraph();
        let all = vec![true; known.solved.parts.count() as usize];
        known.solve(all);
        known.solved.size = known.size();
        known
    }

    /// Opens the results of an earlier analysis of the same program again.
    pub(crate) fn reopen(program: &'p Program, tainted: &'a [bool], cache: AnalysisCache) -> Self {
        let AnalysisCache { types, tables, solved, .. } = cache;
        Self { program, types, tables, solved, tainted, touched: Vec::new(), touching: None }
    }

    fn size(&self) -> usize {
        self.types.size() + self.tables.sources.len() + self.tables.calculations.len() + self.tables.tests.len()
    }

    /// Returns the cache from which an incremental analysis can start.
    pub(crate) fn leave(self) -> AnalysisCache {
        AnalysisCache {
            size: self.size(),
            #[cfg(test)]
            processed: self.touched.len(),
            types: self.types,
            tables: self.tables,
            solved: self.solved,
        }
    }

    /// Returns the point where sessions begin.
    fn first(&self) -> PointIndex {
        let entry = self.program.entry();
        entry.gate.unwrap_or(entry.body)
    }

    /// Returns true if a path of at least one edge leads from one point to another.
    pub(crate) fn leads(&self, from: PointIndex, to: PointIndex) -> bool {
        let digraph = &*self.solved.digraph;
        digraph.forward.of(from.0).any(|next| petgraph::algo::has_path_connecting(digraph, next, to.0, None))
    }

    /// Returns the environment on entering a point; `None` if no session reaches it.
    pub(crate) fn at(&self, point: PointIndex) -> Option<&Env> {
        self.solved.at[point.index()].as_ref()
    }

    /// Returns the type at a path of a key on entering a point; `None` if no session reaches it.
    pub(crate) fn type_at(&mut self, point: PointIndex, slot: Slot, rest: SubPathId) -> Option<TypeId> {
        let known = self.solved.at[point.index()].as_ref()?.get(slot, &mut self.types);
        Some(self.types.select(known, rest))
    }

    /// Returns the environment while a session waits at a point, after it was entered; `None` if no session waits there.
    pub(crate) fn env_at(&mut self, point: PointIndex) -> Option<Env> {
        let mut env = self.at(point)?.clone();
        let point_ops = self.tables.ops.point_ops(point).clone();
        self.count(&point_ops, &mut env);
        let lives = self.enter(&point_ops, &mut env, &mut PointResult::default());
        lives.then_some(env)
    }

    /// Returns the followed keys by name, sorted.
    pub(crate) fn keys(&self) -> Vec<(String, Slot)> {
        self.tables.keys.followed()
    }

    /// Returns the slot of a path and its segments below the key. `None` if no point reads the key, or the path is not followed.
    pub(crate) fn followed(&mut self, path: &KeyPath) -> Option<(Slot, SubPathId)> {
        let (name, rest) = split(path)?;
        Some((self.tables.keys.slot_of(name)?, self.types.rest(rest)))
    }

    /// Returns the type at a path of an environment; `None` if the path is not followed.
    pub(crate) fn known(&mut self, env: &Env, path: &KeyPath) -> Option<TypeId> {
        let (slot, rest) = self.followed(path)?;
        Some(self.below(env, slot, rest))
    }

    /// Returns the type at a path below a key.
    fn below(&mut self, env: &Env, slot: Slot, rest: SubPathId) -> TypeId {
        let known = env.get(slot, &mut self.types);
        self.types.select(known, rest)
    }

    fn slot(&self, path: InternedPath) -> Option<Slot> {
        self.tables.keys.slot(path.name)
    }
}
