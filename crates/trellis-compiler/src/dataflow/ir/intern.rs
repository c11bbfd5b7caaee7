//! Interning: keys, guards, expressions and schemas of a point's instructions become numbers.

use super::{
    Instr, MAX_PATH_SEGMENTS, PointIr, ReadSite, edges_of, ends_well,
    interned::{Branch, BranchTarget, GuardSetId, Incoming, Op, OpRange, PointOps, ReadOp, ReplyInput, ReplyOps, WriteMode},
    is_of_branch,
    keys::InternedPath,
    part_of_result,
    source::{SourceExpr, SourceId},
    split,
    tables::IrTables,
};
use crate::{
    dataflow::{
        domain::{SchemaId, TypeId, TypeTable, external},
        index::to_u32,
    },
    guards::gaps,
};
use trellis_base::{
    path::KeyPath,
    schema::Schema,
    template::{GuardedTest, Shape, Term},
    value::Value,
};
use trellis_engine::program::{
    Call, Callee, Failure, Guard, NodeIndex, Operand, Outcome, PointIndex, Program, Reason, Reply, Role, Root, Target, Write, WriteSource,
    WriteTarget,
};

/// Number of points that are read before the memory of all of them is estimated.
const SAMPLE: usize = 512;

/// Interner of instructions, point by point.
pub(crate) struct Interner<'r, 'p> {
    pub(crate) point_ir: PointIr<'p>,
    pub(crate) types: &'r mut TypeTable,
    pub(crate) tables: &'r mut IrTables,
    /// The branch whose undo is interned: its expressions may read the branch's result.
    pub(crate) undone: Option<&'p Call>,
}

impl IrTables {
    /// Reads all points.
    pub(crate) fn read(&mut self, program: &Program, types: &mut TypeTable) {
        self.ops.expect(program.replies.len(), program.edges.len());
        let mut reader = Interner { point_ir: PointIr::new(program), types, tables: self, undone: None };
        let count = program.points.len();
        let points = 0..to_u32(count);
        let mut point_ops: Vec<PointOps> = Vec::with_capacity(count);
        for point in points {
            if point_ops.len() == SAMPLE {
                reader.tables.ops.expect_more(SAMPLE, count - SAMPLE);
            }
            point_ops.push(reader.read(PointIndex(point)));
        }
        for ops in &point_ops {
            self.count(ops, &mut Vec::new());
        }
        self.ops.set_points(point_ops);
        self.keys.make_room();
    }
}

impl<'p> Interner<'_, 'p> {
    /// Interns the instructions of a point and appends them to the tables. The caller must retain the keys that it follows
    /// ([`IrTables::count`]).
    pub(crate) fn read(&mut self, point: PointIndex) -> PointOps {
        self.point_ir.read(point);
        let program = self.point_ir.program;
        let node = program.node(program.point(point).node);
        let ops = &self.tables.ops;
        let firsts = [ops.ops.len(), ops.reads.len(), ops.replies.len(), ops.branches.len(), ops.tracked_keys.len()];
        self.reads();
        for at in 0..self.point_ir.follows.len() {
            self.follow(self.point_ir.follows[at]);
        }
        self.ops();
        self.replies(point);
        let shape = node.output.as_ref().filter(|_| node.terminal);
        let output = shape.map(|shape| self.source(shape)).or_else(|| node.terminal.then(|| self.literal(&Value::Null)));
        let incoming = self.incoming(program, point);
        let ops = &self.tables.ops;
        let lasts = [ops.ops.len(), ops.reads.len(), ops.replies.len(), ops.branches.len(), ops.tracked_keys.len()];
        let number = to_u32;
        let [ops, reads, replies, branches, tracked_keys] = std::array::from_fn(|at| number(firsts[at])..number(lasts[at]));
        let (entering, ending) = (OpRange::of(&self.point_ir.entering), OpRange::of(&self.point_ir.ending));
        PointOps {
            ops,
            reads,
            replies,
            branches,
            tracked_keys,
            entering,
            ending,
            incoming,
            output,
            counts: node.entry.max_visits.is_some(),
        }
    }

    /// Interns the sites of the point as [`ReadOp`].
    fn reads(&mut self) {
        for at in 0..self.point_ir.sites.len() {
            let site: ReadSite<'p> = self.point_ir.sites[at];
            for path in site.when().iter().filter_map(GuardedTest::path) {
                self.follow(path);
            }
            let path = if site.is_followed() { self.follow(site.path) } else { None };
            let inside = self.types.steps(site.inside());
            let (is_certain, is_opaque, is_deep) = (site.is_certain(), site.is_opaque(), site.is_deep());
            let calculated = site.calculation().map(|calculation| {
                let parts = calculation.paths.iter().map(|path| self.follow(path)).collect();
                self.tables.calculations.put(calculation, parts)
            });
            let tests = self.tests(site.when());
            self.tables.ops.reads.push(ReadOp { path, inside, demand: site.demand(), is_certain, tests, is_opaque, is_deep, calculated });
        }
    }

    /// Interns the tests that guard a read; those that are not followed are left out.
    fn tests(&mut self, when: &[GuardedTest]) -> GuardSetId {
        let is_set = self.tables.is_set;
        let tested = when.iter().filter_map(|test| match test {
            GuardedTest::Set(path, yes) => Some((self.path(path)?, is_set, *yes)),
            GuardedTest::Truthy(path, true) => Some((self.path(path)?, is_set, true)),
            GuardedTest::Is(path, true, value) => {
                let operand = Operand { root: Root::Context, path: path.clone() };
                Some((self.path(path)?, self.types.intern_guard(&Guard::Is(operand, true, value.clone())), true))
            }
            GuardedTest::Truthy(..) | GuardedTest::Is(..) | GuardedTest::Opaque => None,
        });
        let tested = tested.collect();
        self.tables.tests.put(tested)
    }

    /// Interns the instructions of the point as [`Op`].
    fn ops(&mut self) {
        let program = self.point_ir.program;
        for at in 0..self.point_ir.ops.len() {
            let op = match self.point_ir.ops[at].clone() {
                Instr::Read(read_op) => Op::Read(read_op),
                Instr::Write { write, reads } => self.write(write, OpRange::of(&reads)),
                Instr::Fit { schema, node, index } => {
                    let key = &program.node(node).entry.types[index as usize].0;
                    let name = self.tables.keys.name(key);
                    self.tables.ops.tracked_keys.push(name);
                    Op::Fit { name, schema_id: self.types.schema_id(schema), index }
                }
                Instr::Ask { guard, site } => {
                    let path = guard.operand().and_then(|operand| self.follow(&operand.path));
                    Op::Ask { guard_id: self.types.intern_guard(guard), read_op: site, path }
                }
                Instr::Assert { guard, .. } => {
                    let path = guard.operand().and_then(|operand| self.follow(&operand.path));
                    Op::Assert { guard_id: self.types.intern_guard(guard), path, is_predicate: matches!(guard, Guard::Predicate(..)) }
                }
                Instr::Args { call } => {
                    let args = self.arguments(call);
                    let (child, takes) = match &call.callee {
                        Callee::Graph(node) => (Some(*node), self.taken(call, *node)),
                        Callee::Tool(tool) => (None, tool.parameters.as_ref().map(|schema| self.types.schema_id(schema))),
                        Callee::Parallel(..) | Callee::Each(..) => (None, None),
                    };
                    Op::Args { args, child, takes }
                }
                Instr::Undo { branch, undo } => {
                    self.undone = Some(branch);
                    let args = self.arguments(undo);
                    self.undone = None;
                    let child = if let Callee::Graph(node) = undo.callee { Some(node) } else { None };
                    Op::Args { args, child, takes: None }
                }
            };
            self.tables.ops.ops.push(op);
        }
    }

    fn write(&mut self, write: &'p Write, reads: OpRange) -> Op {
        let mut is_cut = false;
        let (to, how) = match &write.to {
            WriteTarget::Path(path) | WriteTarget::Append(path) => {
                let is_append = matches!(write.to, WriteTarget::Append(_));
                // A write below a key, or an append, also reads the key.
                let known = if is_append || !path.is_key() { self.follow(path) } else { self.path(path) };
                // A write deeper than is followed makes the upper part present, with an unknown value.
                is_cut = path.segments().len() > MAX_PATH_SEGMENTS;
                let upper = || {
                    let rest = self.types.rest(&path.rest()[..MAX_PATH_SEGMENTS.min(path.rest().len())]);
                    InternedPath { name: self.tables.keys.name(path.root()), rest }
                };
                (Some(known.unwrap_or_else(upper)), if is_append { WriteMode::Append } else { WriteMode::Set })
            }
            WriteTarget::Absent(key) => (Some(self.key(key)), WriteMode::Default),
            WriteTarget::Input => (Some(self.key("input")), WriteMode::Set),
            WriteTarget::Ans => (Some(self.key("sys.ans")), WriteMode::Set),
            WriteTarget::Error => (Some(self.key("sys.error")), WriteMode::Set),
        };
        let source = match &write.value {
            _ if is_cut => self.tables.sources.put(SourceExpr::Known(TypeId::UNKNOWN)),
            WriteSource::Shape(shape) => self.source(shape),
            WriteSource::Error => self.tables.sources.put(SourceExpr::Known(self.tables.error)),
            WriteSource::Input => self.tables.sources.put(SourceExpr::Brought),
            WriteSource::Branch(name) => self.tables.sources.put(SourceExpr::Branch(name.clone())),
        };
        Op::Write { to, how, source, reads }
    }

    /// Interns the replies of the point with their edges.
    fn replies(&mut self, point: PointIndex) {
        let program = self.point_ir.program;
        let node = program.node(program.point(point).node);
        let replies = program.replies(&program.point(point).replies);
        let edges = edges_of(replies);
        for (at, reply) in replies.iter().enumerate() {
            let input = match (&reply.on, &node.role) {
                (Outcome::Answer, Role::Listen(listen)) if listen.sleep.is_none() => ReplyInput::Input,
                (Outcome::Chosen(_), Role::Listen(listen)) => match listen.chosen(&reply.on) {
                    Some(value) => ReplyInput::Chosen(self.types.of_value(value)),
                    None => ReplyInput::Nothing,
                },
                (Outcome::Success, _) => ReplyInput::Result,
                (Outcome::Exhausted, _) => ReplyInput::Exhausted,
                _ => ReplyInput::Nothing,
            };
            let branches = OpRange(reply.edges.start - edges.start, reply.edges.end - edges.start);
            let ops = OpRange::of(&self.point_ir.replying[at]);
            self.tables.ops.replies.push(ReplyOps { input, ops, branches });
        }
        for (at, edge) in edges.clone().enumerate() {
            let edge = &program.edges[edge as usize];
            let asks = edge.when != Guard::Always;
            let path = edge.when.operand().and_then(|operand| self.follow(&operand.path));
            let compares = matches!(edge.when, Guard::Is(..) | Guard::In(..) | Guard::Truth(..));
            let guard_id = asks.then(|| self.types.intern_guard(&edge.when));
            let reads = OpRange::of(&self.point_ir.guards[at]);
            let to = self.to(point, &edge.to, replies, edges.start + to_u32(at));
            self.tables.ops.branches.push(Branch { guard_id, path, compares, reads, to, is_graph_wide: edge.why.is_graph_wide() });
        }
    }

    /// Returns the target of an edge, as far as the fixpoint distinguishes targets.
    fn to(&self, point: PointIndex, target: &Target, replies: &[Reply], edge: u32) -> BranchTarget {
        let program = self.point_ir.program;
        let node = program.node(program.point(point).node);
        match target {
            Target::Point(to) | Target::Proceed(to) => BranchTarget::Point(*to),
            Target::Again => BranchTarget::Again,
            Target::Rollback => BranchTarget::Rollback(node.graph),
            Target::End(Reason::Failed(Failure::NoMatch)) => {
                // Gaps over a node's own input were reported already.
                let own = replies.iter().any(|reply| reply.edges.contains(&edge)) && gaps::is_own(program, node);
                if own { BranchTarget::End { is_own: false, returns: false } } else { BranchTarget::NoMatch }
            }
            Target::End(reason) => BranchTarget::End { is_own: ends_well(target), returns: node.terminal && *reason == Reason::Finished },
        }
    }

    /// Interns the arguments of a call, the one that the node's body fills among them. `None` if the call has none.
    fn arguments(&mut self, call: &Call) -> Option<SourceId> {
        let Some(body) = &call.body else { return call.args.as_ref().map(|args| self.source(args)) };
        let entries: &[_] = match &call.args {
            Some(Shape::Map(entries)) => entries,
            None => &[],
            Some(_) => return Some(self.tables.sources.put(SourceExpr::Known(TypeId::UNKNOWN))),
        };
        let text = SourceExpr::Known(self.types.text());
        let text = self.tables.sources.put(text);
        let written = entries.iter().filter(|(key, _)| key.value != *body);
        let mut given: Vec<_> = written.map(|(key, shape)| (key.value.clone(), self.source(&shape.value))).collect();
        given.push((body.clone(), text));
        Some(self.tables.sources.put(SourceExpr::Map(given.into())))
    }

    /// Returns the schema of the arguments that a child accepts; `None` if it declares none.
    fn taken(&mut self, call: &Call, child: NodeIndex) -> Option<SchemaId> {
        if let Some(known) = self.tables.taken.get(&child) {
            return *known;
        }
        let schema = external::taken(self.point_ir.program, call).and_then(|schema| Schema::new(&schema.into()).ok());
        let taken = schema.map(|schema| self.types.schema_id(&schema));
        self.tables.taken.insert(child, taken);
        taken
    }

    /// Returns the type of an accepted input, or of a successful result, at a point.
    fn incoming(&mut self, program: &Program, point: PointIndex) -> Incoming {
        let node = program.node(program.point(point).node);
        match (&node.role, external::call_at(program, point)) {
            (_, Some(call)) => Incoming::of_call(self.types, call),
            (Role::Listen(listen), None) => Incoming::Known(external::input(self.types, listen)),
            _ => Incoming::Known(TypeId::UNKNOWN),
        }
    }

    /// Interns a constant.
    fn literal(&mut self, value: &Value) -> SourceId {
        let of = self.types.of_value(value);
        self.tables.sources.put(SourceExpr::Known(of))
    }

    /// Returns the type of what the undo of a branch reads of its branch's result; `None` for other paths, and outside of such an undo.
    fn of_branch(&mut self, path: &KeyPath, is_optional: bool) -> Option<TypeId> {
        let branch = self.undone.filter(|branch| is_of_branch(branch, path))?;
        let of = match part_of_result(branch, path) {
            Some(rest) => {
                // The output of a child is known only once its ends are.
                let result = if let Incoming::Known(of) = Incoming::of_call(self.types, branch) { of } else { TypeId::UNKNOWN };
                let rest = self.types.rest(rest);
                self.types.select(result, rest)
            }
            None => TypeId::UNKNOWN,
        };
        Some(if is_optional { of } else { self.types.present(of) })
    }

    /// Interns the expression that computes a shape.
    fn source(&mut self, shape: &Shape) -> SourceId {
        let made = match shape {
            Shape::Literal(value) => return self.literal(value),
            Shape::Text(_) => SourceExpr::Known(self.types.text()),
            Shape::List(items) => SourceExpr::List(items.iter().map(|item| self.source(&item.value)).collect()),
            Shape::Map(entries) => {
                SourceExpr::Map(entries.iter().map(|(key, shape)| (key.value.clone(), self.source(&shape.value))).collect())
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => match self.of_branch(path, optional) {
                    Some(of) => SourceExpr::Known(of),
                    None => self.path(path).map_or(SourceExpr::Known(TypeId::UNKNOWN), |path| SourceExpr::Path(path, optional)),
                },
                None => {
                    let made = self.term(expression.term());
                    if expression.is_optional() {
                        return made;
                    }
                    SourceExpr::There(made)
                }
            },
        };
        self.tables.sources.put(made)
    }

    /// Interns the expression that computes a template's term.
    fn term(&mut self, term: &Term) -> SourceId {
        let made = match term {
            Term::Unknown => SourceExpr::Known(TypeId::UNKNOWN_OR_ABSENT),
            Term::Path(path) => match self.of_branch(path, true) {
                Some(of) => SourceExpr::Known(of),
                None => self.path(path).map_or(SourceExpr::Known(TypeId::UNKNOWN), |path| SourceExpr::Path(path, true)),
            },
            Term::Constant(value) => return self.literal(value),
            Term::Of(sorts) => SourceExpr::Known(self.types.of_sorts(*sorts)),
            Term::Integer => SourceExpr::Known(self.types.integer()),
            Term::Whole(tables) => SourceExpr::Number(tables.iter().map(|term| self.term(term)).collect(), true),
            Term::Number(tables) => SourceExpr::Number(tables.iter().map(|term| self.term(term)).collect(), false),
            Term::Sum(tables) => SourceExpr::Sum(self.term(&tables[0]), self.term(&tables[1])),
            Term::Product(tables) => SourceExpr::Product(self.term(&tables[0]), self.term(&tables[1])),
            Term::Default(tables, falsy) => SourceExpr::Default(self.term(&tables[0]), self.term(&tables[1]), *falsy),
            Term::Either(tables) => SourceExpr::Either(self.term(&tables[0]), self.term(&tables[1])),
            Term::List(tables) => SourceExpr::List(tables.iter().map(|term| self.term(term)).collect()),
            Term::Map(entries) => {
                let mut there = |term| {
                    let of = self.term(term);
                    self.tables.sources.put(SourceExpr::There(of))
                };
                SourceExpr::Map(entries.iter().map(|(key, term)| (key.clone(), there(term))).collect())
            }
        };
        self.tables.sources.put(made)
    }

    fn key(&mut self, key: &str) -> InternedPath {
        InternedPath { name: self.tables.keys.name(key), rest: crate::dataflow::domain::SubPathId::NONE }
    }

    /// Interns a path. `None` if it is not followed; see [`split`].
    fn path(&mut self, path: &KeyPath) -> Option<InternedPath> {
        let (name, rest) = split(path)?;
        Some(InternedPath { name: self.tables.keys.name(name), rest: self.types.rest(rest) })
    }

    /// Interns a path and records that the point reads its key. `None` if it is not followed.
    fn follow(&mut self, path: &KeyPath) -> Option<InternedPath> {
        let path = self.path(path)?;
        self.tables.ops.tracked_keys.push(path.name);
        Some(path)
    }
}
