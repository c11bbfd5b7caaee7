//! The commands, one a file. Each takes its own arguments and says how the program ends.

mod check;
mod completions;
mod explain;
mod fmt;
mod graph;
mod man;
mod migrate;
mod new;
mod run;
mod schema;
mod session;

pub(crate) use check::Check;
pub(crate) use completions::Completions;
pub(crate) use explain::Explain;
pub(crate) use fmt::Fmt;
pub(crate) use graph::Graph;
pub(crate) use man::Man;
pub(crate) use migrate::Migrate;
pub(crate) use new::New;
pub(crate) use run::Run;
pub(crate) use schema::Schema;
pub(crate) use session::Session;

use crate::{
    Exit,
    args::{Args, Command},
};

/// Carries out what was typed.
///
/// # Errors
/// The usage is wrong, or the world is: nothing about a graph.
pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    match args.command {
        Command::Run(run) => run.run(),
        Command::Check(check) => check.run(),
        Command::Explain(explain) => explain.run(),
        Command::Graph(graph) => graph.run(),
        Command::Session(session) => session.run(),
        Command::New(new) => new.run(),
        Command::Fmt(fmt) => fmt.run(),
        Command::Migrate(migrate) => migrate.run(),
        Command::Schema(schema) => schema.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    }
}
