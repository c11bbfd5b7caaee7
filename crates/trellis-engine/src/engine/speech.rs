//! The content of a node over the readable values: one text, or the parts whose condition holds.
//!
//! **Invariant:** no host is asked, so that rendering is pure.

use std::sync::Arc;

use super::{fail, step::limits};
use crate::program::{Failure, Guard, PredicateSource, Program, Speech, Truth};
use trellis_base::{scope::Scope, span::Span, template::TemplateError};

/// The reason why a content cannot be rendered.
pub(super) struct Unsaid {
    pub(super) failure: Failure,
    pub(super) message: String,
    /// The place of the text, where it is known.
    pub(super) span: Option<Span>,
}

impl From<TemplateError> for Unsaid {
    fn from(error: TemplateError) -> Self {
        Self { failure: Failure::Template, message: error.message, span: error.span }
    }
}

/// Renders a speech; `None` if no part of it is shown.
pub(super) fn render_speech(program: &Program, scope: &Scope, speech: &Speech) -> Result<Option<Arc<str>>, Unsaid> {
    let parts = match speech {
        Speech::Text(text) => return Ok(Some(text.render(scope, limits(program))?)),
        Speech::Parts(parts) => parts,
    };
    let limits = limits(program);
    let mut rendered = String::new();
    for part in parts {
        if !holds(program, scope, &part.when).map_err(|unsaid| Unsaid { span: Some(part.origin), ..unsaid })? {
            continue;
        }
        let text = part.text.render(scope, limits)?;
        let text = text.trim_matches(['\n', '\r']);
        if text.trim().is_empty() {
            continue;
        }
        if !rendered.is_empty() {
            rendered.push_str("\n\n");
        }
        rendered.push_str(text);
        if rendered.len() as u64 > limits.output {
            let message = format!("the text is longer than {} bytes (`limits.template_output`)", limits.output);
            return Err(Unsaid { failure: Failure::Template, message, span: None });
        }
    }
    Ok((!rendered.is_empty()).then(|| rendered.into()))
}

/// Returns whether a guard holds; a predicate by a schema is evaluated over the context.
fn holds(program: &Program, scope: &Scope, guard: &Guard) -> Result<bool, Unsaid> {
    let value = guard.operand().and_then(|operand| scope.lookup(&operand.path));
    let truth = match guard {
        Guard::Predicate(index, wanted) => {
            let predicate = &program.predicates()[*index as usize];
            if let Some(missing) = predicate.needs().find(|path| scope.context.lookup(path).is_none()) {
                return Err(Unsaid { failure: Failure::Condition, message: fail::unneeded(&predicate.name, missing), span: None });
            }
            match &predicate.source {
                PredicateSource::Schema(schema) => Truth::from(schema.fits(&scope.context.to_mapping().into()) == *wanted),
                PredicateSource::Host(_) | PredicateSource::Binding { .. } => Truth::Either,
            }
        }
        guard => guard.over(value),
    };
    match truth {
        Truth::Yes => Ok(true),
        Truth::No => Ok(false),
        Truth::Either => Err(Unsaid { failure: Failure::Condition, message: fail::undecided(guard, value), span: None }),
    }
}
