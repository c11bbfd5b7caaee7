//! Reading steps off the script: names, questions, sources and schemas become numbers.

use super::{
    FOLLOWED, Op, Passage, Site, edges_of, ends_well,
    interned::{Answer, Brought, Choice, Given, How, Made, Mark, Path, Seat, Source, Span, Step, Tests, To},
    split,
};
use crate::{
    compile::{
        check::exhaustive,
        dataflow::{
            domain::{Contract, TypeId, Types, external},
            fixpoint::Terms,
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
pub(crate) struct Reader<'r, 'p> {
    pub(crate) passage: Passage<'p>,
    pub(crate) types: &'r mut Types,
    pub(crate) terms: &'r mut Terms,
}

impl<'p> Reader<'_, 'p> {
    /// Reads a point to the end of all steps. Whoever asks says that its keys are followed.
    pub(crate) fn read(&mut self, point: PointIndex) -> Seat {
        self.passage.read(point);
        let program = self.passage.program;
        let node = program.node(program.point(point).node);
        let steps = &self.terms.steps;
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
        let steps = &self.terms.steps;
        let lasts = [steps.steps.len(), steps.marks.len(), steps.answers.len(), steps.choices.len(), steps.follows.len()];
        let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        let [steps, marks, answers, choices, follows] = std::array::from_fn(|at| number(firsts[at])..number(lasts[at]));
        let (entering, ending) = (Span::of(&self.passage.entering), Span::of(&self.passage.ending));
        Seat { steps, marks, answers, choices, follows, entering, ending, brought, output, counts: node.entry.max_visits.is_some() }
    }

    fn marks(&mut self) {
        for at in 0..self.passage.sites.len() {
            let site: Site<'p> = self.passage.sites[at];
            for path in site.when().iter().filter_map(Test::path) {
                self.follow(path);
            }
            let path = if site.is_followed() { self.follow(site.path) } else { None };
            let inside = self.types.steps(site.inside());
            let (is_certain, is_opaque, is_deep) = (site.is_certain(), site.is_opaque(), site.is_deep());
            let calculated = site.calculation().map(|calculation| {
                let parts = calculation.paths.iter().map(|path| self.follow(path)).collect();
                self.terms.calculations.put(calculation, parts)
            });
            let tests = self.tests(site.when());
            self.terms.steps.marks.push(Mark { path, inside, demand: site.demand(), is_certain, tests, is_opaque, is_deep, calculated });
        }
    }

    /// What holds where something is read that only these decide about.
    fn tests(&mut self, when: &[Test]) -> Tests {
        let is_set = self.terms.is_set;
        let tested = when.iter().filter_map(|test| match test {
            Test::Set(path, yes) => Some((self.path(path)?, is_set, *yes)),
            Test::Truthy(path, true) => Some((self.path(path)?, is_set, true)),
            Test::Is(path, true, value) => {
                let operand = Operand { root: Root::Context, path: path.clone() };
                Some((self.path(path)?, self.types.question(&Guard::Is(operand, true, value.clone())), true))
            }
            Test::Truthy(..) | Test::Is(..) | Test::Opaque => None,
        });
        let tested = tested.collect();
        self.terms.tests.put(tested)
    }

    fn steps(&mut self) {
        let program = self.passage.program;
        for at in 0..self.passage.ops.len() {
            let step = match self.passage.ops[at].clone() {
                Op::Read(mark) => Step::Read(mark),
                Op::Write { write, reads } => self.write(write, Span::of(&reads)),
                Op::Fit { schema, node, index } => {
                    let key = &program.node(node).entry.types[index as usize].0;
                    let name = self.terms.keys.name(key);
                    self.terms.steps.follows.push(name);
                    Step::Fit { name, contract: self.types.contract(schema), index }
                }
                Op::Ask { guard, site } => {
                    let path = guard.operand().and_then(|operand| self.follow(&operand.path));
                    Step::Ask { question: self.types.question(guard), mark: site, path }
                }
                Op::Assert { guard, .. } => {
                    let path = guard.operand().and_then(|operand| self.follow(&operand.path));
                    Step::Assert { question: self.types.question(guard), path, is_predicate: matches!(guard, Guard::Predicate(..)) }
                }
                Op::Args { call } => {
                    let args = self.arguments(call);
                    let (child, takes) = match &call.callee {
                        Callee::Graph(node) => (Some(*node), self.taken(call, *node)),
                        Callee::Tool(tool) => (None, tool.parameters.as_ref().map(|schema| self.types.contract(schema))),
                        Callee::Parallel(..) | Callee::Each(..) => (None, None),
                    };
                    Step::Args { args, child, takes }
                }
            };
            self.terms.steps.steps.push(step);
        }
    }

    fn write(&mut self, write: &'p Write, reads: Span) -> Step {
        let mut is_cut = false;
        let (to, how) = match &write.to {
            Place::Path(path) | Place::Append(path) => {
                let is_append = matches!(write.to, Place::Append(_));
                // What is written below a key, or added to it, depends on what is there.
                let known = if is_append || !path.is_key() { self.follow(path) } else { self.path(path) };
                // Of what is written deeper than is followed, the upper part is there.
                is_cut = path.segments().len() > FOLLOWED;
                let upper = || {
                    let rest = self.types.rest(&path.rest()[..FOLLOWED.min(path.rest().len())]);
                    Path { name: self.terms.keys.name(path.root()), rest }
                };
                (Some(known.unwrap_or_else(upper)), if is_append { How::Append } else { How::Set })
            }
            Place::Absent(key) => (Some(self.key(key)), How::Default),
            Place::Input => (Some(self.key("input")), How::Set),
            Place::Ans => (Some(self.key("sys.ans")), How::Set),
            Place::Error => (Some(self.key("sys.error")), How::Set),
        };
        let source = match &write.value {
            _ if is_cut => self.terms.sources.put(Made::Known(TypeId::ANY)),
            From::Shape(shape) => self.source(shape),
            From::Error => self.terms.sources.put(Made::Known(self.terms.error)),
            From::Input => self.terms.sources.put(Made::Brought),
        };
        Step::Write { to, how, source, reads }
    }

    fn answers(&mut self, point: PointIndex) {
        let program = self.passage.program;
        let node = program.node(program.point(point).node);
        let replies = program.replies(&program.point(point).replies);
        let edges = edges_of(replies);
        for (at, reply) in replies.iter().enumerate() {
            let given = match (&reply.on, &node.role) {
                (Outcome::Answer, Role::Listen(listen)) if listen.sleep.is_none() => Given::Input,
                (Outcome::Chosen(_), Role::Listen(listen)) => match listen.chosen(&reply.on) {
                    Some(value) => Given::Chosen(self.types.of_value(value)),
                    None => Given::Nothing,
                },
                (Outcome::Success, _) => Given::Result,
                (Outcome::Exhausted, _) => Given::Exhausted,
                _ => Given::Nothing,
            };
            let choices = Span(reply.edges.start - edges.start, reply.edges.end - edges.start);
            let steps = Span::of(&self.passage.replying[at]);
            self.terms.steps.answers.push(Answer { given, steps, choices });
        }
        for (at, edge) in edges.clone().enumerate() {
            let edge = &program.edges[edge as usize];
            let asks = edge.when != Guard::Always;
            let path = edge.when.operand().and_then(|operand| self.follow(&operand.path));
            let compares = matches!(edge.when, Guard::Is(..) | Guard::In(..) | Guard::Truth(..));
            let question = asks.then(|| self.types.question(&edge.when));
            let marks = Span::of(&self.passage.guards[at]);
            let to = self.to(point, &edge.to, replies, edges.start + u32::try_from(at).unwrap_or(u32::MAX));
            self.terms.steps.choices.push(Choice {
                question,
                path,
                compares,
                marks,
                to,
                is_for_children: crate::compile::dataflow::is_for_children(&edge.why),
            });
        }
    }

    fn to(&self, point: PointIndex, target: &Target, replies: &[Reply], edge: u32) -> To {
        let program = self.passage.program;
        let node = program.node(program.point(point).node);
        match target {
            Target::Point(to) | Target::Proceed(to) => To::Point(*to),
            Target::Again => To::Again,
            Target::Rollback => To::Rollback(node.graph),
            Target::End(Reason::Failed(Failure::NoMatch)) => {
                // Gaps of what a node was given itself were looked for already.
                let own = replies.iter().any(|reply| reply.edges.contains(&edge)) && exhaustive::is_own(program, node);
                if own { To::End { is_own: false, returns: false } } else { To::NoMatch }
            }
            Target::End(reason) => To::End { is_own: ends_well(target), returns: node.terminal && *reason == Reason::Finished },
        }
    }

    /// The arguments of a call with the one that the node's body fills; nothing where none is given.
    fn arguments(&mut self, call: &Call) -> Option<Source> {
        let Some(body) = &call.body else { return call.args.as_ref().map(|args| self.source(args)) };
        let entries: &[_] = match &call.args {
            Some(Shape::Map(entries)) => entries,
            None => &[],
            Some(_) => return Some(self.terms.sources.put(Made::Known(TypeId::ANY))),
        };
        let text = Made::Known(self.types.text());
        let text = self.terms.sources.put(text);
        let written = entries.iter().filter(|(key, _)| key.value != *body);
        let mut given: Vec<_> = written.map(|(key, shape)| (key.value.clone(), self.source(&shape.value))).collect();
        given.push((body.clone(), text));
        Some(self.terms.sources.put(Made::Map(given.into())))
    }

    /// What a child takes.
    fn taken(&mut self, call: &Call, child: NodeIndex) -> Option<Contract> {
        if let Some(known) = self.terms.taken.get(&child) {
            return *known;
        }
        let schema = external::taken(self.passage.program, call).and_then(|schema| Schema::new(&schema.into()).ok());
        let taken = schema.map(|schema| self.types.contract(&schema));
        self.terms.taken.insert(child, taken);
        taken
    }

    /// An accepted input, or a successful result, at a point.
    fn brought(&mut self, program: &Program, point: PointIndex) -> Brought {
        let node = program.node(program.point(point).node);
        match (&node.role, external::call_at(program, point)) {
            (_, Some(call)) => match call.callee {
                Callee::Graph(child) => Brought::Child(child, call.returns.iter().map(|schema| self.types.declared(schema)).collect()),
                _ => Brought::Known(external::returned(self.types, call)),
            },
            (Role::Listen(listen), None) => Brought::Known(external::input(self.types, listen)),
            _ => Brought::Known(TypeId::ANY),
        }
    }

    fn literal(&mut self, value: &Value) -> Source {
        let of = self.types.of_value(value);
        self.terms.sources.put(Made::Known(of))
    }

    /// What a shape comes to.
    fn source(&mut self, shape: &Shape) -> Source {
        let made = match shape {
            Shape::Literal(value) => return self.literal(value),
            Shape::Text(_) => Made::Known(self.types.text()),
            Shape::List(items) => Made::List(items.iter().map(|item| self.source(&item.value)).collect()),
            Shape::Map(entries) => Made::Map(entries.iter().map(|(key, shape)| (key.value.clone(), self.source(&shape.value))).collect()),
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => self.path(path).map_or(Made::Known(TypeId::ANY), |path| Made::Path(path, optional)),
                None => {
                    let made = self.term(expression.made());
                    if expression.is_optional() {
                        return made;
                    }
                    Made::There(made)
                }
            },
        };
        self.terms.sources.put(made)
    }

    /// What an expression comes to.
    fn term(&mut self, term: &Term) -> Source {
        let made = match term {
            Term::Unknown => Made::Known(TypeId::EITHER),
            Term::Path(path) => self.path(path).map_or(Made::Known(TypeId::ANY), |path| Made::Path(path, true)),
            Term::Constant(value) => return self.literal(value),
            Term::Of(sorts) => Made::Known(self.types.of_sorts(*sorts)),
            Term::Integer => Made::Known(self.types.integer()),
            Term::Whole(terms) => Made::Number(terms.iter().map(|term| self.term(term)).collect(), true),
            Term::Number(terms) => Made::Number(terms.iter().map(|term| self.term(term)).collect(), false),
            Term::Sum(terms) => Made::Sum(self.term(&terms[0]), self.term(&terms[1])),
            Term::Product(terms) => Made::Product(self.term(&terms[0]), self.term(&terms[1])),
            Term::Default(terms, falsy) => Made::Default(self.term(&terms[0]), self.term(&terms[1]), *falsy),
            Term::Either(terms) => Made::Either(self.term(&terms[0]), self.term(&terms[1])),
            Term::List(terms) => Made::List(terms.iter().map(|term| self.term(term)).collect()),
            Term::Map(entries) => {
                let mut there = |term| {
                    let of = self.term(term);
                    self.terms.sources.put(Made::There(of))
                };
                Made::Map(entries.iter().map(|(key, term)| (key.clone(), there(term))).collect())
            }
        };
        self.terms.sources.put(made)
    }

    fn key(&mut self, key: &str) -> Path {
        Path { name: self.terms.keys.name(key), rest: crate::compile::dataflow::domain::Rest::NONE }
    }

    /// A path as it is followed; nothing for what the engine always knows, and for what goes deeper than is followed.
    fn path(&mut self, path: &KeyPath) -> Option<Path> {
        let (name, rest) = split(path)?;
        Some(Path { name: self.terms.keys.name(name), rest: self.types.rest(rest) })
    }

    /// The same, which is followed from now on.
    fn follow(&mut self, path: &KeyPath) -> Option<Path> {
        let path = self.path(path)?;
        self.terms.steps.follows.push(path.name);
        Some(path)
    }
}
