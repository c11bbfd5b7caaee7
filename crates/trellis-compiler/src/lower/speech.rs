//! The content of a node: one text, or parts that are shown under conditions (language 2, `content`).

use super::{Here, Lowering};
use trellis_base::{diagnostic::Code, span::Spanned};
use trellis_engine::program::{Guard, PredicateSource, Speech, SpeechPart};
use trellis_syntax::{condition::Condition, node::SpeechSyntax, project::PredicateAnswer};

impl Lowering<'_> {
    /// Lowers the content of a node.
    pub(super) fn speech(&mut self, here: Here<'_>, speech: &SpeechSyntax) -> Speech {
        let parts = match speech {
            SpeechSyntax::Text(text) => return Speech::Text(text.clone()),
            SpeechSyntax::Parts(parts) => parts,
        };
        let part = |part: &trellis_syntax::node::SpeechPartSyntax| SpeechPart {
            text: part.text.value.clone(),
            when: part.condition.as_ref().map_or(Guard::Always, |condition| self.silent_guard(here, condition)),
            origin: part.condition.as_ref().map_or(part.span, |condition| condition.span),
        };
        Speech::Parts(parts.iter().map(part).collect())
    }

    /// Returns the guard of a condition that is evaluated when a node is shown: no one can be asked then.
    fn silent_guard(&mut self, here: Here<'_>, condition: &Spanned<Condition>) -> Guard {
        let guard = self.guard(here, condition);
        let Guard::Predicate(index, _) = &guard else { return guard };
        let predicate = &self.predicates[*index as usize];
        let name = predicate.name.clone();
        if matches!(predicate.source, PredicateSource::Schema(_)) || self.is_by_schema(here, &name) {
            return guard;
        }
        self.report(
            here,
            Code::ConditionTooComplex,
            condition.span,
            format!("`{name}` asks somebody, and nobody is asked what a node says"),
        )
        .help = Some("compare a key that is set before, or let a `schema` answer the predicate".into());
        Guard::Always
    }

    /// Returns whether a predicate was to be answered by a schema, sound or not.
    fn is_by_schema(&self, here: Here<'_>, name: &str) -> bool {
        let projects = &self.graphs[here.graph as usize].syntax.projects;
        let mut declared = projects.iter().flat_map(|(_, _, project)| &project.predicates);
        declared.any(|predicate| *predicate.name.value == *name && matches!(predicate.answer, PredicateAnswer::Schema(_)))
    }
}
