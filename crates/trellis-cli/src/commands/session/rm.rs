//! `trellis session rm ID…`: takes sessions out.

use anyhow::bail;
use trellis_host::store::{Removal, StoreError};

use super::{
    named::named,
    stand::{Stand, Where},
};
use crate::{Exit, terminal};

/// Takes sessions out of the store, for good
///
/// One that has not ended is taken out with `--force` only.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session rm run-19f
  trellis session rm run-19f run-1a0 --force

Exit codes: 0 taken out; 2 there is no such session, it has not ended, or the store failed.")]
pub(super) struct Rm {
    /// The sessions
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Also sessions that have not ended
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: Where,
}

impl Rm {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        self.place.writing(async |stand| self.remove(stand).await)?;
        Ok(Exit::Fine)
    }

    /// Takes all of them out, or none where one cannot be.
    async fn remove(&self, stand: &Stand) -> anyhow::Result<()> {
        let mut heads = Vec::new();
        for text in &self.ids {
            let id = named(&*stand.store, text).await?;
            let Some(stored) = stand.store.load(std::slice::from_ref(&id)).await?.pop().flatten() else { continue };
            if !self.force && !stored.head.standing.has_ended() {
                bail!("session `{id}` has not ended: it stands at `{}`\n`--force` takes it out all the same", stored.head.node);
            }
            heads.push(stored.head);
        }
        for head in heads {
            let id = head.session;
            match stand.store.remove(&id, Removal::Session { expected: head.next }).await {
                Err(StoreError::Conflict { .. }) => bail!("session `{id}` went on meanwhile; it was not taken out"),
                removed => removed?,
            }
            terminal::print(&format!("{id} was taken out\n"))?;
        }
        Ok(())
    }
}
