//! The commands, one per file. Each takes its own arguments and returns the exit status.

mod check;
mod completions;
mod explain;
mod fmt;
mod graph;
mod lsp;
mod man;
mod mcp;
mod migrate;
mod new;
mod rename;
mod run;
mod schema;
mod secret;
mod serve;
mod session;
mod test;
mod up;

pub(crate) use check::Check;
pub(crate) use completions::Completions;
pub(crate) use explain::Explain;
pub(crate) use fmt::Fmt;
pub(crate) use graph::Graph;
pub(crate) use lsp::Lsp;
pub(crate) use man::Man;
pub(crate) use mcp::Mcp;
pub(crate) use migrate::Migrate;
pub(crate) use new::New;
pub(crate) use rename::Rename;
pub(crate) use run::Run;
pub(crate) use schema::Schema;
pub(crate) use secret::Secret;
pub(crate) use serve::Serve;
pub(crate) use session::Session;
pub(crate) use test::Test;
pub(crate) use up::UpArgs;
