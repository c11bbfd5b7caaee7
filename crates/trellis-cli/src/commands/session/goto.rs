//! `trellis session goto ID NODE`: moves a session to a node.

use trellis_core::{NodeId, diagnostic::did_you_mean, engine::NotEntered};
use trellis_host::history::HistoryError;

use super::{
    back::print,
    context::{OutputArgs, TargetArgs, explain_error},
    resolve_id::named,
};
use crate::Exit;

/// Moves a session to a node, with its current context
///
/// The move is a new record. A pending call is abandoned, and an ended session continues. The move is refused if the session lacks keys that are
/// certainly read from that node on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session goto run-19f human
  trellis session set run-19f order_id=7 && trellis session goto run-19f orders/find

Exit codes: 0 moved; 2 the session or node does not exist, keys are missing, or the store failed.")]
pub(super) struct Goto {
    /// The session
    id: String,
    /// The node
    node: String,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Goto {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let put = self.place.writing(async |stand| {
            let id = named(&*stand.store, &self.id).await?;
            let put = stand.operator()?.goto(&id, &NodeId::from(self.node.as_str())).await;
            let nodes = stand.engine()?.inspect().nodes();
            put.map_err(|error| match &error {
                HistoryError::Refused(NotEntered::Unknown(node)) => {
                    let near = did_you_mean(node.as_str(), nodes.iter().map(|node| node.id.as_str()));
                    anyhow::anyhow!("{error}{}", near.map(|near| format!("\n{near}")).unwrap_or_default())
                }
                _ => explain_error(error, &id),
            })
        })?;
        print(&put, self.form)?;
        Ok(Exit::Fine)
    }
}
