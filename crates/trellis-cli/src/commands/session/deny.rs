//! `trellis session deny ID`: denies the pending call of a session.

use trellis_orchestrator::visible::visible_line;

use super::{
    approve::{call, decided, visible},
    context::{OutputArgs, TargetArgs, explain_error},
    resolve_id::named,
};
use crate::{Exit, terminal};

/// Denies the pending call of a session
///
/// The session then continues at `on_denied`, else at `on_error`, else it ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session deny run-19f
  trellis session deny run-19f --because \"too expensive\"
  trellis session deny run-19f --call \"$CALL\"     only if it is still this call

`trellis session approve` lists the calls that wait, and shows them with `--dry-run`.

Exit codes: 0 denied; 2 no call waits for an approval, it expired, another call waits, or the store failed.")]
pub(super) struct Deny {
    /// The session
    id: String,
    /// The reason, for the graph and the history
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    /// Deny only the call with this id or key
    #[arg(long, value_name = "CALL")]
    call: Option<String>,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Deny {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (held, put) = self.place.writing(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            let denied = stand.operator()?.deny(&id, self.call.as_deref(), self.because.clone()).await;
            let (held, put) = denied.map_err(|error| explain_error(error, &id))?;
            Ok((visible(stand, held).await?, put))
        })?;
        if self.form.is_json() {
            terminal::print(&decided(&held, &put, "denied", self.because.as_deref()))?;
            return Ok(Exit::Fine);
        }
        let state = &put.state;
        let where_to = match &state.ended {
            Some(ended) => format!("it ended, {}", ended.reason.as_str().replace('_', " ")),
            None => format!("it stands at `{}`", visible_line(state.current_node_id.as_str())),
        };
        terminal::print(&format!("denied: {} of {}; {where_to} (record {})\n", call(&held), put.session, put.seq))?;
        Ok(Exit::Fine)
    }
}
