//! A finding as a diagnostic of miette, and its texts without characters that a terminal would obey (feature `miette`).

use std::fmt;

use miette::LabeledSpan;

use super::{Diagnostic, Severity};

/// Returns a text without characters that a terminal would obey, except for line breaks.
pub fn harmless(text: &str) -> String {
    text.chars().map(|char| if is_shown(char) || char == '\n' { char } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Returns whether a terminal shows a character, and neither obeys it nor changes the direction of the following text.
pub fn is_shown(char: char) -> bool {
    let turns = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    char == '\t' || !(char.is_control() || turns)
}

/// Returns the explanation of the place of a finding.
pub fn explanation(diagnostic: &Diagnostic) -> Option<String> {
    let own = diagnostic.labels.iter().find(|label| diagnostic.place.as_ref() == Some(&label.place) && !label.is_step)?;
    Some(harmless(&own.message))
}

fn severity(diagnostic: &Diagnostic) -> miette::Severity {
    match diagnostic.severity {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
        Severity::Info => miette::Severity::Advice,
    }
}

fn help(diagnostic: &Diagnostic) -> Option<Box<dyn fmt::Display + '_>> {
    let title = diagnostic.fix.as_ref().map(|fix| &fix.title);
    let help = diagnostic.help.as_ref().or(title)?;
    Some(Box::new(harmless(help)))
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&harmless(&self.message))
    }
}

impl std::error::Error for Diagnostic {}

/// Has no source text: a caller that has the file's text adds it by `Report::with_source_code`. `Sources` know all of a graph.
impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(severity(self))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        help(self)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let own = self.place.as_ref()?;
        let others = self.labels.iter().filter(move |label| label.place.path == own.path && label.place != *own);
        let others = others.map(|label| LabeledSpan::new_with_span(Some(harmless(&label.message)), label.place.span.range()));
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(explanation(self), own.span.range())).chain(others)))
    }
}
