//! `check --format github`: workflow commands, which GitHub shows beside the lines of the findings.

use std::fmt::Write as _;

use trellis_core::{
    Diagnostic,
    diagnostic::{Place, Severity},
};
use trellis_project::wire::{Places, Region};

use super::{Checked, Summary};

/// The findings of these graphs as workflow commands, a line each, and one line that counts them.
pub(crate) fn github(graphs: &[Checked]) -> String {
    let mut out = String::new();
    for graph in graphs {
        let places = graph.places(&graph.shown_below);
        for found in &graph.diagnostics {
            let _ = writeln!(out, "{}", command(found, &places, &graph.shown_below));
        }
    }
    let _ = writeln!(out, "{}", Summary::of(graphs).line());
    out
}

fn command(found: &Diagnostic, places: &Places<'_>, folder: &str) -> String {
    let word = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let mut properties = found.place.iter().map(|place| at(place, places)).collect::<String>();
    let _ = write!(properties, "title={}", property(found.code.as_str()));
    // Without a file an annotation stands at the run as a whole, where nobody sees which graph is meant.
    let folder = if found.place.is_none() && !folder.is_empty() { format!("{folder}: ") } else { String::new() };
    let mut text = format!("{folder}{}", found.message);
    for label in &found.labels {
        let start = places.region(&label.place).start;
        let _ = write!(text, "\n{}:{}:{}  {}", places.path(&label.place), start.line, start.column, label.message);
    }
    let help = found.help.as_ref().or(found.fix.as_ref().map(|fix| &fix.title));
    text.extend(help.map(|help| format!("\nhelp: {help}")));
    format!("::{word} {properties}::{}", message(&text))
}

fn at(place: &Place, places: &Places<'_>) -> String {
    let Region { start, end } = places.region(place);
    let path = property(&places.path(place));
    let lines = format!("file={path},line={},endLine={},col={}", start.line, end.line, start.column);
    // Columns are of one line.
    let last = if start.line == end.line { format!(",endColumn={}", end.column) } else { String::new() };
    format!("{lines}{last},")
}

/// Escapes the characters that a message may not contain.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the characters that the value of a property may not contain.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_command_or_a_property_is_escaped() {
        assert_eq!(message("50% of a:b, c\r\nd"), "50%25 of a:b, c%0D%0Ad");
        assert_eq!(property("a:b, 5%\n"), "a%3Ab%2C 5%25%0A");
    }
}
