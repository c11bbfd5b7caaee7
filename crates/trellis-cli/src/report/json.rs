//! `check --format json`: one object, the same bytes on every run (`docs/reference/cli.md`).

use serde::Serialize;
use trellis_project::wire::{self, Diagnostic, Report};

use super::{Checked, Summary};

/// The findings of these graphs as one JSON object, ended by a newline.
pub(crate) fn json(graphs: &[Checked]) -> String {
    serde_json::to_string_pretty(&report(graphs)).unwrap_or_else(|_| unreachable!("names and numbers are always JSON")) + "\n"
}

/// The findings on one line, with the files that were saved since the last report, and those that could not be read.
pub(crate) fn json_line(graphs: &[Checked], changed: &[String], problems: &[String]) -> String {
    let report = report(graphs).with_news(changed, problems);
    serde_json::to_string(&report).unwrap_or_else(|_| unreachable!("names and numbers are always JSON")) + "\n"
}

/// The list of findings alone.
pub(crate) fn diagnostics(graphs: &[Checked]) -> serde_json::Value {
    value(&found(graphs))
}

/// A line as a value.
pub(crate) fn value(line: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(line).unwrap_or_else(|_| unreachable!("names and numbers are always JSON"))
}

fn report(graphs: &[Checked]) -> Report {
    let Summary { nodes, unchecked, errors, warnings, .. } = Summary::of(graphs);
    Report::new(found(graphs), wire::Summary::new(nodes, unchecked, errors, warnings))
}

fn found(graphs: &[Checked]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for graph in graphs {
        let places = graph.places(&graph.below);
        let span = |found: &trellis_core::Diagnostic| found.place.as_ref().map(|place| place.span);
        found.extend(graph.diagnostics.iter().map(|one| (span(one), one.code, Diagnostic::new(one, &places))));
    }
    found.sort_by(|(span, code, a), (other_span, other_code, b)| {
        (&a.path, span, code, &a.message).cmp(&(&b.path, other_span, other_code, &b.message))
    });
    found.into_iter().map(|(.., found)| found).collect()
}
