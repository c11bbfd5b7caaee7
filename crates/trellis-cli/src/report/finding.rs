//! A core diagnostic in miette's terms: its own place is the primary label, places elsewhere are related diagnostics with their own source.

use std::fmt;

use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use trellis_core::{
    Diagnostic,
    diagnostic::{Label, Place, Severity},
    span::{LineIndex, Span},
};

use super::Files;

/// The code of a place that is a step of the way on which a finding comes about.
pub(super) const STEP: &str = "step";

/// One finding.
#[derive(Debug)]
pub(super) struct Finding<'f> {
    diagnostic: &'f Diagnostic,
    spot: Option<Spot<'f>>,
    /// What is to be seen at the finding's own place.
    note: Option<&'f str>,
    hops: Vec<Hop<'f>>,
}

/// A note at another place.
#[derive(Debug)]
struct Hop<'f> {
    message: &'f str,
    spot: Spot<'f>,
    is_step: bool,
}

/// A place with its file.
#[derive(Debug)]
struct Spot<'f> {
    span: Span,
    file: File<'f>,
}

#[derive(Debug)]
struct File<'f> {
    /// The path as people find it.
    name: String,
    lines: &'f LineIndex<'f>,
}

impl<'f> Finding<'f> {
    /// `diagnostic`, with `below` before its paths.
    pub(super) fn new(diagnostic: &'f Diagnostic, files: &'f Files<'f>, below: &str) -> Self {
        let spot = |place: &Place| {
            let file = File { name: format!("{below}{}", place.path), lines: files.lines(&place.path)? };
            Some(Spot { span: place.span, file })
        };
        let is_own = |label: &&Label| diagnostic.place.as_ref() == Some(&label.place);
        let note = diagnostic.labels.iter().find(is_own).map(|label| label.message.as_str());
        let others = diagnostic.labels.iter().filter(|label| !is_own(label));
        let hops =
            others.filter_map(|label| Some(Hop { message: &label.message, spot: spot(&label.place)?, is_step: label.is_step })).collect();
        Self { diagnostic, spot: diagnostic.place.as_ref().and_then(spot), note, hops }
    }
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Finding<'_> {}

impl miette::Diagnostic for Finding<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Info => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let title = self.diagnostic.fix.as_ref().map(|fix| &fix.title);
        let help = self.diagnostic.help.as_ref().or(title)?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.spot.as_ref().map(|spot| &spot.file as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let spot = self.spot.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(self.note.map(str::to_owned), spot.span.range()))))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.hops.iter().map(|hop| hop as &dyn miette::Diagnostic)))
    }
}

impl fmt::Display for Hop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for Hop<'_> {}

impl miette::Diagnostic for Hop<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        if self.is_step { Some(Box::new(STEP)) } else { None }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.spot.file)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(None, self.spot.span.range()))))
    }
}

impl SourceCode for File<'_> {
    /// The line in which `span` begins, whole; its line and column count from 0. Spans past the end mean the end.
    fn read_span<'a>(&'a self, span: &SourceSpan, _: usize, _: usize) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let start = u32::try_from(span.offset()).unwrap_or(u32::MAX);
        let at = self.lines.locate(start);
        let data = self.lines.line(at.line);
        let from = self.lines.start(at.line);
        let shown = SourceSpan::from((from, data.len()));
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), data.as_bytes(), shown, at.line - 1, at.column - 1, 1)))
    }
}
