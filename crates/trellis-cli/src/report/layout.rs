//! How a finding looks on a terminal: at most about ten lines, one for each place elsewhere (design §8).
//!
//! In: any miette diagnostic. Out: styled text; the stream strips the styles where they are not wanted.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};
use miette::{Diagnostic, ReportHandler, Severity};

use super::{Checked, Files, display_width, finding::Finding, printable, text::excerpt};

/// Places elsewhere that are shown; the rest is counted.
const HOPS: usize = 5;
const QUIET: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Draws the diagnostics of one graph.
#[derive(Debug)]
struct Layout {
    /// Columns of the terminal.
    width: usize,
    /// What stands before the graph's paths: the place of what has no other.
    graph: String,
}

/// The findings of these graphs in so many columns, a blank line after each.
pub(crate) fn human(graphs: &[Checked], width: usize) -> String {
    let mut out = String::new();
    for graph in graphs {
        let files = Files::new(graph);
        let layout = Layout { width, graph: graph.shown_below.clone() };
        for diagnostic in &graph.diagnostics {
            let finding = Finding::new(diagnostic, &files, &graph.shown_below);
            let _ = writeln!(out, "{}", Drawn(&layout, &finding));
        }
    }
    out
}

/// A diagnostic through its layout.
struct Drawn<'d>(&'d Layout, &'d dyn Diagnostic);

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}

impl ReportHandler for Layout {
    fn debug(&self, error: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, style) = match error.severity() {
            Some(Severity::Advice) => ("info", AnsiColor::Cyan),
            Some(Severity::Warning) => ("warning", AnsiColor::Yellow),
            _ => ("error", AnsiColor::Red),
        };
        let style = style.on_default().bold();
        let code = error.code().map(|code| format!("[{code}]")).unwrap_or_default();
        writeln!(f, "{style}{word}{code}{style:#}{BOLD}: {}{BOLD:#}", printable(&error.to_string()))?;
        self.excerpt(error, style, f)?;
        hops(error, f)?;
        if let Some(help) = error.help() {
            let help = help.to_string();
            let mut lines = help.lines();
            let help = AnsiColor::Green.on_default().bold();
            writeln!(f, "{help}help{help:#}: {}", printable(lines.next().unwrap_or_default()))?;
            for line in lines {
                writeln!(f, "      {}", printable(line))?;
            }
        }
        Ok(())
    }
}

impl Layout {
    /// The place, its line, and a mark below it.
    fn excerpt(&self, error: &dyn Diagnostic, style: Style, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((source, label)) = error.source_code().zip(error.labels().and_then(|mut labels| labels.next())) else {
            return if self.graph.is_empty() { Ok(()) } else { writeln!(f, "  {QUIET}{}{QUIET:#}", printable(&self.graph)) };
        };
        let Ok(contents) = source.read_span(label.inner(), 0, 0) else { return Ok(()) };
        writeln!(f, "  {QUIET}{}:{}:{}{QUIET:#}", name(&*contents), contents.line() + 1, contents.column() + 1)?;
        let line = String::from_utf8_lossy(contents.data());
        if line.trim().is_empty() {
            return match label.label() {
                Some(note) => writeln!(f, "    {style}{}{style:#}", printable(note)),
                None => Ok(()),
            };
        }
        let number = format!("{:>2}", contents.line() + 1);
        let start = label.offset().saturating_sub(contents.span().offset());
        let shown = excerpt(&line, start..start.saturating_add(label.len()), self.width.saturating_sub(number.len() + 4).max(20));
        writeln!(f, "{QUIET}{number} |{QUIET:#} {}", shown.line)?;
        let gutter = " ".repeat(number.len());
        let mark = "^".repeat(shown.width);
        let note = label.label().map(|note| format!(" {}", printable(note))).unwrap_or_default();
        writeln!(f, "{gutter} {QUIET}|{QUIET:#} {:before$}{style}{mark}{note}{style:#}", "", before = shown.before)
    }
}

/// A line for each place elsewhere, messages below each other.
fn hops(error: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let hops = error.related().into_iter().flatten().filter_map(hop).collect::<Vec<_>>();
    let column = hops.iter().take(HOPS).map(|(place, _)| display_width(place)).max().unwrap_or(0);
    for (place, message) in hops.iter().take(HOPS) {
        let gap = column.saturating_sub(display_width(place));
        writeln!(f, "  ·  {QUIET}{place}{QUIET:#}{:gap$}  {message}", "")?;
    }
    if hops.len() > HOPS {
        writeln!(f, "  ·  {QUIET}and {} more{QUIET:#}", hops.len() - HOPS)?;
    }
    Ok(())
}

fn hop(hop: &dyn Diagnostic) -> Option<(String, String)> {
    let label = hop.labels()?.next()?;
    let contents = hop.source_code()?.read_span(label.inner(), 0, 0).ok()?;
    let place = format!("{}:{}:{}", name(&*contents), contents.line() + 1, contents.column() + 1);
    Some((place, printable(&hop.to_string()).into_owned()))
}

fn name(contents: &dyn miette::SpanContents<'_>) -> String {
    printable(contents.name().unwrap_or_default()).into_owned()
}
