//! `check --format json`: one object, the same bytes on every run (`docs/reference/cli.md`).

use serde::Serialize;
use trellis_core::{
    Code, Diagnostic,
    diagnostic::{Severity, TextEdit},
    span::{LineColumn, Span},
};

use super::{Checked, Summary, places::Places};

#[derive(Serialize)]
struct Wire<'c> {
    diagnostics: Vec<WireDiagnostic<'c>>,
    summary: WireSummary,
}

#[derive(Serialize)]
struct WireDiagnostic<'c> {
    code: Code,
    severity: Severity,
    message: &'c str,
    path: Option<String>,
    span: Option<Span>,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    labels: Vec<WireLabel<'c>>,
    help: Option<&'c str>,
    fix: Option<WireFix<'c>>,
}

#[derive(Serialize)]
struct WireLabel<'c> {
    message: &'c str,
    path: String,
    span: Span,
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct WireFix<'c> {
    title: &'c str,
    edits: Vec<WireEdit<'c>>,
}

#[derive(Serialize)]
struct WireEdit<'c> {
    path: String,
    span: Span,
    text: &'c str,
}

#[derive(Serialize)]
struct WireSummary {
    nodes: usize,
    unchecked: usize,
    errors: usize,
    warnings: usize,
}

/// What a check that stays open adds to the findings.
#[derive(Serialize)]
pub(crate) struct News<'n> {
    /// The files that were saved since the last report.
    pub(crate) changed: &'n [String],
    /// What could not be read, and why.
    pub(crate) problems: &'n [String],
}

#[derive(Serialize)]
struct WireNews<'c> {
    #[serde(flatten)]
    wire: Wire<'c>,
    #[serde(flatten)]
    news: News<'c>,
}

/// The findings of these graphs as one JSON object, ended by a newline.
pub(crate) fn json(graphs: &[Checked]) -> String {
    serde_json::to_string_pretty(&wire(graphs)).unwrap_or_else(|_| unreachable!("names and numbers are always JSON")) + "\n"
}

/// The same on one line, with what is new.
pub(crate) fn json_line<'c>(graphs: &'c [Checked], news: News<'c>) -> String {
    let wire = WireNews { wire: wire(graphs), news };
    serde_json::to_string(&wire).unwrap_or_else(|_| unreachable!("names and numbers are always JSON")) + "\n"
}

/// The list of findings alone.
pub(crate) fn diagnostics(graphs: &[Checked]) -> serde_json::Value {
    serde_json::to_value(wire(graphs).diagnostics).unwrap_or_else(|_| unreachable!("names and numbers are always JSON"))
}

fn wire(graphs: &[Checked]) -> Wire<'_> {
    let mut diagnostics = graphs.iter().flat_map(graph).collect::<Vec<_>>();
    diagnostics.sort_by(|a, b| (&a.path, a.span, a.code, a.message).cmp(&(&b.path, b.span, b.code, b.message)));
    let Summary { nodes, unchecked, errors, warnings, .. } = Summary::of(graphs);
    Wire { diagnostics, summary: WireSummary { nodes, unchecked, errors, warnings } }
}

fn graph(graph: &Checked) -> Vec<WireDiagnostic<'_>> {
    let places = Places::new(graph, &graph.below);
    graph.diagnostics.iter().map(|found| diagnostic(found, &places)).collect()
}

fn diagnostic<'c>(found: &'c Diagnostic, places: &Places<'_>) -> WireDiagnostic<'c> {
    let region = found.place.as_ref().map(|place| places.region(place));
    let (start, end) = (region.map(|region| region.start), region.map(|region| region.end));
    let labels = found.labels.iter().map(|label| {
        let LineColumn { line, column } = places.region(&label.place).start;
        WireLabel { message: &label.message, path: places.path(&label.place), span: label.place.span, line, column }
    });
    let edit = |edit: &'c TextEdit| WireEdit { path: places.path(&edit.place), span: edit.place.span, text: &edit.text };
    WireDiagnostic {
        code: found.code,
        severity: found.severity,
        message: &found.message,
        path: found.place.as_ref().map(|place| places.path(place)),
        span: found.place.as_ref().map(|place| place.span),
        line: start.map(|at| at.line),
        column: start.map(|at| at.column),
        end_line: end.map(|at| at.line),
        end_column: end.map(|at| at.column),
        labels: labels.collect(),
        help: found.help.as_deref(),
        fix: found.fix.as_ref().map(|fix| WireFix { title: &fix.title, edits: fix.edits.iter().map(edit).collect() }),
    }
}
