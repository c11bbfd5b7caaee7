//! A graph as far as it was lowered, sound or not.
//!
//! In: the lowered part of a graph. Out: an engine that runs it, for tools and tests that replay a [`Witness`](trellis_base::witness::Witness).
//!
//! **Invariant:** no host gets hold of a program that has errors.

use std::sync::Arc;

use trellis_engine::{
    engine::{Engine, Predicates},
    program::Program,
};

/// A graph as far as it was lowered, sound or not. It is for replays only, not for sessions.
#[derive(Clone, Debug)]
pub struct Draft {
    program: Arc<Program>,
}

impl Draft {
    pub(super) fn new(program: Arc<Program>) -> Self {
        Self { program }
    }

    /// Returns the graph as it was lowered. If it has mistakes, it is for inspection only: nothing may run it.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns an engine on trial: sessions begin at any node, with any values, and every predicate is answered step by step
    /// ([`Engine::answering`]).
    pub fn engine(&self) -> Engine {
        on_trial(&self.program)
    }
}

/// An engine that walks into accidents on purpose.
pub(super) fn on_trial(program: &Arc<Program>) -> Engine {
    let predicates = program.predicates().iter();
    let deferred = predicates.fold(Predicates::new(), |known, predicate| known.deferred(&predicate.name));
    Engine::on_trial(Arc::clone(program), deferred)
}
