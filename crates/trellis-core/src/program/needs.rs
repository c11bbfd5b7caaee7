//! What entering a node certainly reads: the keys that a session must have which begins there (language 8.7).

use super::{Call, Callee, From, Guard, Node, Operand, Outcome, Place, Program, Role, Root, Write};
use crate::{
    path::KeyPath,
    scope::RESERVED,
    template::{Read, Shape},
};

impl Program {
    /// The context paths that must be set before `node` is entered, in the order in which they are read: by its requirements, its words, its call or
    /// its writes, up to the first thing that it waits for. What it brings itself, and what a template guards, is none of them.
    pub fn needs(&self, node: &Node) -> Vec<KeyPath> {
        let mut needs = Needs::default();
        for write in &node.entry.defaults {
            needs.write(write);
        }
        if let Some(call) = self.graph_of(node).before_each.as_ref().filter(|_| node.gate.is_some()) {
            needs.call(call);
            needs.brought.extend(call.save_to.clone());
        }
        node.entry.required.iter().cloned().for_each(|path| needs.read(path));
        node.entry.types.iter().filter_map(|(key, _)| KeyPath::parse(key)).for_each(|path| needs.read(path));
        node.entry.asserts.iter().for_each(|(guard, _)| needs.guard(guard));
        if node.localised.is_empty() {
            node.content.iter().flat_map(|content| content.reads()).for_each(|read| needs.certain(read));
        }
        needs.shapes(node.metadata.iter());
        match &node.role {
            Role::Act(call) => needs.call(call),
            Role::Listen(_) => {}
            Role::Pass if node.terminal => needs.shapes(node.output.iter()),
            Role::Pass => {
                if let Some(reply) = self.reply(node.body, &Outcome::Pass) {
                    reply.update.iter().for_each(|write| needs.write(write));
                    // The first guard is evaluated whatever it comes to; the others only when it does not hold.
                    self.edges_of(reply).iter().take(1).for_each(|edge| needs.guard(&edge.when));
                }
            }
        }
        needs.paths
    }

    /// The context paths that must be set while a session waits at `node`, which it entered before: for its requirements and its words.
    pub(crate) fn needs_to_wait(&self, node: &Node) -> Vec<KeyPath> {
        let mut needs = Needs { paths: node.entry.required.to_vec(), ..Needs::default() };
        if node.localised.is_empty() {
            node.content.iter().flat_map(|content| content.reads()).for_each(|read| needs.certain(read));
        }
        needs.shapes(node.metadata.iter().filter(|_| matches!(node.role, Role::Listen(_))));
        needs.paths
    }
}

#[derive(Default)]
struct Needs {
    paths: Vec<KeyPath>,
    /// What was written on the way.
    brought: Vec<KeyPath>,
}

impl Needs {
    fn read(&mut self, path: KeyPath) {
        let is_brought = self.brought.iter().any(|brought| brought.root() == path.root());
        if !is_brought && !RESERVED.contains(&&**path.root()) && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn certain(&mut self, read: Read) {
        if read.when.is_empty() {
            self.read(read.path);
        }
    }

    fn shapes<'s>(&mut self, shapes: impl Iterator<Item = &'s Shape>) {
        shapes.flat_map(Shape::reads).for_each(|read| self.certain(read));
    }

    fn write(&mut self, write: &Write) {
        // A default whose key is there is not evaluated.
        if let (From::Shape(shape), false) = (&write.value, matches!(write.to, Place::Absent(_))) {
            self.shapes(std::iter::once(shape));
        }
        match &write.to {
            Place::Path(path) | Place::Append(path) => self.brought.push(path.clone()),
            Place::Absent(key) => self.brought.extend(KeyPath::parse(key)),
            Place::Input | Place::Ans | Place::Error => {}
        }
    }

    fn guard(&mut self, guard: &Guard) {
        if let Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) = guard {
            let Operand { root, path } = operand;
            if *root == Root::Context {
                self.read(path.clone());
            }
        }
    }

    fn call(&mut self, call: &Call) {
        self.shapes(call.args.iter().chain(&call.metadata));
        call.approve.iter().filter_map(|approve| approve.ask.as_ref()).flat_map(|ask| ask.reads()).for_each(|read| self.certain(read));
        match &call.callee {
            Callee::Tool(_) | Callee::Graph(_) => {}
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| self.call(branch)),
            Callee::Each(list, _) => self.read(list.clone()),
        }
    }
}
