//! A mistake in a template, by its bytes in the text; it becomes a diagnostic at the author's bytes.

use std::ops::Range;

use crate::{
    diagnostic::{Code, Diagnostic, Near, Report},
    span::SourceMap,
};

/// The remedy for braces that are no template.
pub const RAW: &str = "braces that are to be shown stand between `{% raw %}` and `{% endraw %}`";

/// Returns whether the braces around a place in a Markdown text are probably no template: `${{ … }}`, `{#id}`, or braces in code.
pub fn is_like_code(text: &str, at: usize) -> bool {
    let at = text.floor_char_boundary(at.min(text.len()));
    if text[at..].starts_with("{#") {
        return true;
    }
    let open = if text[at..].starts_with("{{") || text[at..].starts_with("{%") { Some(at) } else { text[..at].rfind(['{']) };
    let before = text[..open.unwrap_or(at)].trim_end_matches('{');
    let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
    let fences = above.lines().filter(|line| line.trim_start().starts_with("```")).count();
    before.ends_with('$') || fences % 2 == 1 || line.matches('`').count() % 2 == 1 || line.starts_with("    ")
}

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

    /// Adds how braces are shown as they are, where `text` looks as if they were meant so.
    pub(super) fn or_raw(mut self, text: &str) -> Self {
        if is_like_code(text, self.place.start) {
            self.help = Some(self.help.map_or_else(|| RAW.to_owned(), |help| format!("{help}; {RAW}")));
        }
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
