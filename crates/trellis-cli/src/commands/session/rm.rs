//! `trellis session rm ID…`: removes sessions.

use anyhow::bail;
use trellis_core::SessionId;
use trellis_host::store::{Removal, SessionStore as _, StoreError, Stored};

use super::{
    context::{SessionCommand, TargetArgs},
    resolve_id::named,
};
use crate::{Exit, terminal};

/// Removes sessions from the store, for good
///
/// A session that has not ended, or that cannot be read, needs `--force`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session rm run-19f
  trellis session rm run-19f run-1a0 --force

Exit codes: 0 removed; 2 a session does not exist or has not ended, or the store failed.")]
pub(super) struct Rm {
    /// The sessions
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Also remove sessions that have not ended, or that cannot be read
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: TargetArgs,
}

impl Rm {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        self.place.writing(async |stand| self.remove(stand).await)?;
        Ok(Exit::Fine)
    }

    /// Takes all of them out, or none where one cannot be.
    async fn remove(&self, stand: &SessionCommand) -> anyhow::Result<()> {
        let mut found = Vec::new();
        for text in &self.ids {
            let id = named(&*stand.store, text).await?;
            let next = match stand.store.load(std::slice::from_ref(&id)).await {
                Ok(mut stored) => {
                    let Some(Stored { head, .. }) = stored.pop().flatten() else { continue };
                    if !self.force && !head.standing.has_ended() {
                        bail!("session `{id}` has not ended: it stands at `{}`\n`--force` takes it out all the same", head.node);
                    }
                    head.next
                }
                Err(StoreError::Corrupt { .. }) if self.force => 0,
                Err(error @ StoreError::Corrupt { .. }) => bail!("{error}\n`--force` takes it out all the same"),
                Err(error) => return Err(error.into()),
            };
            found.push((id, next));
        }
        for (id, next) in found {
            let taken = match taken(stand, &id, next).await {
                // The store may be able to count records that it cannot read.
                Err(StoreError::Conflict { found, .. }) if next == 0 => taken(stand, &id, found).await,
                taken => taken,
            };
            match taken {
                Err(StoreError::Conflict { .. }) => bail!("session `{id}` advanced meanwhile; it was not taken out"),
                taken => taken?,
            }
            terminal::print(&format!("{id} was taken out\n"))?;
        }
        Ok(())
    }
}

async fn taken(stand: &SessionCommand, id: &SessionId, expected: u64) -> Result<(), StoreError> {
    stand.store.remove(id, Removal::Session { expected }).await
}
