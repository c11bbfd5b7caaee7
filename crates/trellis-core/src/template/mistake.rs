//! A mistake in a template, by its bytes in the text; it becomes a diagnostic at the author's bytes.

use std::ops::Range;

use crate::{
    diagnostic::{Code, Report},
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
}

impl Mistake {
    /// `template-syntax`.
    pub(super) fn syntax(place: Range<usize>, message: impl Into<String>) -> Self {
        Self { code: Code::TemplateSyntax, place, message: message.into(), help: None }
    }

    /// `unknown-filter`.
    pub(super) fn unknown(place: Range<usize>, message: impl Into<String>) -> Self {
        Self { code: Code::UnknownFilter, place, message: message.into(), help: None }
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
}

/// Reports mistakes at the author's bytes.
pub(super) fn report(mistakes: Vec<Mistake>, map: &SourceMap, report: &mut Report) {
    for mistake in mistakes {
        report.add(mistake.code, map.span(mistake.place), mistake.message).help = mistake.help;
    }
}
