//! Findings in the terms of [miette](https://docs.rs/miette), for hosts that print them with a handler of their own (feature `miette`).
//!
//! In: diagnostics, and the documents that they point into. Out: [`Finding`]s, which hold the texts that a handler shows.
//!
//! **Invariant:** nothing that an author wrote reaches a terminal as a command, and no excerpt of a long line is longer than `MAX_LINE_LENGTH` bytes on a side.

mod text;

use std::{collections::BTreeMap, fmt, sync::Arc};

use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use self::text::Text;
use trellis_base::{
    diagnostic::{Diagnostic, FilePath, Place, explanation, harmless},
    span::Span,
};
use trellis_syntax::document::Document;

/// Bytes that an excerpt shows of one long line before and behind its place; longer lines around it are left out.
const MAX_LINE_LENGTH: usize = 1000;
/// Lines of a long place that an excerpt shows.
const MAX_EXCERPT_LINES: usize = 12;

/// The texts that findings point into.
///
/// ```
/// use trellis_base::Dialect;
/// use trellis_compiler::compile;
/// use trellis_draw::miette::Sources;
/// use trellis_syntax::{Document, Source};
///
/// let documents = [Document::parse(&Source::text("start.md", "---\nto: nowhere\n---\n"), Dialect::default()).into()];
/// let sources = Sources::new(&documents);
/// for found in compile(&documents).diagnostics {
///     let report = miette::Report::new(sources.finding(&found));
///     assert_eq!(report.to_string(), "there is no node `nowhere`");
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sources {
    texts: BTreeMap<FilePath, Arc<Text>>,
    below: String,
    pages: Option<String>,
}

/// One diagnostic with the texts that it points into. Its own place is the primary label; other places in its file are labels too. The steps of a
/// path, in order, and places in other files are related diagnostics.
#[derive(Clone, Debug)]
pub struct Finding {
    diagnostic: Diagnostic,
    spot: Option<FileSpan>,
    labels: Vec<LabeledSpan>,
    hops: Vec<Note>,
    url: Option<String>,
}

/// A note at another place.
#[derive(Clone, Debug)]
struct Note {
    message: String,
    /// The number of the step on the path, from 1.
    step: Option<usize>,
    spot: FileSpan,
}

/// A place with its file.
#[derive(Clone, Debug)]
struct FileSpan {
    /// The path as people find it.
    name: String,
    span: Span,
    text: Arc<Text>,
}

impl Sources {
    /// The texts of a graph's documents.
    pub fn new<'d>(documents: impl IntoIterator<Item = &'d Arc<Document>>) -> Self {
        let texts = documents.into_iter().map(|document| (FilePath::clone(&document.path), Arc::new(Text::of(document))));
        Self { texts: texts.collect(), ..Self::default() }
    }

    /// Shows paths below a folder: `folder` precedes each of them, such as `graphs/tour/`.
    #[must_use]
    pub fn below(self, folder: impl Into<String>) -> Self {
        Self { below: folder.into(), ..self }
    }

    /// Links findings to a page of their code: `address` and the code, such as `https://example.org/codes/unknown-target`.
    /// [`Code::page`](super::Code::page) is the content of that page.
    #[must_use]
    pub fn pages(self, address: impl Into<String>) -> Self {
        Self { pages: Some(address.into()), ..self }
    }

    /// A diagnostic with the texts that it points into. A file that is not known has no text.
    pub fn finding(&self, diagnostic: &Diagnostic) -> Finding {
        let own = diagnostic.place.as_ref();
        let is_beside = |place: &Place| own.is_some_and(|own| own.path == place.path);
        let mut labels: Vec<LabeledSpan> = own.map(|own| self.spot(own).primary(explanation(diagnostic))).into_iter().collect();
        let (mut hops, mut steps) = (Vec::new(), 0);
        for label in diagnostic.labels.iter().filter(|label| Some(&label.place) != own || label.is_step) {
            let (message, spot) = (harmless(&label.message), self.spot(&label.place));
            steps += usize::from(label.is_step);
            match label.is_step {
                false if is_beside(&label.place) => labels.push(LabeledSpan::new_with_span(Some(message), spot.span.range())),
                is_step => hops.push(Note { message, step: is_step.then_some(steps), spot }),
            }
        }
        let url = self.pages.as_ref().map(|address| format!("{address}{}", diagnostic.code));
        Finding { diagnostic: diagnostic.clone(), spot: own.map(|own| self.spot(own)), labels, hops, url }
    }

    fn spot(&self, place: &Place) -> FileSpan {
        let text = self.texts.get(&place.path).cloned().unwrap_or_default();
        FileSpan { name: harmless(&format!("{}{}", self.below, place.path)), span: text.clip(place.span), text }
    }
}

impl Finding {
    /// The diagnostic itself.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.diagnostic
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl std::error::Error for Finding {}

impl miette::Diagnostic for Finding {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::code(&self.diagnostic)
    }

    fn severity(&self) -> Option<miette::Severity> {
        miette::Diagnostic::severity(&self.diagnostic)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::help(&self.diagnostic)
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.url.as_ref().map(|url| Box::new(url) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.spot.as_ref().map(|spot| spot as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() { None } else { Some(Box::new(self.labels.iter().cloned())) }
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.hops.is_empty() {
            return None;
        }
        Some(Box::new(self.hops.iter().map(|hop| hop as &dyn miette::Diagnostic)))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Note {}

impl miette::Diagnostic for Note {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.step.map(|step| Box::new(format!("step {step}")) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(miette::Severity::Advice)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.spot)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(self.spot.primary(None))))
    }
}

impl FileSpan {
    fn primary(&self, note: Option<String>) -> LabeledSpan {
        LabeledSpan::new_primary_with_span(note, self.span.range())
    }
}

impl SourceCode for FileSpan {
    /// Returns the lines of `span`, whole if they are not long, and the given numbers of lines around them. Without lines around it, the column is
    /// that of the span.
    fn read_span<'a>(&'a self, span: &SourceSpan, before: usize, after: usize) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let span = self.text.clip(Span::new(span.offset(), span.offset().saturating_add(span.len())));
        let excerpt = self.text.excerpt(span, before, after);
        let column = if before == 0 && after == 0 { excerpt.column - 1 } else { 0 };
        let shown = SourceSpan::from((excerpt.from, excerpt.text.len()));
        let (data, name) = (excerpt.text.as_bytes(), self.name.clone());
        Ok(Box::new(MietteSpanContents::new_named(name, data, shown, excerpt.line - 1, column, excerpt.lines)))
    }
}

#[cfg(test)]
mod tests;
