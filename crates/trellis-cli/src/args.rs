//! The commands of `trellis`. Each command declares its own arguments in its own file.

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    Exit,
    commands::{
        Check, Completions, Explain, Fmt, Graph, Lsp, Man, Mcp, Migrate, New, Rename, Run, Schema, Secret, Serve, Session, Test, UpArgs,
    },
};

/// Runs, checks and draws graphs of Markdown files.
///
/// A graph is a folder of Markdown files. Each file is a node: its frontmatter says where it leads, and its body is what it says.
#[derive(Debug, Parser)]
#[command(name = "trellis", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trellis new hello                   create a graph
  trellis run graphs/tour             run a graph
  trellis serve graphs/tour           serve a graph over HTTP
  trellis mcp graphs/tour             serve a graph to a model, over MCP
  trellis up graphs/orchestrator      chat with an agent
  trellis check                       check the graphs here for mistakes
  trellis test graphs/tour            play the tests of a graph
  trellis explain unknown-target      explain a code, and how to fix it
  trellis session ls                  list the stored sessions
  trellis secret set crm              store a secret for the tools of a graph
  trellis graph --format dot | dot -Tsvg > graph.svg

Exit codes: 0 success; 1 the graph has mistakes, or the session failed;
2 wrong usage, or the program failed; 130 interrupted; 141 standard output was closed.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Serve(Serve),
    Mcp(Mcp),
    Up(UpArgs),
    Check(Check),
    Test(Test),
    Explain(Explain),
    Graph(Graph),
    Session(Session),
    Secret(Secret),
    New(New),
    Fmt(Fmt),
    Migrate(Migrate),
    Schema(Schema),
    Lsp(Lsp),
    Rename(Rename),
    Completions(Completions),
    Man(Man),
}

impl Args {
    /// Runs the command.
    ///
    /// # Errors
    /// The usage is wrong, or the world is: nothing about a graph.
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Run(run) => run.run(),
            Command::Serve(serve) => serve.run(),
            Command::Mcp(mcp) => mcp.run(),
            Command::Up(up) => up.run(),
            Command::Check(check) => check.run(),
            Command::Explain(explain) => explain.run(),
            Command::Graph(graph) => graph.run(),
            Command::Session(session) => session.run(),
            Command::Secret(secret) => secret.run(),
            Command::New(new) => new.run(),
            Command::Fmt(fmt) => fmt.run(),
            Command::Migrate(migrate) => migrate.run(),
            Command::Schema(schema) => schema.run(),
            Command::Lsp(lsp) => lsp.run(),
            Command::Test(test) => test.run(),
            Command::Rename(rename) => rename.run(),
            Command::Completions(completions) => completions.run(Self::command()),
            Command::Man(man) => man.run(Self::command()),
        }
    }
}
