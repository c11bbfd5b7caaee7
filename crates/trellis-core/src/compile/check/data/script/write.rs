//! Writing the script: what a compiled node says of entering it, of its replies, and of ending there.

use super::*;

impl<'p> Script<'p> {
    pub(super) fn enter(&mut self, point: PointIndex, gates: &[u32]) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        let is_first = node.gate.is_none_or(|gate| gate == point);
        if is_first {
            node.entry.defaults.iter().for_each(|write| self.write(write, node.document));
        }
        if program.point(point).part == Part::Gate {
            if let Some(call) = &program.graph_of(node).before_each {
                self.call(node, call, gates[node.graph as usize]);
            }
            return;
        }
        self.requirements(node);
        let speaks_later = node.terminal && matches!(node.role, Role::Pass);
        if !speaks_later {
            self.words(node);
        }
        if let Role::Act(call) = &node.role {
            self.call(node, call, node.document);
        }
    }

    pub(super) fn reply(&mut self, point: PointIndex, reply: &'p Reply) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        reply.update.iter().for_each(|write| self.write(write, node.document));
        if let (Outcome::Success, Part::Body, Role::Act(call)) = (&reply.on, program.point(point).part, &node.role)
            && let Some(undo) = &call.undo
        {
            self.call(node, undo, node.document);
        }
    }

    pub(super) fn edges(&mut self, point: PointIndex, reply: &'p Reply) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        for at in reply.edges.clone() {
            if self.operands[at as usize].is_some() || !self.guards[at as usize].is_empty() {
                continue;
            }
            let from = u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
            let guard = &program.edges[at as usize].when;
            self.operands[at as usize] = guard.operand().and_then(|operand| self.follow(&operand.path));
            match guard {
                Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) => {
                    self.site(&operand.path, node.document, Kind::Edge(node.index, at));
                }
                Guard::Predicate(index, _) => {
                    if let PredicateSource::Host(needs) = &program.predicates[*index as usize].source {
                        for path in needs {
                            self.site(path, node.document, Kind::Edge(node.index, at));
                        }
                    }
                }
                Guard::Set(..) | Guard::Empty(..) | Guard::Always | Guard::Attempts(_) => {}
            }
            self.guards[at as usize] = from..u32::try_from(self.sites.len()).unwrap_or(u32::MAX);
        }
    }

    pub(super) fn end(&mut self, point: PointIndex) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        if node.terminal && program.point(point).part == Part::Body {
            self.shapes(node.output.iter(), node.document);
            if matches!(node.role, Role::Pass) {
                self.words(node);
            }
        }
    }

    pub(super) fn requirements(&mut self, node: &'p Node) {
        let at = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        for (index, path) in node.entry.required.iter().enumerate() {
            self.read(path, node.document, Kind::Required(node.index, at(index)));
        }
        for (index, (key, schema)) in node.entry.types.iter().enumerate() {
            let next = Slot(at(self.slots.len() + 2));
            let slot = *self.slots.entry(key).or_insert(next);
            self.ops.push(Op::Fit { slot, schema, node: node.index, index: at(index) });
        }
        for (index, (guard, _)) in node.entry.asserts.iter().enumerate() {
            match guard {
                Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) => {
                    self.read(&operand.path, node.document, Kind::Assert(node.index, at(index)));
                }
                Guard::Set(operand, _) | Guard::Empty(operand, _) => drop(self.follow(&operand.path)),
                _ => {}
            }
            self.ops.push(Op::Assert { guard, node: node.index, index: at(index) });
        }
    }

    /// What the node says, and what travels with its question. The words of a locale are met only in that locale.
    pub(super) fn words(&mut self, node: &'p Node) {
        let shown = !matches!(&node.role, Role::Act(call) if call.body.is_some());
        if shown {
            self.content(node);
        }
        if let Role::Listen(listen) = &node.role {
            self.shapes(node.metadata.iter(), node.document);
            // A text that cannot be shown gives way to a plain sentence: nothing fails without what it reads.
            let text = listen.on_invalid.iter().filter_map(|invalid| invalid.text.as_ref());
            for text in text {
                text.each_use(&mut |used| {
                    self.follow(used.path);
                });
            }
        }
    }

    pub(super) fn content(&mut self, node: &'p Node) {
        let spoken = if node.localised.is_empty() { Spoken::Everywhere } else { Spoken::Elsewhere };
        node.content.iter().for_each(|content| self.template(content, node.document, spoken));
        for (locale, words) in &node.localised {
            words.content.iter().for_each(|content| self.template(content, node.document, Spoken::In(locale)));
        }
    }

    pub(super) fn call(&mut self, node: &'p Node, call: &'p Call, document: u32) {
        self.shapes(call.args.iter(), document);
        if call.body.is_some() {
            self.content(node);
        }
        call.approve.iter().filter_map(|approve| approve.ask.as_ref()).for_each(|ask| self.template(ask, document, Spoken::Everywhere));
        self.shapes(call.metadata.iter().chain(node.metadata.iter().filter(|_| call.metadata.is_none())), document);
        match &call.callee {
            Callee::Tool(_) | Callee::Graph(_) => self.ops.push(Op::Args { call }),
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.call(node, branch, document)),
            Callee::Each(list, _) => self.read(list, document, Kind::List(node.index)),
        }
    }
}
