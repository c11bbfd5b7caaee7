//! Findings and how they are shown: as people read them, through a handler of miette's or one of ours, as JSON and SARIF, and as annotations of a
//! workflow.
//!
//! In: [`Checked`] graphs. Out: text.

mod github;
mod graphical;
mod json;
mod layout;
mod sarif;
mod text;

use std::sync::Arc;

use anstyle::AnsiColor;
use trellis_core::{Diagnostic, Document, compile::UncheckedRead, diagnostic::Severity, miette::Sources};
use trellis_project::wire::Places;

pub(crate) use github::github;
pub(crate) use graphical::graphical;
pub(crate) use json::{diagnostics, json, json_line, value};
pub(crate) use layout::{human, human_up_to};
pub(crate) use sarif::sarif;
pub(crate) use text::{display_width, printable};

/// One graph that was checked.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The prefix of its paths for people, such as `graphs/tour/`.
    pub(crate) shown_below: String,
    /// The prefix of its paths in JSON: empty, or its folder below the collection, such as `tour/`.
    pub(crate) below: String,
    /// Its files.
    pub(crate) documents: Vec<Arc<Document>>,
    /// The findings, sorted.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The number of its nodes.
    pub(crate) nodes: usize,
    /// The unchecked reads.
    pub(crate) unchecked: Vec<UncheckedRead>,
}

impl Checked {
    /// The places that its findings point to, below a folder.
    fn places<'c>(&'c self, below: &'c str) -> Places<'c> {
        Places::new(&self.documents, below)
    }

    /// The texts that its findings point into, for people.
    fn sources(&self) -> Sources {
        Sources::new(&self.documents).below(&*self.shown_below)
    }
}

/// The result of a check, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) nodes: usize,
    pub(crate) unchecked: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) infos: usize,
}

impl Summary {
    /// The numbers of these graphs.
    pub(crate) fn of(graphs: &[Checked]) -> Self {
        let nodes = graphs.iter().map(|graph| graph.nodes).sum();
        let unchecked = graphs.iter().map(|graph| graph.unchecked.len()).sum();
        let mut summary = Self { nodes, unchecked, ..Self::default() };
        for diagnostic in graphs.iter().flat_map(|graph| &graph.diagnostics) {
            match diagnostic.severity {
                Severity::Error => summary.errors += 1,
                Severity::Warning => summary.warnings += 1,
                Severity::Info => summary.infos += 1,
            }
        }
        summary
    }

    /// One line, as `3 errors, 1 warning in 12 nodes`.
    pub(crate) fn line(self) -> String {
        let found = [(self.errors, "error"), (self.warnings, "warning"), (self.infos, "note")];
        let found = found.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect::<Vec<_>>();
        let nodes = counted(self.nodes, "node");
        if found.is_empty() { format!("{nodes}, no problems") } else { format!("{} in {nodes}", found.join(", ")) }
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// An error that is no finding, as people read it: what it is, then what it comes from or what to do, line by line.
pub(crate) fn failure(error: &anyhow::Error) -> String {
    let mut lines = error.chain().map(ToString::to_string).collect::<Vec<_>>();
    // A cause that its error quotes is not repeated.
    lines.dedup_by(|cause, error| error.ends_with(cause.as_str()));
    trouble(&lines.join("\n"))
}

/// Renders an error, with one line for each of its lines.
pub(crate) fn trouble(text: &str) -> String {
    let style = AnsiColor::Red.on_default().bold();
    let text = text.lines().map(|line| printable(line).into_owned()).collect::<Vec<_>>().join("\n  ");
    format!("{style}error{style:#}: {text}\n")
}

/// The first paragraph of a page in one line.
pub(crate) fn title(page: &str) -> String {
    let paragraphs = page.split("\n\n").map(str::trim);
    let first = paragraphs.into_iter().find(|paragraph| !paragraph.is_empty() && !paragraph.starts_with('#'));
    first.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
