//! What can be typed after `trellis`. Each command's own arguments stand with the command.

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    Exit,
    commands::{Check, Completions, Explain, Fmt, Graph, Man, New, Run, Schema, Session},
};

/// Runs, checks and draws graphs of Markdown files.
///
/// A graph is a folder of Markdown files: each file is a node, its frontmatter says where it leads, its body is what it says.
#[derive(Debug, Parser)]
#[command(name = "trellis", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trellis new hello                   make a graph to begin with
  trellis run graphs/tour             walk a graph
  trellis check                       prove that the graphs here make sense
  trellis explain unknown-target      what a code means, and how to mend it
  trellis session ls                  sessions that were kept
  trellis graph --format dot | dot -Tsvg > graph.svg

Exit codes: 0 fine; 1 the graph or the flow failed;
2 wrong usage, or the host failed; 130 interrupted; 141 nobody reads the output any more.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Check(Check),
    Explain(Explain),
    Graph(Graph),
    Session(Session),
    New(New),
    Fmt(Fmt),
    Schema(Schema),
    Completions(Completions),
    Man(Man),
}

impl Args {
    /// Carries out what was typed.
    ///
    /// # Errors
    /// The usage is wrong, or the world is: nothing about a graph.
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Run(run) => run.run(),
            Command::Check(check) => check.run(),
            Command::Explain(explain) => explain.run(),
            Command::Graph(graph) => graph.run(),
            Command::Session(session) => session.run(),
            Command::New(new) => new.run(),
            Command::Fmt(fmt) => fmt.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(Self::command()),
            Command::Man(man) => man.run(Self::command()),
        }
    }
}
