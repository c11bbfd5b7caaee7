//! `trellis graph [PATH]`: the graph as a diagram, with every way that the engine can take.

use std::path::PathBuf;

use clap::ValueEnum;
use trellis_core::draw;

use crate::{
    Exit,
    open::{self, DEFAULT_PATH},
    report,
    terminal::{self, Width},
};

/// Draws a graph, with every way that can be taken
///
/// Ways of errors, denials, signals, timeouts, retries and rollbacks are dotted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis graph graphs/tour > tour.mmd
  trellis graph graphs/tour --format dot | dot -Tsvg > tour.svg
  trellis graph graphs/tour --format json | jq '.edges[] | select(.outcome == \"error\")'")]
pub(crate) struct Graph {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Mermaid)]
    format: Format,
}

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A Mermaid flowchart
    Mermaid,
    /// Graphviz
    Dot,
    /// Nodes and edges, with their places in the files
    Json,
}

impl Graph {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let opened = open::only(self.path.as_deref(), "graph")?.open()?;
        let Some(program) = &opened.compiled.program else {
            let exit = if opened.is_whole() { Exit::Failed } else { Exit::Usage };
            terminal::print_error(&report::human(&[opened.into_checked()], Width::of(&std::io::stderr())));
            return Ok(exit);
        };
        let format = match self.format {
            Format::Mermaid => draw::Format::Mermaid,
            Format::Dot => draw::Format::Dot,
            Format::Json => draw::Format::Json,
        };
        terminal::print(&draw::draw(program, format))?;
        Ok(Exit::Fine)
    }
}
