//! Reading steps off the script: names, questions, sources and schemas become numbers.

use super::{
    Instr, MAX_PATH_SEGMENTS, PointIr, ReadSite, edges_of, ends_well,
    interned::{
        Branch, BranchTarget, GuardSetId, Incoming, InternedPath, Op, OpRange, PointOps, ReadOp, ReplyInput, ReplyOps, SourceExpr,
        SourceId, WriteMode,
    },
    split,
};
use crate::{
    compile::{
        check::exhaustive,
        dataflow::{
            domain::{SchemaId, TypeId, TypeTable, external},
            fixpoint::IrTables,
            index::to_u32,
        },
    },
    path::KeyPath,
    program::{
        Call, Callee, Failure, From, Guard, NodeIndex, Operand, Outcome, Place, PointIndex, Program, Reason, Reply, Role, Root, Target,
        Write,
    },
    schema::Schema,
    template::{Shape, Term, Test},
    value::Value,
};

/// Reads one passage after the other.
pub(crate) struct Interner<'r, 'p> {
    pub(crate) passage: PointIr<'p>,
    pub(crate) types: &'r mut TypeTable,
    pub(crate) tables: &'r mut IrTables,
}

impl<'p> Interner<'_, 'p> {
    /// Reads a point to the end of all steps. Whoever asks says that its keys are followed.
    pub(crate) fn read(&mut self, point: PointIndex) -> PointOps {
        self.passage.read(point);
        let program = self.passage.program;
        let node = program.node(program.point(point).node);
        let steps = &self.tables.steps;
        let firsts = [steps.steps.len(), steps.marks.len(), steps.answers.len(), steps.choices.len(), steps.follows.len()];
        self.marks();
        for at in 0..self.passage.follows.len() {
            self.follow(self.passage.follows[at]);
        }
        self.steps();
        self.answers(point);
        let shape = node.output.as_ref().filter(|_| node.terminal);
        let output = shape.map(|shape| self.source(shape)).or_else(|| node.terminal.then(|| self.literal(&Value::Null)));
        let brought = self.brought(program, point);
        let steps = &self.tables.steps;
        let lasts = [steps.steps.len(), steps.marks.len(), steps.answers.len(), steps.choices.len(), steps.follows.len()];
        let number = to_u32;
        let [steps, marks, answers, choices, follows] = std::array::from_fn(|at| number(firsts[at])..number(lasts[at]));
        let (entering, ending) = (OpRange::of(&self.passage.entering), OpRange::of(&self.passage.ending));
        PointOps { steps, marks, answers, choices, follows, entering, ending, brought, output, counts: node.entry.max_visits.is_some() }
    }

    fn marks(&mut self) {
        for at in 0..self.passage.sites.len() {
            let site: ReadSite<'p> = self.passage.sites[at];
            for path in site.when().iter().filter_map(Test::path) {
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
            self.tables.steps.marks.push(ReadOp { path, inside, demand: site.demand(), is_certain, tests, is_opaque, is_deep, calculated });
        }
    }

    /// What holds where something is read that only these decide about.
    fn tests(&mut self, when: &[Test]) -> GuardSetId {
        let is_set = self.tables.is_set;
        let tested = when.iter().filter_map(|test| match test {
            Test::Set(path, yes) => Some((self.path(path)?, is_set, *yes)),
            Test::Truthy(path, true) => Some((self.path(path)?, is_set, true)),
            Test::Is(path, true, value) => {
                let operand = Operand { root: Root::Context, path: path.clone() };
                Some((self.path(path)?, self.types.intern_guard(&Guard::Is(operand, true, value.clone())), true))
            }
            Test::Truthy(..) | Test::Is(..) | Test::Opaque => None,
        });
        let tested = tested.collect();
        self.tables.tests.put(tested)
    }

    fn steps(&mut self) {
        let program = self.passage.program;
        for at in 0..self.passage.ops.len() {
            let step = match self.passage.ops[at].clone() {
                Instr::Read(mark) => Op::Read(mark),
                Instr::Write { write, reads } => self.write(write, OpRange::of(&reads)),
                Instr::Fit { schema, node, index } => {
                    let key = &program.node(node).entry.types[index as usize].0;
                    let name = self.tables.keys.name(key);
                    self.tables.steps.follows.push(name);
                    Op::Fit { name, schema_id: self.types.schema_id(schema), index }
                }
                Instr::Ask { guard, site } => {
                    let path = guard.operand().and_then(|operand| self.follow(&operand.path));
                    Op::Ask { guard_id: self.types.intern_guard(guard), mark: site, path }
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
            };
            self.tables.steps.steps.push(step);
        }
    }

    fn write(&mut self, write: &'p Write, reads: OpRange) -> Op {
        let mut is_cut = false;
        let (to, how) = match &write.to {
            Place::Path(path) | Place::Append(path) => {
                let is_append = matches!(write.to, Place::Append(_));
                // What is written below a key, or added to it, depends on what is there.
                let known = if is_append || !path.is_key() { self.follow(path) } else { self.path(path) };
                // Of what is written deeper than is followed, the upper part is there.
                is_cut = path.segments().len() > MAX_PATH_SEGMENTS;
                let upper = || {
                    let rest = self.types.rest(&path.rest()[..MAX_PATH_SEGMENTS.min(path.rest().len())]);
                    InternedPath { name: self.tables.keys.name(path.root()), rest }
                };
                (Some(known.unwrap_or_else(upper)), if is_append { WriteMode::Append } else { WriteMode::Set })
            }
            Place::Absent(key) => (Some(self.key(key)), WriteMode::Default),
            Place::Input => (Some(self.key("input")), WriteMode::Set),
            Place::Ans => (Some(self.key("sys.ans")), WriteMode::Set),
            Place::Error => (Some(self.key("sys.error")), WriteMode::Set),
        };
        let source = match &write.value {
            _ if is_cut => self.tables.sources.put(SourceExpr::Known(TypeId::UNKNOWN)),
            From::Shape(shape) => self.source(shape),
            From::Error => self.tables.sources.put(SourceExpr::Known(self.tables.error)),
            From::Input => self.tables.sources.put(SourceExpr::Brought),
        };
        Op::Write { to, how, source, reads }
    }

    fn answers(&mut self, point: PointIndex) {
        let program = self.passage.program;
        let node = program.node(program.point(point).node);
        let replies = program.replies(&program.point(point).replies);
        let edges = edges_of(replies);
        for (at, reply) in replies.iter().enumerate() {
            let given = match (&reply.on, &node.role) {
                (Outcome::Answer, Role::Listen(listen)) if listen.sleep.is_none() => ReplyInput::Input,
                (Outcome::Chosen(_), Role::Listen(listen)) => match listen.chosen(&reply.on) {
                    Some(value) => ReplyInput::Chosen(self.types.of_value(value)),
                    None => ReplyInput::Nothing,
                },
                (Outcome::Success, _) => ReplyInput::Result,
                (Outcome::Exhausted, _) => ReplyInput::Exhausted,
                _ => ReplyInput::Nothing,
            };
            let choices = OpRange(reply.edges.start - edges.start, reply.edges.end - edges.start);
            let steps = OpRange::of(&self.passage.replying[at]);
            self.tables.steps.answers.push(ReplyOps { given, steps, choices });
        }
        for (at, edge) in edges.clone().enumerate() {
            let edge = &program.edges[edge as usize];
            let asks = edge.when != Guard::Always;
            let path = edge.when.operand().and_then(|operand| self.follow(&operand.path));
            let compares = matches!(edge.when, Guard::Is(..) | Guard::In(..) | Guard::Truth(..));
            let guard_id = asks.then(|| self.types.intern_guard(&edge.when));
            let marks = OpRange::of(&self.passage.guards[at]);
            let to = self.to(point, &edge.to, replies, edges.start + to_u32(at));
            self.tables.steps.choices.push(Branch {
                guard_id,
                path,
                compares,
                marks,
                to,
                is_for_children: crate::compile::dataflow::is_for_children(&edge.why),
            });
        }
    }

    fn to(&self, point: PointIndex, target: &Target, replies: &[Reply], edge: u32) -> BranchTarget {
        let program = self.passage.program;
        let node = program.node(program.point(point).node);
        match target {
            Target::Point(to) | Target::Proceed(to) => BranchTarget::Point(*to),
            Target::Again => BranchTarget::Again,
            Target::Rollback => BranchTarget::Rollback(node.graph),
            Target::End(Reason::Failed(Failure::NoMatch)) => {
                // Gaps of what a node was given itself were looked for already.
                let own = replies.iter().any(|reply| reply.edges.contains(&edge)) && exhaustive::is_own(program, node);
                if own { BranchTarget::End { is_own: false, returns: false } } else { BranchTarget::NoMatch }
            }
            Target::End(reason) => BranchTarget::End { is_own: ends_well(target), returns: node.terminal && *reason == Reason::Finished },
        }
    }

    /// The arguments of a call with the one that the node's body fills; nothing where none is given.
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

    /// What a child takes.
    fn taken(&mut self, call: &Call, child: NodeIndex) -> Option<SchemaId> {
        if let Some(known) = self.tables.taken.get(&child) {
            return *known;
        }
        let schema = external::taken(self.passage.program, call).and_then(|schema| Schema::new(&schema.into()).ok());
        let taken = schema.map(|schema| self.types.schema_id(&schema));
        self.tables.taken.insert(child, taken);
        taken
    }

    /// An accepted input, or a successful result, at a point.
    fn brought(&mut self, program: &Program, point: PointIndex) -> Incoming {
        let node = program.node(program.point(point).node);
        match (&node.role, external::call_at(program, point)) {
            (_, Some(call)) => match call.callee {
                Callee::Graph(child) => Incoming::Child(child, call.returns.iter().map(|schema| self.types.declared(schema)).collect()),
                _ => Incoming::Known(external::returned(self.types, call)),
            },
            (Role::Listen(listen), None) => Incoming::Known(external::input(self.types, listen)),
            _ => Incoming::Known(TypeId::UNKNOWN),
        }
    }

    fn literal(&mut self, value: &Value) -> SourceId {
        let of = self.types.of_value(value);
        self.tables.sources.put(SourceExpr::Known(of))
    }

    /// What a shape comes to.
    fn source(&mut self, shape: &Shape) -> SourceId {
        let made = match shape {
            Shape::Literal(value) => return self.literal(value),
            Shape::Text(_) => SourceExpr::Known(self.types.text()),
            Shape::List(items) => SourceExpr::List(items.iter().map(|item| self.source(&item.value)).collect()),
            Shape::Map(entries) => {
                SourceExpr::Map(entries.iter().map(|(key, shape)| (key.value.clone(), self.source(&shape.value))).collect())
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => {
                    self.path(path).map_or(SourceExpr::Known(TypeId::UNKNOWN), |path| SourceExpr::Path(path, optional))
                }
                None => {
                    let made = self.term(expression.made());
                    if expression.is_optional() {
                        return made;
                    }
                    SourceExpr::There(made)
                }
            },
        };
        self.tables.sources.put(made)
    }

    /// What an expression comes to.
    fn term(&mut self, term: &Term) -> SourceId {
        let made = match term {
            Term::Unknown => SourceExpr::Known(TypeId::UNKNOWN_OR_ABSENT),
            Term::Path(path) => self.path(path).map_or(SourceExpr::Known(TypeId::UNKNOWN), |path| SourceExpr::Path(path, true)),
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
        InternedPath { name: self.tables.keys.name(key), rest: crate::compile::dataflow::domain::SubPathId::NONE }
    }

    /// A path as it is followed; nothing for what the engine always knows, and for what goes deeper than is followed.
    fn path(&mut self, path: &KeyPath) -> Option<InternedPath> {
        let (name, rest) = split(path)?;
        Some(InternedPath { name: self.tables.keys.name(name), rest: self.types.rest(rest) })
    }

    /// The same, which is followed from now on.
    fn follow(&mut self, path: &KeyPath) -> Option<InternedPath> {
        let path = self.path(path)?;
        self.tables.steps.follows.push(path.name);
        Some(path)
    }
}
