//! `trellis session set ID KEY=VALUE…`: sets keys of a session's context.

use anyhow::anyhow;
use trellis_core::{Value, path::KeyPath};

use super::{
    context::{OutputArgs, TargetArgs, explain_error},
    resolve_id::named,
};
use crate::{Exit, context, terminal};

/// Sets keys of a session's context
///
/// The change is a new record. A value is parsed as JSON if possible, else it is a text; a key may have dots. Values must fit the types that the graph declares.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session set run-19f order_id=7
  trellis session set run-19f language=pt customer.email=ana@example.org customer.verified=true

A call that is pending keeps its arguments. Keys are never taken out of a context.

Exit codes: 0 set; 2 the session does not exist, a key cannot have that value, or the store failed.")]
pub(super) struct Set {
    /// The session
    id: String,
    /// The keys and their values
    #[arg(value_name = "KEY=VALUE", required = true)]
    assignments: Vec<String>,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Set {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let assignments = self.assignments.iter().map(|text| assignment(text)).collect::<anyhow::Result<Vec<_>>>()?;
        let put = self.place.writing(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            stand.operator()?.set(&id, &assignments).await.map_err(|error| explain_error(error, &id))
        })?;
        if self.form.is_json() {
            terminal::print(&super::back::wire(&put))?;
            return Ok(Exit::Fine);
        }
        let keys: Vec<_> = assignments.iter().map(|(key, _)| format!("`{key}`")).collect();
        terminal::print(&format!("{} has {} now (record {})\n", put.session, keys.join(", "), put.seq))?;
        if let Some(call) = &put.state.pending_tool_call {
            terminal::print_error(&format!("its pending call `{}` keeps the arguments that it has\n", call.name));
        }
        Ok(Exit::Fine)
    }
}

fn assignment(text: &str) -> anyhow::Result<(KeyPath, Value)> {
    context::assignment(text).ok_or_else(|| anyhow!("`{text}` is no KEY=VALUE"))
}
