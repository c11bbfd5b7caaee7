//! A mistake in a template, by its bytes in the text; it becomes a diagnostic at the author's bytes.

use std::ops::Range;

use crate::{
    diagnostic::{Code, Diagnostic, Near, Report},
    span::SourceMap,
};

/// One mistake.
#[derive(Debug)]
pub(super) struct Mistake {
    code: Code,
    /// Bytes of the text.
    pub(super) place: Range<usize>,
    message: String,
    help: Option<String>,
    /// A name to write there instead.
    rename: Option<String>,
}

impl Mistake {
    /// `template-syntax`.
    pub(super) fn syntax(place: Range<usize>, message: impl Into<String>) -> Self {
        Self { code: Code::TemplateSyntax, place, message: message.into(), help: None, rename: None }
    }

    /// `unknown-filter`.
    pub(super) fn unknown(place: Range<usize>, message: impl Into<String>) -> Self {
        Self { code: Code::UnknownFilter, place, message: message.into(), help: None, rename: None }
    }

    /// The finding in one line.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Adds the remedy.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the remedy, if there is one.
    pub(super) fn help_maybe(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Suggests `near` in its place.
    pub(super) fn meant(mut self, near: Option<Near<'_>>) -> Self {
        self.help = near.map(Near::question).or(self.help);
        self.rename = near.filter(|near| near.is_only).map(|near| near.name.to_owned());
        self
    }
}

/// Reports mistakes at the author's bytes.
pub(super) fn report(mistakes: Vec<Mistake>, map: &SourceMap, report: &mut Report) {
    for mistake in mistakes {
        let (span, length) = (map.span(mistake.place.clone()), mistake.place.len());
        let mut found = Diagnostic::new(mistake.code, &report.path, span, mistake.message).help_maybe(mistake.help);
        // If escapes changed the text, the bytes of a name in it are unknown.
        if let Some(name) = mistake.rename.filter(|_| span.range().len() == length && !matches!(map, SourceMap::Whole(_))) {
            found = found.rename(span, &name);
        }
        report.push(found);
    }
}
