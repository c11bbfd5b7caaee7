//! Entry environments of sessions and of children.
//!
//! A key is absent at the start unless something can bring it: a declared input, an argument, a default that a host may override, or a
//! declaration of the entry that the engine enforces. Each of them includes all values that the engine accepts.

use super::*;
use trellis_base::schema::Schema;

impl<'p> Analysis<'_, 'p> {
    /// Returns the environment at the start of a session: the inputs of the graph, and the declared keys of its entry (language 7.1).
    pub(crate) fn begin(&mut self) -> Env {
        let program = self.program;
        let mut env = Env::absent(self.tables.keys.room());
        let node = program.entry();
        let is_closed = program.graph_of(node).inputs.as_ref().is_some_and(Schema::is_closed);
        // A host may supply a key that has a default, unless `inputs` says which keys there are; undeclared keys are never supplied.
        for slot in self.tables.keys.with_defaults().filter(|_| !is_closed) {
            env.set(slot, TypeId::UNKNOWN_OR_ABSENT, &mut self.types);
        }
        for (key, is_number) in program.defaults().into_iter().filter(|_| !is_closed) {
            if let Some(slot) = self.tables.keys.slot_of(key).filter(|_| is_number) {
                let number = self.types.given_number();
                env.set(slot, number, &mut self.types);
            }
        }
        if let Some(schema) = &program.graph_of(node).inputs {
            let whole = self.types.declared(schema);
            self.given(whole, &mut env);
        }
        self.declared(node, &mut env);
        env
    }

    /// Returns the environment at the start of a child: its arguments, and its declared keys.
    pub(crate) fn begin_child(&mut self, node: &'p Node, args: TypeId) -> Env {
        let mut env = Env::absent(self.tables.keys.room());
        self.given(args, &mut env);
        self.declared(node, &mut env);
        env
    }

    /// Sets a key for each named field of a mapping.
    fn given(&mut self, mapping: TypeId, env: &mut Env) {
        let Some(fields) = self.types.get(mapping).fields.clone() else { return };
        for (key, of) in &fields.named {
            if let Some(slot) = self.tables.keys.slot_of(key) {
                env.set(slot, *of, &mut self.types);
            }
        }
    }

    /// Refines keys by the declarations of a node: a start without them is rejected, unless entering the node sets them.
    fn declared(&mut self, node: &'p Node, env: &mut Env) {
        let graph = self.program.graph_of(node);
        for (key, schema) in &node.entry.types {
            if let Some(slot) = self.tables.keys.slot_of(key) {
                let (given, declared) = (env.get(slot, &mut self.types), self.types.declared(schema));
                let given = self.types.present(given);
                let known = if given == TypeId::NEVER { declared } else { self.types.meet(given, declared) };
                let known = if node.brings(graph, key) { self.types.join(known, TypeId::ABSENT) } else { known };
                env.set(slot, known, &mut self.types);
            }
        }
        for path in node.entry.required.iter().filter(|path| !node.brings(graph, path.root())) {
            if let Some((slot, rest)) = self.followed(path) {
                let known = env.get(slot, &mut self.types);
                let known = self.types.present(known);
                let known = if known == TypeId::NEVER { TypeId::UNKNOWN } else { known };
                env.set(slot, known, &mut self.types);
                self.be_set(env, slot, rest);
            }
        }
        for (key, schema) in &graph.types {
            let Some(slot) = self.tables.keys.slot_of(key) else { continue };
            let given = env.get(slot, &mut self.types);
            let (there, declared) = (self.types.present(given), self.types.declared(schema));
            if there != TypeId::NEVER {
                let known = self.types.meet(there, declared);
                let known = if self.types.may_lack(given) { self.types.join(known, TypeId::ABSENT) } else { known };
                env.set(slot, known, &mut self.types);
            }
        }
    }
}
