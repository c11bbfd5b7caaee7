//! Settles a call by hand.

use std::{sync::Arc, time::Duration};

use trellis_host::{journal::RequestKey, wire::CallResult};

use super::{Target, Walked, deadline, target::taken};
use crate::trouble::Trouble;

/// The settlement of a call by a person, in place of whoever would have carried it out.
#[derive(Clone, Debug)]
pub(crate) struct SettleByHand {
    pub(crate) result: CallResult,
    /// The reason, in the person's words.
    pub(crate) because: Option<Arc<str>>,
}

/// Settles a call by hand, and waits for the next stop.
///
/// # Errors
/// The session knows no such call that is open or left; nothing happened.
pub(crate) async fn settle(target: Target, settle: SettleByHand, request: RequestKey, wait: Duration) -> Result<Walked, Trouble> {
    let (news, until) = (target.listen(), deadline(wait));
    let (sessions, telling) = (Arc::clone(&target.sessions), target.clone());
    let done = target.in_task(async move {
        let was_paused = sessions.is_paused(&telling.id);
        let turn = sessions.settle_call(&telling.id, settle.result.into(), settle.because, request).await;
        turn.iter().for_each(|turn| telling.announce_after(turn, was_paused));
        turn
    });
    let (turn, is_repeated) = taken(done.await?)?;
    let turn = target.settled(turn, news, until).await?;
    Ok(Walked { target, turn, is_repeated })
}
