//! `trellis session back ID --to N`: restores a session to an earlier step.

use serde_json::json;
use trellis_host::history::Put;

use super::{
    context::{OutputArgs, TargetArgs, explain_error},
    resolve_id::named,
};
use crate::{Exit, terminal};

/// Moves a session back to its state after a record
///
/// The move is a new record, and the history stays. The session still remembers its calls with `undo`, so a rollback undoes all of them. A call that
/// is pending now is abandoned; a call that was pending after the record is made again, with a new key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session back run-19f --to 12
  trellis session back ana --to 12 && trellis run --session ana     `run` needs the whole name

Exit codes: 0 moved; 2 the session or record does not exist, the session cannot continue there, or the store failed.")]
pub(super) struct Back {
    /// The session
    id: String,
    /// The record to move back to
    #[arg(long, value_name = "N")]
    to: u64,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Back {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let put = self.place.writing(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            stand.operator()?.back(&id, self.to).await.map_err(|error| explain_error(error, &id))
        })?;
        print(&put, self.form)?;
        Ok(Exit::Fine)
    }
}

/// Tells where a session was put.
pub(super) fn print(put: &Put, form: OutputArgs) -> anyhow::Result<()> {
    if form.is_json() {
        return terminal::print(&wire(put));
    }
    let from = put.from.as_ref().map(|from| format!(", it was at `{from}`")).unwrap_or_default();
    let ended = put.state.ended.as_ref().map(|ended| format!(" and {}", ended.reason.as_str().replace('_', " "))).unwrap_or_default();
    terminal::print(&format!("{} stands at `{}`{ended}{from} (record {})\n", put.session, put.state.current_node_id, put.seq))
}

/// The place where a session was put, for programs.
pub(super) fn wire(put: &Put) -> String {
    let state = &put.state;
    let standing = trellis_host::store::SessionStatus::of(state);
    let wire = json!({
        "id": put.session, "record": put.seq, "from": put.from, "node": state.current_node_id, "status": standing.as_str(),
    });
    format!("{wire}\n")
}
