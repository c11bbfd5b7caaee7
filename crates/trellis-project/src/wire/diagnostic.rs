//! A finding, as `check --format json` prints it.

use serde::{Deserialize, Serialize};
use trellis_core::{diagnostic, span};

use super::Places;

/// A finding, as `check --format json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "diagnostic"))]
#[non_exhaustive]
pub struct Diagnostic {
    /// A stable code.
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// One short line that can be read alone.
    pub message: String,
    /// The file, below the root of the graph; null for a finding about the whole graph.
    pub path: Option<String>,
    /// The bytes of the file; null for a finding about the whole graph.
    pub span: Option<Span>,
    /// Line, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub column: Option<usize>,
    /// Line of the end, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub end_line: Option<usize>,
    /// Column of the end, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub end_column: Option<usize>,
    /// Other places.
    pub labels: Vec<Label>,
    /// The remedy, or null.
    pub help: Option<String>,
    /// A safe change, or null.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A finding in a graph with these places.
    pub fn new(found: &diagnostic::Diagnostic, places: &Places<'_>) -> Self {
        let region = found.place.as_ref().map(|place| places.region(place));
        let (start, end) = (region.map(|region| region.start), region.map(|region| region.end));
        Self {
            code: found.code.as_str().to_owned(),
            severity: found.severity.into(),
            message: found.message.clone(),
            path: found.place.as_ref().map(|place| places.path(place)),
            span: found.place.as_ref().map(|place| place.span.into()),
            line: start.map(|at| at.line),
            column: start.map(|at| at.column),
            end_line: end.map(|at| at.line),
            end_column: end.map(|at| at.column),
            labels: found.labels.iter().map(|label| Label::new(label, places)).collect(),
            help: found.help.clone(),
            fix: found.fix.as_ref().map(|fix| Fix::new(fix, places)),
        }
    }
}

/// Severities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "severity"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// There is no program.
    Error,
    /// The program runs, the author should look.
    Warning,
    /// Worth knowing.
    Info,
}

impl From<diagnostic::Severity> for Severity {
    fn from(severity: diagnostic::Severity) -> Self {
        match severity {
            diagnostic::Severity::Error => Self::Error,
            diagnostic::Severity::Warning => Self::Warning,
            diagnostic::Severity::Info => Self::Info,
        }
    }
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "span"))]
#[non_exhaustive]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl From<span::Span> for Span {
    fn from(span: span::Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}

/// A note at another place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "label"))]
#[non_exhaustive]
pub struct Label {
    /// The note.
    pub message: String,
    /// The file, below the root of the graph.
    pub path: String,
    /// The bytes of the file.
    pub span: Span,
    /// Line, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub line: usize,
    /// Column in characters, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub column: usize,
}

impl Label {
    fn new(label: &diagnostic::Label, places: &Places<'_>) -> Self {
        let span::LineColumn { line, column } = places.region(&label.place).start;
        Self { message: label.message.clone(), path: places.path(&label.place), span: label.place.span.into(), line, column }
    }
}

/// A safe change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "fix"))]
#[non_exhaustive]
pub struct Fix {
    /// The change, as a command: "rename to `receipt`".
    pub title: String,
    /// The replacements, which do not overlap.
    pub edits: Vec<TextEdit>,
}

impl Fix {
    fn new(fix: &diagnostic::Fix, places: &Places<'_>) -> Self {
        let edit = |edit: &diagnostic::TextEdit| TextEdit {
            path: places.path(&edit.place),
            span: edit.place.span.into(),
            text: edit.text.clone(),
        };
        Self { title: fix.title.clone(), edits: fix.edits.iter().map(edit).collect() }
    }
}

/// A replacement in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "edit"))]
#[non_exhaustive]
pub struct TextEdit {
    /// The file, below the root of the graph.
    pub path: String,
    /// The bytes that are replaced.
    pub span: Span,
    /// The replacement text.
    pub text: String,
}
