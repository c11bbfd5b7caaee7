//! Renders a finding for a terminal: at most about ten lines, one for each related place (`docs/reference/cli.md`).
//!
//! In: any miette diagnostic. Out: styled text; the stream strips the styles if it shows none.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};
use miette::{Diagnostic, LabeledSpan, ReportHandler, Severity, SourceCode};

use super::{
    Checked, display_width, printable,
    text::{excerpt, fold},
};
use crate::terminal::{BOLD, QUIET, Width};

/// Lines for places elsewhere; the rest is counted.
const PLACES: usize = 5;
/// Of these, lines for places off the path, if there is a path.
const BESIDE: usize = 2;
/// Columns between a place and its description, and before both.
const MARGIN: usize = 7;
/// Width below which a description is written below its place.
const MIN_SEEN_COLUMNS: usize = 20;
/// The text after the mark if a path follows without another remark.
const PATH_FOLLOWS: &str = "on this path:";

/// Draws the diagnostics of one graph.
#[derive(Debug)]
struct Layout {
    width: Width,
    /// The prefix of the graph's paths: the place of findings that have no other.
    graph: String,
}

/// The findings of these graphs, a blank line after each.
pub(crate) fn human(graphs: &[Checked], width: Width) -> String {
    human_up_to(graphs, width, usize::MAX)
}

/// The first `limit` findings of these graphs, and how many more there are.
pub(crate) fn human_up_to(graphs: &[Checked], width: Width, limit: usize) -> String {
    let mut out = String::new();
    let mut left = limit;
    for graph in graphs {
        let sources = graph.sources();
        let layout = Layout { width, graph: graph.shown_below.clone() };
        for diagnostic in graph.diagnostics.iter().take(left) {
            let _ = writeln!(out, "{}", Drawn(&layout, &sources.finding(diagnostic)));
        }
        left = left.saturating_sub(graph.diagnostics.len());
    }
    out + &hidden(graphs, limit)
}

/// The number of findings that are not shown, if any.
pub(super) fn hidden(graphs: &[Checked], limit: usize) -> String {
    match graphs.iter().map(|graph| graph.diagnostics.len()).sum::<usize>().saturating_sub(limit) {
        0 => String::new(),
        hidden => format!("{QUIET}… and {hidden} more; `--limit 0` shows all, and so does `--format json`{QUIET:#}\n\n"),
    }
}

/// A diagnostic as a handler draws it.
pub(super) struct Drawn<'d, H>(pub(super) &'d H, pub(super) &'d dyn Diagnostic);

impl<H: ReportHandler> fmt::Display for Drawn<'_, H> {
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
        let message = self.folded(&error.to_string(), 2, display_width(word) + display_width(&code));
        writeln!(f, "{style}{word}{code}{style:#}{BOLD}: {}{BOLD:#}", message.join("\n  "))?;
        let places = Elsewhere::of(error);
        self.excerpt(error, style, places.iter().any(|place| place.is_step), f)?;
        self.elsewhere(&places, f)?;
        if let Some(help) = error.help() {
            let help = help.to_string();
            let lines = help.lines().flat_map(|line| self.folded(line, 6, 0)).collect::<Vec<_>>();
            let style = AnsiColor::Green.on_default().bold();
            writeln!(f, "{style}help{style:#}: {}", lines.join("\n      "))?;
        }
        Ok(())
    }
}

impl Layout {
    /// Wraps an escaped text into lines that fit after `indent` columns, the first after `used` more.
    fn folded(&self, text: &str, indent: usize, used: usize) -> Vec<String> {
        let text = printable(text);
        if !self.width.folds {
            return vec![text.into_owned()];
        }
        fold(&text, self.width.columns.saturating_sub(indent).max(MIN_SEEN_COLUMNS / 2), used)
    }

    /// The place, its line, and a mark below it.
    fn excerpt(&self, error: &dyn Diagnostic, style: Style, has_path: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((source, label)) = error.source_code().zip(error.labels().and_then(|mut labels| labels.next())) else {
            return if self.graph.is_empty() { Ok(()) } else { writeln!(f, "  {QUIET}{}{QUIET:#}", printable(&self.graph)) };
        };
        let Ok(contents) = source.read_span(label.inner(), 0, 0) else { return Ok(()) };
        let place = format!("{}:{}:{}", name(&*contents), contents.line() + 1, contents.column() + 1);
        writeln!(f, "  {QUIET}{}{QUIET:#}", self.folded(&place, 2, 0).join("\n  "))?;
        let note = label.label().or(has_path.then_some(PATH_FOLLOWS));
        let data = String::from_utf8_lossy(contents.data());
        let line = data.lines().next().unwrap_or_default();
        if line.trim().is_empty() {
            return match note {
                Some(note) => writeln!(f, "    {style}{}{style:#}", self.folded(note, 4, 0).join("\n    ")),
                None => Ok(()),
            };
        }
        let number = format!("{:>2}", contents.line() + 1);
        let gutter = " ".repeat(number.len());
        let room = self.width.columns.saturating_sub(number.len() + 4).max(MIN_SEEN_COLUMNS);
        let start = label.offset().saturating_sub(contents.span().offset());
        let shown = excerpt(line, start..start.saturating_add(label.len()), room);
        writeln!(f, "{QUIET}{number} |{QUIET:#} {}", shown.line)?;
        let mark = "^".repeat(shown.width);
        write!(f, "{gutter} {QUIET}|{QUIET:#} {:before$}{style}{mark}{style:#}", "", before = shown.before)?;
        let Some(note) = note else { return writeln!(f) };
        let used = shown.before + shown.width + 1;
        if !self.width.folds || used + display_width(note) <= room {
            return writeln!(f, "{style} {}{style:#}", printable(note));
        }
        writeln!(f)?;
        for line in self.folded(note, number.len() + 3, 0) {
            writeln!(f, "{gutter} {QUIET}|{QUIET:#} {style}{line}{style:#}")?;
        }
        Ok(())
    }

    /// Writes a line for each related place: the steps of a path by number, then the others.
    fn elsewhere(&self, places: &[Elsewhere], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (steps, others): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.is_step);
        let beside = if steps.is_empty() { PLACES } else { BESIDE };
        let room = PLACES - others.len().min(beside).min(PLACES);
        let (first, last) = if steps.len() <= room { (steps.len(), 0) } else { (room / 2, room - room / 2 - 1) };
        let from = steps.len() - last;
        let is_shown = |at: &usize| *at < first || *at >= from;
        let lines = steps.iter().chain(others.iter().take(beside)).map(|place| display_width(&place.place));
        let column = lines.enumerate().filter(|(at, _)| is_shown(at) || *at >= steps.len()).map(|(_, width)| width).max().unwrap_or(0);
        for (at, step) in steps.iter().enumerate() {
            if is_shown(&at) {
                self.line(&format!("{:>3}", at + 1), step, column, f)?;
            } else if at == first {
                writeln!(f, "  ·  {QUIET}… {} more hops{QUIET:#}", from - first)?;
            }
        }
        for other in others.iter().take(beside) {
            self.line("  ·", other, column, f)?;
        }
        if others.len() > beside {
            writeln!(f, "  ·  {QUIET}and {} more{QUIET:#}", others.len() - beside)?;
        }
        Ok(())
    }

    fn line(&self, mark: &str, place: &Elsewhere, column: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = column + MARGIN;
        if self.width.folds && self.width.columns < indent + MIN_SEEN_COLUMNS {
            let at = self.folded(&place.place, MARGIN - 2, 0).join("\n     ");
            let message = self.folded(&place.message, MARGIN, 0).join("\n       ");
            return writeln!(f, "{mark}  {QUIET}{at}{QUIET:#}\n       {message}");
        }
        let gap = column.saturating_sub(display_width(&place.place));
        let message = self.folded(&place.message, indent, 0).join(&format!("\n{:indent$}", ""));
        writeln!(f, "{mark}  {QUIET}{}{QUIET:#}{:gap$}  {message}", place.place, "")
    }
}

/// A place elsewhere.
struct Elsewhere {
    place: String,
    message: String,
    is_step: bool,
}

impl Elsewhere {
    /// Returns the secondary labels of a diagnostic, then the related ones: the steps of a path have a code.
    fn of(error: &dyn Diagnostic) -> Vec<Self> {
        let labels = error.labels().into_iter().flatten().skip(1);
        let own = labels.filter_map(|label| Self::at(error.source_code()?, &label, label.label().unwrap_or_default(), false));
        let related = error.related().into_iter().flatten();
        let hops = related.filter_map(|hop| Self::at(hop.source_code()?, &hop.labels()?.next()?, &hop.to_string(), hop.code().is_some()));
        own.chain(hops).collect()
    }

    fn at(source: &dyn SourceCode, label: &LabeledSpan, message: &str, is_step: bool) -> Option<Self> {
        let contents = source.read_span(label.inner(), 0, 0).ok()?;
        let place = format!("{}:{}:{}", name(&*contents), contents.line() + 1, contents.column() + 1);
        Some(Self { place, message: printable(message).into_owned(), is_step })
    }
}

fn name(contents: &dyn miette::SpanContents<'_>) -> String {
    printable(contents.name().unwrap_or_default()).into_owned()
}
