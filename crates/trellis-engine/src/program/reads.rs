//! The paths that a step may read when it leaves or enters a node, in no order: for callers that must know whether a value could have mattered.

use super::{Call, Callee, Guard, ITEM, Node, PointIndex, PredicateSource, Program, Role, Write, WriteSource};
use trellis_base::{
    path::KeyPath,
    template::{Shape, Template},
};

/// The paths that a step at a node may read, `input`, `tool_result` and `sys` included.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Reads {
    /// The paths.
    pub paths: Vec<KeyPath>,
    /// True if some read is of the whole context.
    pub everything: bool,
}

impl Reads {
    /// Returns whether a step may read a part of the value at `path`, or a value around it.
    pub fn touch(&self, path: &KeyPath) -> bool {
        let meets = |read: &KeyPath| read.segments().starts_with(path.segments()) || path.segments().starts_with(read.segments());
        (self.everything && !matches!(&**path.root(), "sys" | "input" | "tool_result")) || self.paths.iter().any(meets)
    }

    fn template(&mut self, template: &Template) {
        self.paths.extend(template.reads().into_iter().map(|read| read.path));
    }

    fn shape(&mut self, shape: &Shape) {
        self.paths.extend(shape.reads().into_iter().map(|read| read.path));
    }

    fn write(&mut self, write: &Write) {
        if let WriteSource::Shape(shape) = &write.value {
            self.shape(shape);
        }
    }

    fn call(&mut self, call: &Call) {
        let mut open = vec![call];
        while let Some(call) = open.pop() {
            call.args.iter().chain(&call.metadata).for_each(|shape| self.shape(shape));
            let asked = call.approve.iter().flat_map(|approve| approve.ask.iter().chain(approve.messages.iter().map(|(_, ask)| ask)));
            asked.for_each(|ask| self.template(ask));
            if matches!(call.callee, Callee::Each(..)) {
                self.paths.retain(|path| &**path.root() != ITEM);
            }
            match &call.callee {
                Callee::Parallel(branches, _) => open.extend(branches.iter().map(|(_, branch)| branch)),
                Callee::Each(list, _) => self.paths.push(list.clone()),
                Callee::Tool(_) | Callee::Graph(_) => {}
            }
            open.extend(call.undo.as_deref());
        }
    }

    fn guard(&mut self, program: &Program, guard: &Guard) {
        self.paths.extend(guard.operand().map(|operand| operand.path.clone()));
        if let Guard::Predicate(at, _) = guard {
            let known = program.predicates().get(*at as usize);
            self.everything |= known.is_some_and(|known| matches!(known.source, PredicateSource::Schema(_)));
        }
    }

    fn point(&mut self, program: &Program, point: PointIndex) {
        for reply in program.replies(&program.point(point).replies) {
            reply.update.iter().for_each(|write| self.write(write));
            program.edges_of(reply).iter().for_each(|edge| self.guard(program, &edge.when));
        }
    }
}

impl Program {
    /// Returns the paths that a step that leaves `node` may read until it knows its target.
    pub fn reads_leaving(&self, node: &Node) -> Reads {
        let mut reads = Reads::default();
        node.gate.into_iter().chain([node.body]).for_each(|point| reads.point(self, point));
        reads
    }

    /// Returns the paths that a step that leaves or enters `node` may read.
    pub fn reads_at(&self, node: &Node) -> Reads {
        let mut reads = self.reads_leaving(node);
        node.entry.defaults.iter().for_each(|write| reads.write(write));
        reads.paths.extend(node.entry.required.iter().cloned());
        reads.paths.extend(node.entry.types.iter().filter_map(|(key, _)| KeyPath::parse(key)));
        node.entry.asserts.iter().for_each(|(guard, _)| reads.guard(self, guard));
        let words = node.content.iter().chain(node.localised.iter().filter_map(|(_, words)| words.content.as_ref()));
        for speech in words {
            speech.texts().for_each(|text| reads.template(text));
            speech.parts().iter().for_each(|part| reads.guard(self, &part.when));
        }
        let shown = node.localised.iter().flat_map(|(_, words)| &words.options).map(|(_, text)| text);
        shown.chain(&node.reason).for_each(|text| reads.template(text));
        node.metadata.iter().chain(&node.output).for_each(|shape| reads.shape(shape));
        match &node.role {
            Role::Act(call) => reads.call(call),
            Role::Listen(listen) => {
                listen.options.iter().for_each(|choice| reads.template(&choice.text));
                let texts =
                    listen.on_invalid.iter().flat_map(|invalid| invalid.text.iter().chain(invalid.messages.iter().map(|(_, text)| text)));
                texts.for_each(|text| reads.template(text));
            }
            Role::Pass => {}
        }
        self.graph_of(node).before_each.iter().for_each(|call| reads.call(call));
        reads
    }
}
