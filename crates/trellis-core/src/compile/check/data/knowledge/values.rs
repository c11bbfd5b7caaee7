//! What writes put at their places: inputs, results, shapes, and what children return.

use super::*;

impl<'p> Knowledge<'_, 'p> {
    /// What a write puts at its place.
    pub(super) fn source(&mut self, point: PointIndex, facts: &Facts, write: &'p crate::program::Write) -> TypeId {
        match &write.value {
            From::Shape(shape) => self.shape(facts, shape),
            From::Error => self.error,
            From::Input => self.answer(point),
        }
    }

    /// What a shape comes to.
    pub(super) fn shape(&mut self, facts: &Facts, shape: &'p Shape) -> TypeId {
        match shape {
            Shape::Literal(value) => {
                if let Some(known) = self.literals.get(&std::ptr::from_ref(shape)) {
                    return *known;
                }
                let of = self.types.of_value(value);
                self.literals.insert(std::ptr::from_ref(shape), of);
                of
            }
            Shape::Text(_) => self.types.text(),
            Shape::List(items) => {
                let items = items.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.shape(facts, &item.value);
                    let item = self.types.present(item);
                    self.types.join(known, item)
                });
                self.types.list(items)
            }
            Shape::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|(key, shape)| (key.value.clone(), self.shape(facts, &shape.value))).collect();
                self.types.mapping(entries)
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => {
                    let Some(known) = self.known(facts, path) else { return TypeId::ANY };
                    match optional {
                        true if self.types.get(known).open => TypeId::EITHER,
                        true => known,
                        false => self.types.present(known),
                    }
                }
                None if expression.is_optional() => TypeId::EITHER,
                None => TypeId::ANY,
            },
        }
    }

    /// An accepted input, or a successful result, at a point.
    pub(in super::super) fn answer(&mut self, point: PointIndex) -> TypeId {
        let node = self.program.node(self.program.point(point).node);
        let call = shapes::call_at(self.program, point);
        if let Some(Callee::Graph(child)) = call.map(|call| &call.callee) {
            let output = self.output(*child);
            return call.into_iter().flat_map(|call| &call.returns).fold(output, |known, schema| {
                let declared = self.types.declared(schema);
                self.types.met(known, declared)
            });
        }
        if let Some(known) = self.answers.get(&point) {
            return *known;
        }
        let of = match (&node.role, call) {
            (_, Some(call)) => shapes::returned(&mut self.types, call),
            (Role::Listen(listen), None) => shapes::input(&mut self.types, listen),
            _ => TypeId::ANY,
        };
        self.answers.insert(point, of);
        of
    }

    pub(super) fn answered(&mut self, point: PointIndex, on: &Outcome, facts: &mut Facts) {
        if !self.script.reads_input {
            return;
        }
        let node = self.program.node(self.program.point(point).node);
        match (on, &node.role) {
            (Outcome::Answer, Role::Listen(listen)) if listen.sleep.is_none() => {
                let of = self.answer(point);
                facts.set(INPUT, of);
            }
            (Outcome::Success, _) => {
                let of = self.answer(point);
                facts.set(INPUT, of);
                facts.set(RESULT, of);
            }
            _ => {}
        }
    }

    /// Arguments are checked against what is called; a child begins with them.
    pub(super) fn call(&mut self, point: PointIndex, at: u32, facts: &Facts, call: &'p Call, onward: &mut Vec<(PointIndex, Facts)>) {
        let args = call.args.as_ref().map_or(TypeId::NEVER, |args| self.shape(facts, args));
        match &call.callee {
            Callee::Tool(tool) => {
                if let Some(schema) = tool.parameters.as_ref().filter(|_| self.gathered.is_some() && call.args.is_some())
                    && self.types.breaks(args, schema, false)
                {
                    self.suspect(point, Accident::Args(at), false, args);
                }
            }
            Callee::Graph(node) => {
                if self.gathered.is_some()
                    && call.args.is_some()
                    && let Some(schema) = shapes::taken(self.program, call).and_then(|schema| Schema::new(&schema.into()).ok())
                    && self.types.breaks(args, &schema, false)
                {
                    self.suspect(point, Accident::Args(at), false, args);
                }
                let node = self.program.node(*node);
                let mut begins = Facts::all(TypeId::ABSENT, self.script.slots());
                let fields = self.types.get(args).fields.clone();
                for (key, of) in fields.into_iter().flat_map(|fields| fields.named) {
                    if let Some(slot) = self.script.slot(&key) {
                        begins.set(slot, of);
                    }
                }
                self.declared(node, &mut begins);
                let entry = node.gate.unwrap_or(node.body);
                if let Some(gathered) = &mut self.gathered {
                    gathered.called.push((entry, args));
                }
                self.calls(node.index, entry, point);
                onward.push((entry, begins));
            }
            Callee::Parallel(..) | Callee::Each(..) => {}
        }
    }

    /// Remembers who calls a child; where it may end is looked at again with the child in mind.
    pub(super) fn calls(&mut self, child: NodeIndex, entry: PointIndex, caller: PointIndex) {
        let (program, at) = (self.program, &self.at);
        let changed = &mut self.changed;
        let child = self.children.entry(child).or_insert_with(|| {
            let inside = super::super::inside(program, entry);
            let ends = (0..).zip(&inside).filter(|(point, inside)| **inside && at[*point as usize].is_some());
            changed.extend(ends.map(|(point, _)| point));
            Child { output: TypeId::NEVER, ends: BTreeMap::new(), callers: Vec::new(), inside }
        });
        if !child.callers.contains(&caller.0) {
            child.callers.push(caller.0);
        }
    }

    /// A terminal was reached: whoever called a child that may end here gets its output.
    pub(super) fn return_from(&mut self, point: PointIndex, facts: &Facts) {
        if self.children.is_empty() {
            return;
        }
        let node = self.program.node(self.program.point(point).node);
        let output = match &node.output {
            Some(shape) => self.shape(facts, shape),
            None => self.types.of_value(&crate::value::Value::Null),
        };
        let output = self.types.present(output);
        for child in self.children.values_mut().filter(|child| child.inside[point.0 as usize]) {
            let end = child.ends.entry(point).or_insert(TypeId::NEVER);
            *end = self.types.join(*end, output);
            let joined = self.types.join(child.output, output);
            if joined != child.output {
                child.output = joined;
                self.changed.extend(&child.callers);
            }
        }
    }
}
