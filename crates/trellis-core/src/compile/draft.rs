//! A graph as far as it was lowered, sound or not.
//!
//! In: what was lowered. Out: an engine that walks it, for tools and tests that follow a [`Witness`](crate::witness::Witness) again.
//!
//! **Invariant:** no host gets hold of a program that has errors.

use std::sync::Arc;

use crate::{
    engine::{Engine, Predicates},
    program::Program,
};

/// A graph as far as it was lowered, sound or not. It is walked on trial only: nobody runs it.
#[derive(Clone, Debug)]
pub struct Draft {
    program: Arc<Program>,
}

impl Draft {
    pub(super) fn new(program: Arc<Program>) -> Self {
        Self { program }
    }

    /// The graph as it was lowered. Where it has mistakes it is to be looked at only: nothing may run it.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// An engine on trial: sessions begin at any node, with whatever they are given, and every predicate is answered step by step
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
