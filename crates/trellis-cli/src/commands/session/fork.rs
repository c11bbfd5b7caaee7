//! `trellis session fork ID --at N`: creates a new session from any step of another one.

use trellis_core::SessionId;
use trellis_host::{
    history::{HistoryError, Put},
    store::check_name,
};

use super::{
    context::{OutputArgs, SessionCommand, TargetArgs, explain_error},
    resolve_id::named,
};
use crate::{Exit, terminal};

/// Starts a new session from any step of another one
///
/// The original does not change. The fork has the context of that step and no calls to undo: its rollback undoes nothing of the original. A call that
/// was pending at that step is made again, with a new key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trellis session fork run-19f                   from its current state
  trellis session fork run-19f --at 12           from its state after record 12
  trellis session fork run-19f --at 12 --as try-2
  trellis run --session $(trellis session fork run-19f --at 12)

Prints the name of the new session.

Exit codes: 0 forked; 2 the session or record does not exist, the fork cannot continue there, or the store failed.")]
pub(super) struct Fork {
    /// The session
    id: String,
    /// The record to start from [default: the newest]
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// The name of the new session [default: made from the name and the record]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    form: OutputArgs,
    #[command(flatten)]
    place: TargetArgs,
}

impl Fork {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let put = self.place.writing(async |stand| self.fork(stand).await)?;
        let text = if self.form.is_json() {
            super::back::wire(&put)
        } else {
            terminal::print_error(&format!("it stands at `{}`\n", put.state.current_node_id));
            format!("{}\n", put.session)
        };
        terminal::print(&text)?;
        Ok(Exit::Fine)
    }

    async fn fork(&self, stand: &SessionCommand) -> anyhow::Result<Put> {
        let id = named(&*stand.store, &self.id).await?;
        let operator = stand.operator()?;
        if let Some(name) = &self.name {
            let new = SessionId::from(name.as_str());
            return operator.fork(&id, self.at, &new).await.map_err(|error| explain_error(error, &id));
        }
        let at = match self.at {
            Some(at) => at,
            None => {
                stand.store.load(std::slice::from_ref(&id)).await?.pop().flatten().map_or(0, |stored| stored.head.next.saturating_sub(1))
            }
        };
        for number in 1_u32.. {
            let number = if number == 1 { String::new() } else { format!(".{number}") };
            let new = SessionId::new(format!("{id}@{at}{number}"));
            check_name(new.as_str()).map_err(|error| anyhow::anyhow!("{error}\n`--as NAME` names it otherwise"))?;
            match operator.fork(&id, Some(at), &new).await {
                Err(HistoryError::Exists(_)) => {}
                done => return done.map_err(|error| explain_error(error, &id)),
            }
        }
        unreachable!("some number is free")
    }
}
