//! `trellis graph [PATH]`: the graph as a diagram, with every transition that the engine can take.

use std::{collections::BTreeSet, io::IsTerminal, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use trellis_core::{
    Program,
    draw::{self, Drawing, PathStep, layout::LayoutSettings},
};
use trellis_host::{
    assembly::StoreSettings,
    history::{History, hops},
};

use super::session::named;
use crate::{
    Exit,
    open::{self, DEFAULT_PATH},
    report,
    store_config::StoreArgs,
    terminal::{self, Width},
};

/// Draws a graph, with every edge that can be taken
///
/// Edges of errors, denials, signals, timeouts, retries and rollbacks are dotted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis graph graphs/tour           draw it in the terminal
  trellis graph graphs/tour --main    only the flow on which nothing fails
  trellis graph graphs/tour --format mermaid > tour.mmd
  trellis graph graphs/tour --format svg > tour.svg
  trellis graph graphs/tour --format svg --collapsed tools,undo > tour.svg
  trellis graph graphs/tour --format dot | dot -Tsvg > tour.svg
  trellis graph graphs/tour --session run-19f    with the path of a session, in order and with counts
  trellis graph graphs/tour --format json | jq '.edges[] | select(.outcome == \"error\")'")]
pub(crate) struct Graph {
    #[arg(value_name = "PATH", help = DEFAULT_PATH)]
    path: Option<PathBuf>,
    /// The format of the drawing [default: text on a terminal, else mermaid]
    #[arg(long, value_enum)]
    format: Option<DrawingFormat>,
    /// Leave out what happens at errors, denials, signals, timeouts and retries
    #[arg(long)]
    main: bool,
    /// Modules that are one box each, with commas between; without it, all of them in a picture of more than 400 nodes
    #[arg(long, value_name = "MODULE,…", value_delimiter = ',')]
    collapsed: Option<Vec<String>>,
    /// Modules that are not collapsed all the same, with commas between
    #[arg(long, value_name = "MODULE,…", value_delimiter = ',')]
    expanded: Vec<String>,
    /// Draw the path of this stored session over the graph
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// The formats in which a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DrawingFormat {
    /// Boxes and lines in characters
    Text,
    /// A Mermaid flowchart
    Mermaid,
    /// Graphviz
    Dot,
    /// Nodes and edges, with their places in the files
    Json,
    /// A picture
    Svg,
}

/// The history of a stored session.
fn walked(keep: &StoreSettings, session: &str) -> anyhow::Result<History> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("the host cannot start")?;
    runtime.block_on(async {
        let store = keep.open_to_look().await?.store;
        Ok(History::open(&*store, &named(&*store, session).await?).await?)
    })
}

impl Graph {
    /// Returns whether somebody chose which modules are one box each.
    fn has_choice(&self) -> bool {
        self.collapsed.is_some() || !self.expanded.is_empty()
    }

    /// Draws a program, with the path of a session over it where there is one; and which spots of the path the program does not have any more.
    fn draw(&self, program: &Program, hops: Option<&[PathStep]>) -> (String, Vec<String>) {
        let drawing = Drawing::new(program);
        let drawing = if self.main { drawing.main_flow() } else { drawing };
        let path = hops.map(|hops| draw::Path::new(&drawing, hops));
        if self.has_choice() {
            let chosen = self.collapsed.as_ref().map(|named| named.iter().cloned().collect());
            let mut collapsed: BTreeSet<String> = chosen.unwrap_or_else(|| LayoutSettings::for_drawing(&drawing).collapsed);
            collapsed.retain(|module| !self.expanded.contains(module));
            let picture = draw::picture_collapsed(&drawing, path.as_ref(), collapsed);
            return (picture, path.map(|path| path.gone).unwrap_or_default());
        }
        let text = match self.format() {
            DrawingFormat::Text => draw::text(&drawing, path.as_ref(), terminal::width()),
            DrawingFormat::Mermaid => draw::spell(&drawing, path.as_ref(), draw::Format::Mermaid),
            DrawingFormat::Dot => draw::spell(&drawing, path.as_ref(), draw::Format::Dot),
            DrawingFormat::Json => draw::spell(&drawing, path.as_ref(), draw::Format::Json),
            DrawingFormat::Svg => draw::spell(&drawing, path.as_ref(), draw::Format::Svg),
        };
        (text, path.map(|path| path.gone).unwrap_or_default())
    }

    /// A terminal shows characters; a program that reads them knows Mermaid.
    fn format(&self) -> DrawingFormat {
        let default = if std::io::stdout().is_terminal() { DrawingFormat::Text } else { DrawingFormat::Mermaid };
        self.format.unwrap_or(default)
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.has_choice() && self.format != Some(DrawingFormat::Svg) {
            bail!("`--collapsed` and `--expanded` are about pictures\nadd `--format svg`");
        }
        let place = open::only(self.path.as_deref(), "graph")?;
        let opened = place.open()?;
        let Some(program) = &opened.compiled.program else {
            let exit = if opened.is_whole() { Exit::Failed } else { Exit::Usage };
            terminal::print_error(&report::human(&[opened.into_checked()], Width::of(&std::io::stderr())));
            return Ok(exit);
        };
        let Some(session) = &self.session else {
            terminal::print(&self.draw(program, None).0)?;
            return Ok(Exit::Fine);
        };
        let history = walked(&self.store.of(&place, opened.project.documents()), session)?;
        let (text, gone) = self.draw(program, Some(&hops(program, &history)));
        terminal::print(&text)?;
        if !gone.is_empty() {
            let gone = gone.iter().map(|gone| format!("`{}`", report::printable(gone))).collect::<Vec<_>>().join(", ");
            terminal::print_error(&format!("the graph does not have any more what the session passed: {gone}\n"));
        }
        for flaw in &history.flaws {
            let (first, last) = (flaw.seq, flaw.until - 1);
            let message = match flaw.is_pruned {
                true => format!("records before {} were taken out: the path is drawn and numbered from there\n", flaw.until),
                false => {
                    format!("records {first} to {last} are missing, and so is that part of the path: {}\n", report::printable(&flaw.why))
                }
            };
            terminal::print_error(&message);
        }
        Ok(Exit::Fine)
    }
}
