//! Predicates without an `@` line: a bound tool answers them, by a double or by its calculation (language 6.2).

use trellis_core::{
    Engine, NodeId, ToolOutcome,
    engine::{NotBegun, StartError, Unanswered},
};

use super::{NavigateError, Player};
use crate::doubles;

/// An error that may be caused by an unanswered predicate.
pub(super) trait MayAsk {
    /// The predicate, if it is about one.
    fn asked(&self) -> Option<&Unanswered>;
}

impl MayAsk for NavigateError {
    fn asked(&self) -> Option<&Unanswered> {
        if let Self::Unanswered(asked) = self { Some(asked) } else { None }
    }
}

impl MayAsk for StartError {
    fn asked(&self) -> Option<&Unanswered> {
        if let Self::Unanswered(asked) = self { Some(asked) } else { None }
    }
}

impl MayAsk for NotBegun {
    fn asked(&self) -> Option<&Unanswered> {
        if let Self::Unanswered(asked) = self { Some(asked) } else { None }
    }
}

impl Player<'_> {
    /// Takes a step from a node, again with each predicate answered that a bound tool knows. An answer holds for this step alone.
    pub(super) fn step<T, E: MayAsk>(&mut self, node: &NodeId, step: impl Fn(&Engine) -> Result<T, E>) -> Result<T, E> {
        let mut answers = self.answers.clone();
        loop {
            let taken = step(&self.engine.answering(answers.clone()));
            let Some(asked) = taken.as_ref().err().and_then(MayAsk::asked).filter(|_| !self.by_hand) else { return taken };
            match self.predicate(node, asked) {
                Some(holds) if answers.insert(asked.name.clone(), holds).is_none() => {}
                _ => return taken,
            }
        }
    }

    /// Returns the result of the bound tool of a predicate, if it is true or false.
    fn predicate(&mut self, node: &NodeId, asked: &Unanswered) -> Option<bool> {
        let program = self.engine.inspect();
        let predicate = program.predicates().iter().find(|predicate| predicate.name == asked.name)?;
        let (tool, args) = predicate.call(&asked.context)?;
        let outcome = match doubles::answering(&mut self.doubles, tool, &args) {
            Some(double) => double.outcome.clone(),
            None => self.beside.compute(program, node, tool, &args)?,
        };
        if let ToolOutcome::Success(value) = outcome { value.as_bool() } else { None }
    }
}
