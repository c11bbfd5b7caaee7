//! What can be at each point: a forward fixed point over the ways (language 8.1, 8.2).
//!
//! Each point holds a type for each key that anything reads. The guards and writes are those that the engine takes; types stand for values.
//!
//! Points that can reach each other are one part of the graph, and parts are worked out one behind the other, each once, when everything that leads
//! into it is known. So what is known in a part follows from what happens at its points and from what leads into it, and from nothing else.
//! After an edit only those parts are worked out anew of which either changed (`again.rs`); of all others what was known stands as it is. What comes
//! out is what a new analysis gives: each part is worked out from nothing or not at all, in an order that is its own.
//!
//! **Invariant:** each concrete state of a session at a point is among what is possible there.

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

pub(crate) use self::alarms::Alarms;
use self::{
    alarms::{Observation, PointResult},
    calls::CallSummaries,
    violation::Violation,
};
pub(crate) use super::ir::tables::IrTables;
use super::{
    domain::{ElementPathId, GuardId, SubPathId, TypeId, TypeTable, external},
    env::{Env, INPUT, RESULT, Slot, UpperBound},
    ir::{
        VISITS,
        interned::{
            ArithmeticId, BranchTarget, GuardSetId, Incoming, InternedPath, Interner, Op, OpRange, OpTable, PointOps, ReplyInput,
            SourceExpr, SourceId, WriteMode,
        },
        split,
    },
};
use crate::{
    compile::{
        UncheckedRead, Unknown,
        cfg::{
            Cfg,
            digraph::{Components, Digraph},
        },
        dataflow::index::to_u32,
    },
    path::KeyPath,
    program::{Guard, Node, NodeIndex, PointIndex, Program, Target},
    value::Value,
};

/// What is known, point by point.
pub(crate) struct Analysis<'a, 'p> {
    pub(crate) program: &'p Program,
    pub(crate) types: TypeTable,
    tables: IrTables,
    solved: Solution,
    /// Points whose file has mistakes: what they do is not known.
    tainted: &'a [bool],
    /// Where a rollback leads on, by graph.
    unwound: Vec<Vec<PointIndex>>,
    /// The points that were looked at this time.
    touched: Vec<u32>,
    /// The points at which something happens to a key, once somebody asked.
    touching: Option<FxHashMap<Slot, Vec<u32>>>,
}

/// What one analysis leaves to the next.
#[derive(Debug)]
pub(crate) struct AnalysisCache {
    types: TypeTable,
    tables: IrTables,
    solved: Solution,
    /// How much there is.
    size: usize,
    /// How many points were looked at the last time.
    #[cfg(test)]
    pub(crate) looked: usize,
}

/// What was worked out.
#[derive(Debug)]
struct Solution {
    /// Who leads to whom, calls and returns of children included.
    digraph: Arc<Digraph>,
    /// The same without them.
    ways: Arc<Digraph>,
    parts: Arc<Components>,
    children: CallSummaries,
    tainted: Vec<bool>,
    /// What a session begins with.
    begun: Env,
    /// What is there on entering a point; nothing where no session comes.
    at: Vec<Option<Env>>,
    /// What is known behind each point, by where it leads, sorted.
    onward: Vec<Box<[(PointIndex, Env)]>>,
    notes: Vec<Box<[Observation]>>,
    /// By point, sorted.
    unchecked: Vec<(u32, UncheckedRead)>,
    /// How much there was when everything was new.
    size: usize,
}

impl<'a, 'p> Analysis<'a, 'p> {
    /// Works everything out.
    pub(crate) fn new(program: &'p Program, cfg: &Cfg<'_>, tainted: &'a [bool]) -> Self {
        let mut types = TypeTable::new();
        let mut tables = IrTables::new(&mut types);
        tables.read(program, &mut types);
        let count = program.points.len();
        let solved = Solution {
            digraph: Arc::clone(&cfg.digraph),
            ways: Arc::clone(&cfg.digraph),
            parts: Arc::default(),
            children: calls::children(program, &tables.steps),
            tainted: tainted.to_vec(),
            begun: Env::absent(tables.keys.room()),
            at: vec![None; count],
            onward: vec![Box::default(); count],
            notes: std::iter::repeat_with(Box::default).take(count).collect(),
            unchecked: Vec::new(),
            size: 0,
        };
        let mut known = Self { program, types, tables, solved, tainted, unwound: unwound(program), touched: Vec::new(), touching: None };
        known.solved.begun = known.begin();
        known.weave();
        let all = vec![true; known.solved.parts.count() as usize];
        known.solve(all);
        known.solved.size = known.size();
        known
    }

    fn size(&self) -> usize {
        self.types.size() + self.tables.sources.len() + self.tables.calculations.len() + self.tables.tests.len()
    }

    /// What stays for the next time.
    pub(crate) fn leave(self) -> AnalysisCache {
        AnalysisCache {
            size: self.size(),
            #[cfg(test)]
            looked: self.touched.len(),
            types: self.types,
            tables: self.tables,
            solved: self.solved,
        }
    }

    /// The point where sessions begin.
    fn first(&self) -> PointIndex {
        let entry = self.program.entry();
        entry.gate.unwrap_or(entry.body)
    }

    /// Whether ways lead from one point to another, or to itself.
    pub(crate) fn leads(&self, from: PointIndex, to: PointIndex) -> bool {
        let digraph = &*self.solved.digraph;
        digraph.forward.of(from.0).any(|next| petgraph::algo::has_path_connecting(digraph, next, to.0, None))
    }

    /// What is known on entering a point; nothing where no session comes.
    pub(crate) fn at(&self, point: PointIndex) -> Option<&Env> {
        self.solved.at[point.index()].as_ref()
    }

    /// What stands below a key on entering a point; nothing where no session comes.
    pub(crate) fn stands_at(&mut self, point: PointIndex, slot: Slot, rest: SubPathId) -> Option<TypeId> {
        let known = self.solved.at[point.index()].as_ref()?.get(slot, &mut self.types);
        Some(self.types.select(known, rest))
    }

    /// What is known while a session stands at a point: behind all that entering it does.
    pub(crate) fn standing(&mut self, point: PointIndex) -> Option<Env> {
        let mut env = self.at(point)?.clone();
        let point_ops = self.tables.steps.point_ops(point).clone();
        self.count(&point_ops, &mut env);
        let lives = self.transfer(&point_ops, &mut env, point_ops.entering, &mut PointResult::default());
        lives.then_some(env)
    }

    /// The keys that are followed, sorted.
    pub(crate) fn keys(&self) -> Vec<(String, Slot)> {
        self.tables.keys.followed()
    }

    /// A path as it is followed; nothing where nobody reads it, and for what the engine always knows.
    pub(crate) fn followed(&mut self, path: &KeyPath) -> Option<(Slot, SubPathId)> {
        let (name, rest) = split(path)?;
        Some((self.tables.keys.slot_of(name)?, self.types.rest(rest)))
    }

    /// What stands at a path; nothing for what the engine always knows.
    pub(crate) fn known(&mut self, env: &Env, path: &KeyPath) -> Option<TypeId> {
        let (slot, rest) = self.followed(path)?;
        Some(self.below(env, slot, rest))
    }

    /// What stands below a key.
    fn below(&mut self, env: &Env, slot: Slot, rest: SubPathId) -> TypeId {
        let known = env.get(slot, &mut self.types);
        self.types.select(known, rest)
    }

    fn slot(&self, path: InternedPath) -> Option<Slot> {
        self.tables.keys.slot(path.name)
    }
}

/// Where a rollback leads on, by graph.
fn unwound(program: &Program) -> Vec<Vec<PointIndex>> {
    let to = |target: &Target| if let Target::Point(to) = target { Some(*to) } else { None };
    let graphs = 0..to_u32(program.graphs.len());
    graphs.map(|graph| program.unwound_ways(graph).filter_map(|way| to(&way.edge.to)).collect()).collect()
}
