//! Looks at a session without advancing it.

use std::time::Duration;

use tokio::time::Instant;
use trellis_core::NodeId;

use super::{Target, Walked, deadline};
use crate::{hub::SessionNews, trouble::Trouble};

/// Returns the current turn of a session. It waits for the next stop; with `seen`, the number of a turn that the client has, for another turn. `None`
/// if there is no other one in time.
///
/// # Errors
/// There is no such session, or it cannot be read.
pub(crate) async fn look(target: Target, seen: Option<u64>, wait: Duration) -> Result<Option<Walked>, Trouble> {
    let until = deadline(wait);
    let mut news = target.listen();
    loop {
        let turn = target.sessions.view(&target.id).await?;
        let is_over = Instant::now() >= until;
        let is_awaited = match seen {
            Some(seen) => seen == turn.seq,
            None => turn.stop.needs_nobody() && !target.sessions.is_paused(&target.id),
        };
        if !is_awaited || is_over {
            let is_answer = !is_awaited || seen.is_none();
            return Ok(is_answer.then_some(Walked { target, turn, is_repeated: false }));
        }
        loop {
            // Steps of another process show in the store only.
            let next = until.min(Instant::now() + LOOK_EVERY);
            match tokio::time::timeout_at(next, news.recv()).await {
                Ok(Ok(SessionNews::Line(..))) => {}
                _ => break,
            }
        }
    }
}

/// The number of the record that comes next and the node, of a session that is in memory.
pub(crate) fn step(target: &Target) -> Option<(u64, NodeId)> {
    target.sessions.look(&target.id, |session| (session.journal().next_seq(), session.state().current_node_id.clone()))
}

/// The interval at which the store is read for steps of other processes while a client waits.
const LOOK_EVERY: Duration = Duration::from_secs(1);
