//! Lowering: a compiled node becomes instructions for entering it, for each of its replies, and for ending there.
//!
//! One recursive walk over the node in the order of the engine. It ends because a compiled node is a finite tree: calls nest only through
//! `parallel`. Each value that the engine reads becomes a site, and each site that it cannot do without becomes an [`Instr::Read`].
//!
//! **Example.** `set: { total: "{{ price * 2 }}" }` of a reply becomes one site for the calculation and `Instr::Write { write, reads }`
//! whose range is that site.

use super::*;
use crate::dataflow::index::to_u32;

/// Returns whether the undo of a branch reads its own result at this path, or the key that the branch saves it to.
pub(crate) fn is_of_branch(branch: &Call, path: &KeyPath) -> bool {
    let is_result = matches!(&**path.root(), "input" | "tool_result");
    let is_saved = branch.save_to.as_ref().is_some_and(|saved| {
        let (saved, path) = (saved.segments(), path.segments());
        path.starts_with(saved) || saved.starts_with(path)
    });
    is_result || is_saved
}

/// Returns the paths that must be present before a predicate is asked by a read of this kind. A key of a schema is read where the schema names it.
fn asked<'p>(
    program: &'p Program,
    index: u32,
    document: u32,
    kind: ReadKind<'p>,
) -> impl Iterator<Item = (&'p KeyPath, u32, ReadKind<'p>)> {
    let predicate = &program.predicates[index as usize];
    let locales = if let ReadKind::Part(locales, _) = kind { locales } else { LocaleScope::Everywhere };
    let by_schema = predicate.keys.iter().filter(|key| key.is_needed);
    let by_schema = by_schema.map(move |key| (&key.path, key.place.document, ReadKind::Schema(key.place.span, locales)));
    let needs = predicate.needs().take(if predicate.keys.is_empty() { usize::MAX } else { 0 });
    needs.map(move |path| (path, document, kind)).chain(by_schema)
}

/// Returns the part of a branch's result that a path in its undo reads; `None` where it reads more than that.
pub(crate) fn part_of_result<'p>(branch: &Call, path: &'p KeyPath) -> Option<&'p [Segment]> {
    match (&**path.root(), &branch.save_to) {
        ("input" | "tool_result", _) => Some(path.rest()),
        (_, Some(saved)) => path.segments().strip_prefix(saved.segments()),
        (_, None) => None,
    }
}

/// Visits all paths in a shape that the analysis follows, those that may be absent too.
pub(crate) fn each_followed<'p>(shape: &'p Shape, see: &mut impl FnMut(&'p KeyPath)) {
    match shape {
        Shape::Expression(expression) => {
            expression.path().into_iter().for_each(|(path, _)| see(path));
            expression.term().each_path(see);
        }
        Shape::List(items) => items.iter().for_each(|item| each_followed(&item.value, see)),
        Shape::Map(entries) => entries.iter().for_each(|(_, shape)| each_followed(&shape.value, see)),
        Shape::Literal(_) | Shape::Text(_) => {}
    }
}

impl<'p> PointIr<'p> {
    /// Lowers entering a point: defaults, then the gate's call, or requirements, content and call of the node.
    pub(crate) fn enter(&mut self, point: PointIndex) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        let is_first = node.gate.is_none_or(|gate| gate == point);
        if is_first {
            node.entry.defaults.iter().for_each(|write| self.write(write, node.document));
        }
        if program.point(point).part == Part::Gate {
            if let Some(call) = &program.graph_of(node).before_each {
                self.call(node, call, self.gates[node.graph as usize]);
                self.branch_undos(call, self.gates[node.graph as usize]);
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
            self.branch_undos(call, node.document);
        }
    }

    /// Lowers the reads of the context by the undos of branches: while the parts run, it is as it was on entering, but for the keys that their own
    /// branch saves (language 10.6). Reads of those and of the result belong to `checks/branch_undo.rs`.
    fn branch_undos(&mut self, call: &'p Call, document: u32) {
        let Callee::Parallel(branches, _) = &call.callee else { return };
        for (_, branch) in branches {
            branch.undo.iter().for_each(|undo| self.branch_undo(branch, undo, document));
        }
    }

    /// Lowers the undo of a branch, or a part of it: its reads, and the child that it begins.
    fn branch_undo(&mut self, branch: &'p Call, undo: &'p Call, document: u32) {
        for shape in undo.args.iter().chain(&undo.metadata) {
            shape.each_use(&mut |used| {
                if !is_of_branch(branch, used.path) {
                    self.needs(used.path, document, ReadKind::Template(used, LocaleScope::Everywhere, None));
                }
            });
        }
        match &undo.callee {
            Callee::Graph(_) => self.ops.push(Instr::Undo { branch, undo }),
            Callee::Parallel(parts, _) => parts.iter().for_each(|(_, part)| self.branch_undo(branch, part, document)),
            Callee::Tool(_) | Callee::Each(..) => {}
        }
    }

    /// Lowers taking a reply: its writes, and the arguments of `undo` after a successful call.
    pub(crate) fn reply(&mut self, point: PointIndex, reply: &'p Reply) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        reply.update.iter().for_each(|write| self.write(write, node.document));
        if let (Outcome::Success, Part::Body, Role::Act(call)) = (&reply.on, program.point(point).part, &node.role)
            && let Some(undo) = &call.undo
        {
            self.call(node, undo, node.document);
        }
    }

    /// Lowers the condition of an edge to the sites that it cannot be evaluated without. For a predicate these are the paths that it needs.
    pub(crate) fn edge(&mut self, point: PointIndex, edge: u32) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        let from = self.next_site();
        match &program.edges[edge as usize].when {
            Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) => {
                self.site(&operand.path, node.document, ReadKind::Edge(node.index, edge));
            }
            Guard::Predicate(index, _) => {
                for (path, document, kind) in asked(program, *index, node.document, ReadKind::Edge(node.index, edge)) {
                    self.site(path, document, kind);
                }
            }
            Guard::Set(..) | Guard::Empty(..) | Guard::Always | Guard::Attempts(_) => {}
        }
        self.guards.push(from.0..self.next_site().0);
    }

    /// Lowers ending at a terminal: its output, its reason, and its content, unless that was shown before a call or a question.
    pub(crate) fn end(&mut self, point: PointIndex) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        if node.terminal && program.point(point).part == Part::Body {
            self.shapes(node.output.as_deref().into_iter(), node.document);
            node.reason.iter().for_each(|reason| self.template(reason, node.document, LocaleScope::Everywhere));
            if matches!(node.role, Role::Pass) {
                self.words(node);
            }
        }
    }

    /// Lowers the checks on entry: `required_context`, `context_schema`, `assert`.
    pub(crate) fn requirements(&mut self, node: &'p Node) {
        let at = to_u32;
        for (index, path) in node.entry.required.iter().enumerate() {
            self.needs(path, node.document, ReadKind::Required(node.index, at(index)));
        }
        for (index, (_, schema)) in node.entry.types.iter().enumerate() {
            self.ops.push(Instr::Fit { schema, node: node.index, index: at(index) });
        }
        for (index, (guard, _)) in node.entry.asserts.iter().enumerate() {
            let kind = ReadKind::Assert(node.index, at(index));
            match guard {
                Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) => {
                    self.needs(&operand.path, node.document, kind)
                }
                Guard::Predicate(index, _) => self.predicate(*index, node.document, kind),
                Guard::Set(..) | Guard::Empty(..) | Guard::Always | Guard::Attempts(_) => {}
            }
            self.ops.push(Instr::Assert { guard, node: node.index, index: at(index) });
        }
    }

    /// Lowers the content of a node, the options and the metadata of its question. Only its own locale reads a translation.
    pub(crate) fn words(&mut self, node: &'p Node) {
        let shown = !matches!(&node.role, Role::Act(call) if call.body.is_some());
        if shown {
            self.content(node);
        }
        if let Role::Listen(listen) = &node.role {
            self.options(node, listen);
            self.shapes(node.metadata.as_deref().into_iter(), node.document);
            // The engine falls back to a plain sentence if such a text cannot be rendered, so none of its reads can fail.
            let texts =
                listen.on_invalid.iter().flat_map(|invalid| invalid.text.iter().chain(invalid.messages.iter().map(|(_, text)| text)));
            for text in texts {
                text.each_use(&mut |used| self.follows.push(used.path));
            }
        }
    }

    /// Lowers the texts of the options, by locale.
    fn options(&mut self, node: &'p Node, listen: &'p Listen) {
        let has_words = |choice: &Choice| {
            let mut words = node.localised.iter().flat_map(|(_, words)| &words.options).peekable();
            words.peek().is_some() && words.any(|(value, _)| **value == *choice.value.to_string())
        };
        for choice in listen.options.iter().filter(|choice| !choice.text.is_literal()) {
            let locales = if has_words(choice) { LocaleScope::Elsewhere } else { LocaleScope::Everywhere };
            self.template(&choice.text, node.document, locales);
        }
        for (locale, words) in &node.localised {
            words.options.iter().for_each(|(_, text)| self.template(text, node.document, LocaleScope::In(locale)));
        }
    }

    /// Lowers the content of a node, by locale.
    pub(crate) fn content(&mut self, node: &'p Node) {
        let locales = if node.localised.is_empty() { LocaleScope::Everywhere } else { LocaleScope::Elsewhere };
        node.content.iter().for_each(|content| self.speech(node, content, locales));
        for (locale, words) in &node.localised {
            words.content.iter().for_each(|content| self.speech(node, content, LocaleScope::In(locale)));
        }
    }

    /// Lowers one text, or its parts with their conditions.
    fn speech(&mut self, node: &'p Node, speech: &'p Speech, locales: LocaleScope<'p>) {
        let parts = match speech {
            Speech::Text(text) => return self.template(text, node.document, locales),
            Speech::Parts(parts) => parts,
        };
        for part in parts {
            let guard = Some(&part.when).filter(|when| **when != Guard::Always);
            if let Guard::Predicate(index, _) = &part.when {
                self.predicate(*index, node.document, ReadKind::Part(locales, part.origin));
            }
            if let Some(guard) = guard {
                let asked = match guard {
                    Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) => Some(&operand.path),
                    _ => None,
                };
                let site = asked.map(|path| {
                    let at = self.next_site();
                    self.site(path, node.document, ReadKind::Part(locales, part.origin));
                    at
                });
                self.ops.push(Instr::Ask { guard, site });
            }
            part.text.each_use(&mut |used| self.needs(used.path, node.document, ReadKind::Template(used, locales, guard)));
        }
    }

    /// Lowers a call: its arguments, its approval, its metadata; the branches of `parallel` one after the other.
    pub(crate) fn call(&mut self, node: &'p Node, call: &'p Call, document: u32) {
        self.shapes(call.args.iter(), document);
        if call.body.is_some() {
            self.content(node);
        }
        if let Some(approve) = &call.approve {
            let locales = if approve.messages.is_empty() { LocaleScope::Everywhere } else { LocaleScope::Elsewhere };
            let is_item = |used: &KeyPath| matches!(call.callee, Callee::Each(..)) && &**used.root() == ITEM;
            let mut ask_for = |ask: &'p Template, locales| {
                // A question is asked about each item; a value that an item lacks is an error of that item.
                ask.each_use(&mut |used| {
                    if !is_item(used.path) {
                        self.needs(used.path, document, ReadKind::Template(used, locales, None));
                    }
                });
            };
            approve.ask.iter().for_each(|ask| ask_for(ask, locales));
            approve.messages.iter().for_each(|(locale, ask)| ask_for(ask, LocaleScope::In(locale)));
        }
        self.shapes(call.metadata.as_ref().or(node.metadata.as_deref()).into_iter(), document);
        match &call.callee {
            Callee::Tool(_) | Callee::Graph(_) => self.ops.push(Instr::Args { call }),
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.call(node, branch, document)),
            Callee::Each(list, _) => self.needs(list, document, ReadKind::List(node.index)),
        }
    }

    /// Adds what must be present before a predicate is asked.
    fn predicate(&mut self, index: u32, document: u32, kind: ReadKind<'p>) {
        for (path, document, kind) in asked(self.program, index, document, kind) {
            self.needs(path, document, kind);
        }
    }

    /// Adds a site, and the instruction that its path must be present.
    fn needs(&mut self, path: &'p KeyPath, document: u32, kind: ReadKind<'p>) {
        self.ops.push(Instr::Read(self.next_site()));
        self.site(path, document, kind);
    }

    fn template(&mut self, template: &'p Template, document: u32, locales: LocaleScope<'p>) {
        template.each_use(&mut |used| self.needs(used.path, document, ReadKind::Template(used, locales, None)));
    }

    fn shapes(&mut self, shapes: impl Iterator<Item = &'p Shape>, document: u32) {
        for shape in shapes {
            each_followed(shape, &mut |path| self.follows.push(path));
            shape.each_use(&mut |used| self.needs(used.path, document, ReadKind::Template(used, LocaleScope::Everywhere, None)));
        }
    }

    fn write(&mut self, write: &'p Write, document: u32) {
        let from = self.next_site();
        if let WriteSource::Shape(shape) = &write.value {
            each_followed(shape, &mut |path| self.follows.push(path));
            shape.each_use(&mut |used| self.site(used.path, document, ReadKind::Template(used, LocaleScope::Everywhere, None)));
        }
        self.ops.push(Instr::Write { write, reads: from.0..self.next_site().0 });
    }
}
