//! What happens at a point, in the engine's order, as data: what is read, what is written.
//!
//! Entering, taking a reply and ending are read off the compiled node; what a key of the frontmatter means is not known here.
//!
//! **Invariant:** the order is that of `engine/enter.rs`, `choose.rs` and `result.rs`.

use crate::{
    path::KeyPath,
    program::{Call, Callee, Guard, Node, Operand, Outcome, Part, PointIndex, Program, Reason, Reply, Role, Target, Write},
    span::Span,
    syntax::document::Content,
    template::{Read, Shape, Test},
};

/// One thing that happens.
pub(super) enum Op<'p> {
    /// Something must be there.
    Read(Site),
    /// Something is written; `default_context` only where nothing is.
    Write(&'p Write),
    /// A condition must hold.
    Assert(&'p Guard),
}

/// A place in the author's files where something is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    pub(super) path: KeyPath,
    pub(super) document: u32,
    pub(super) span: Span,
    pub(super) kind: Kind,
    /// What must hold for it to be met.
    pub(super) when: Box<[Test]>,
    /// Whether it goes on below the path into the unknown.
    pub(super) deep: bool,
}

/// What reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A template.
    Template,
    /// `required_context`.
    Required,
    /// A condition.
    Condition,
    /// `each`.
    List,
}

/// Entering a point, up to what it waits for.
pub(super) fn entering<'p>(program: &'p Program, point: PointIndex) -> Vec<Op<'p>> {
    let node = program.node(program.point(point).node);
    let mut script = Script { program, document: node.document, ops: Vec::new() };
    let is_first = node.gate.is_none_or(|gate| gate == point);
    if is_first {
        for write in &node.entry.defaults {
            script.write(write);
        }
    }
    if program.point(point).part == Part::Gate {
        script.document = gate_document(program, node);
        if let Some(call) = &program.graph_of(node).before_each {
            script.call(node, call);
        }
        return script.ops;
    }
    script.requirements(node);
    let speaks_later = node.terminal && matches!(node.role, Role::Pass);
    if !speaks_later {
        script.words(node);
    }
    if let Role::Act(call) = &node.role {
        script.call(node, call);
    }
    script.ops
}

/// Taking a reply, up to the choice.
pub(super) fn replying<'p>(program: &'p Program, point: PointIndex, reply: &'p Reply) -> Vec<Op<'p>> {
    let node = program.node(program.point(point).node);
    let mut script = Script { program, document: node.document, ops: Vec::new() };
    for write in &reply.update {
        script.write(write);
    }
    if let (Outcome::Success, Part::Body, Role::Act(call)) = (&reply.on, program.point(point).part, &node.role)
        && let Some(undo) = &call.undo
    {
        script.call(node, undo);
    }
    script.ops
}

/// Ending at a point.
pub(super) fn ending<'p>(program: &'p Program, point: PointIndex, target: &Target) -> Vec<Op<'p>> {
    let node = program.node(program.point(point).node);
    let mut script = Script { program, document: node.document, ops: Vec::new() };
    let of_terminal = node.terminal && matches!(target, Target::End(Reason::Finished | Reason::Failed(crate::program::Failure::End)));
    if of_terminal {
        script.shapes(node.output.iter());
        if matches!(node.role, Role::Pass) {
            script.words(node);
        }
    }
    script.ops
}

/// What a guard reads and fails without; a question whether something is there reads nothing.
pub(super) fn guarded(node: &Node, guard: &Guard, span: Span) -> Option<Site> {
    let (Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _)) = guard else { return None };
    let Operand { path, .. } = operand;
    Some(Site { path: path.clone(), document: node.document, span, kind: Kind::Condition, when: Box::default(), deep: false })
}

/// The document that holds a graph's `before_each`.
fn gate_document(program: &Program, node: &Node) -> u32 {
    let holds = |content: &Content| match content {
        Content::Project(project) | Content::Nodes(_, project) => project.defaults.before_each.is_some(),
        _ => false,
    };
    let root = &program.graph_of(node).root;
    let found = program.documents.iter().position(|document| {
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder == &**root && holds(&document.content)
    });
    let entry = program.node(program.graph_of(node).entry).document;
    found.and_then(|at| u32::try_from(at).ok()).unwrap_or(entry)
}

struct Script<'p> {
    program: &'p Program,
    document: u32,
    ops: Vec<Op<'p>>,
}

impl<'p> Script<'p> {
    fn read(&mut self, read: Read) {
        let Read { path, span, when, deep } = read;
        self.ops.push(Op::Read(Site { path, document: self.document, span, kind: Kind::Template, when, deep }));
    }

    fn shapes<'s>(&mut self, shapes: impl Iterator<Item = &'s Shape>) {
        shapes.flat_map(Shape::reads).for_each(|read| self.read(read));
    }

    fn write(&mut self, write: &'p Write) {
        self.ops.push(Op::Write(write));
    }

    fn requirements(&mut self, node: &'p Node) {
        let document = &self.program.documents[node.document as usize];
        let syntax = super::super::syntax_of(self.program, node);
        let spans = syntax.map(|syntax| &syntax.required_context);
        for (at, path) in node.entry.required.iter().enumerate() {
            let span = spans.and_then(|spans| spans.get(at)).map_or(node.span, |path| path.span);
            debug_assert!(span.end as usize <= document.text.len());
            let site = Site { path: path.clone(), document: node.document, span, kind: Kind::Required, when: Box::default(), deep: false };
            self.ops.push(Op::Read(site));
        }
        let asserts = syntax.map(|syntax| &syntax.asserts);
        for (at, (guard, _)) in node.entry.asserts.iter().enumerate() {
            let span = asserts.and_then(|asserts| asserts.get(at)).map_or(node.span, |condition| condition.span);
            self.ops.extend(guarded(node, guard, span).map(Op::Read));
            self.ops.push(Op::Assert(guard));
        }
    }

    /// What the node says, and what travels with its question. The words of a locale are met only in that locale.
    fn words(&mut self, node: &Node) {
        let shown = !matches!(&node.role, Role::Act(call) if call.body.is_some());
        if shown {
            self.content(node);
        }
        if matches!(node.role, Role::Listen(_)) {
            self.shapes(node.metadata.iter());
        }
    }

    fn content(&mut self, node: &Node) {
        let whole = node.localised.is_empty();
        let own = node.content.iter().map(|content| (content, whole));
        let others = node.localised.iter().filter_map(|(_, words)| words.content.as_ref()).map(|content| (content, false));
        let reads: Vec<Read> = own
            .chain(others)
            .flat_map(|(content, whole)| {
                content.reads().into_iter().map(move |read| {
                    let locale = (!whole).then_some(Test::Opaque);
                    Read { when: read.when.iter().cloned().chain(locale).collect(), ..read }
                })
            })
            .collect();
        reads.into_iter().for_each(|read| self.read(read));
    }

    fn call(&mut self, node: &Node, call: &Call) {
        self.shapes(call.args.iter());
        if call.body.is_some() {
            self.content(node);
        }
        call.approve.iter().filter_map(|approve| approve.ask.as_ref()).flat_map(|ask| ask.reads()).for_each(|read| self.read(read));
        self.shapes(call.metadata.iter().chain(node.metadata.iter().filter(|_| call.metadata.is_none())));
        match &call.callee {
            Callee::Tool(_) | Callee::Graph(_) => {}
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.call(node, branch)),
            Callee::Each(list, _) => {
                let syntax = super::super::syntax_of(self.program, node).and_then(|syntax| syntax.call.as_ref());
                let span = syntax.map_or(node.span, |call| match &call.callee {
                    crate::syntax::node::CalleeSyntax::Each(list, _) => list.span,
                    _ => call.span,
                });
                let site = Site { path: list.clone(), document: self.document, span, kind: Kind::List, when: Box::default(), deep: false };
                self.ops.push(Op::Read(site));
            }
        }
    }
}
