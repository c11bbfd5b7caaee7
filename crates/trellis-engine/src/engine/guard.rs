//! Guards over values, and predicates with their answers (language 6.1, 6.2).
//!
//! **Invariant:** a predicate is asked at most once a step.

use std::borrow::Cow;

use super::{Event, Unanswered, fail::Stop, step::Move};
use crate::program::{Guard, Operand, PredicateSource, Root, Truth};
use trellis_base::{id::NodeId, path::walk, value::Value};

impl Move<'_> {
    /// Evaluates a guard; [`Truth::Either`] if the step fails: something absent is compared, or a predicate has no answer yet.
    fn holds(&self, guard: &Guard) -> Truth {
        match guard {
            Guard::Attempts(limit) => Truth::from(self.state.attempt < *limit && !self.trying.is_final),
            Guard::Predicate(index, wanted) => self.answered(*index).map_or(Truth::Either, |answer| Truth::from(answer == *wanted)),
            guard => guard.over(guard.operand().and_then(|operand| self.read(operand)).as_deref()),
        }
    }

    /// Returns whether a guard holds; asks a predicate if it must.
    pub(super) fn decide(&mut self, node: &NodeId, guard: &Guard) -> Result<bool, Stop> {
        if let Guard::Predicate(index, _) = guard {
            self.ask(node, *index)?;
        }
        match self.holds(guard) {
            Truth::Yes => Ok(true),
            Truth::No => Ok(false),
            Truth::Either => {
                let value = guard.operand().and_then(|operand| self.read(operand));
                Err(Stop::undecided(node, guard, value.as_deref()))
            }
        }
    }

    fn read(&self, operand: &Operand) -> Option<Cow<'_, Value>> {
        let root = match operand.root {
            Root::Context => self.state.context.get(operand.path.root()),
            Root::Input if self.input.is_none() => return self.scope().lookup(&operand.path).cloned().map(Cow::Owned),
            Root::Result if self.tool_result.is_none() => return self.scope().lookup(&operand.path).cloned().map(Cow::Owned),
            Root::Input => self.input.as_ref(),
            Root::Result => self.tool_result.as_ref(),
            Root::Sys => return self.scope().lookup(&operand.path).cloned().map(Cow::Owned),
        };
        walk(root?, operand.path.rest()).map(Cow::Borrowed)
    }

    fn answered(&self, index: u32) -> Option<bool> {
        self.asked.iter().find(|(asked, _)| *asked == index).map(|(_, answer)| *answer)
    }

    fn ask(&mut self, node: &NodeId, index: u32) -> Result<(), Stop> {
        if self.answered(index).is_some() {
            return Ok(());
        }
        let predicate = &self.program.predicates()[index as usize];
        if let Some(missing) = predicate.needs().find(|path| self.missing(path)) {
            return Err(Stop::unneeded(node, &predicate.name, missing));
        }
        let answer = match &predicate.source {
            // It follows from the context, so the record needs no answer.
            PredicateSource::Schema(schema) => schema.fits(&self.state.context.to_mapping().into()),
            PredicateSource::Host(_) | PredicateSource::Binding { .. } => self.answer(&predicate.name)?,
        };
        self.asked.push((index, answer));
        Ok(())
    }

    fn answer(&mut self, name: &std::sync::Arc<str>) -> Result<bool, Stop> {
        let given = self.engine.answers.as_ref().and_then(|answers| answers.get(name).copied());
        let answer = given.or_else(|| match self.engine.predicates.known.get(name) {
            Some(Some(answer)) => Some(answer(&self.state.context)),
            _ => None,
        });
        let answer = answer.ok_or_else(|| {
            let context = self.state.context.clone();
            Stop::Unanswered(Box::new(Unanswered { name: name.clone(), context }))
        })?;
        self.events.push(Event::Predicate { name: name.clone(), answer });
        Ok(answer)
    }
}
