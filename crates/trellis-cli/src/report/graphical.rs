//! `check --format graphical`: findings as miette's own handler draws them, with source excerpts.

use std::{borrow::Cow, fmt::Write as _};

use miette::{GraphicalReportHandler, GraphicalTheme, ThemeCharacters, ThemeStyles};
use trellis_core::Diagnostic;

use super::{
    Checked,
    layout::{Drawn, hidden},
};
use crate::terminal::{Look, Width};

/// The first `limit` findings of these graphs, a blank line after each, and how many more there are.
pub(crate) fn graphical(graphs: &[Checked], width: Width, look: Look, limit: usize) -> String {
    let handler = handler(width, look);
    let mut out = String::new();
    let mut left = limit;
    for graph in graphs {
        let sources = graph.sources();
        for diagnostic in graph.diagnostics.iter().take(left) {
            let named = named(diagnostic, &graph.shown_below);
            let drawn = Drawn(&handler, &sources.finding(&named)).to_string();
            // The handler fills some lines up with blanks.
            let lines = drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            let _ = writeln!(out, "{}\n", lines.trim_end());
        }
        left = left.saturating_sub(graph.diagnostics.len());
    }
    out + &hidden(graphs, limit)
}

/// A finding without a place, with the graph that it is about in its message: of several graphs nobody would know which one is meant.
fn named<'d>(diagnostic: &'d Diagnostic, below: &str) -> Cow<'d, Diagnostic> {
    if diagnostic.place.is_some() || below.is_empty() {
        return Cow::Borrowed(diagnostic);
    }
    let mut named = diagnostic.clone();
    named.message.insert_str(0, &format!("{below}: "));
    Cow::Owned(named)
}

fn handler(width: Width, look: Look) -> GraphicalReportHandler {
    let characters = if look.unicode { ThemeCharacters::unicode() } else { ThemeCharacters::ascii() };
    let styles = if look.styled { ThemeStyles::ansi() } else { ThemeStyles::none() };
    GraphicalReportHandler::new_themed(GraphicalTheme { characters, styles })
        .with_width(width.columns)
        .with_wrap_lines(width.folds)
        .with_links(look.styled)
        .with_show_related_as_nested(true)
}
