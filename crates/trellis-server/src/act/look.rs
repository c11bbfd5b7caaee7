//! Looks at a session; nothing goes on.

use std::time::Duration;

use tokio::time::Instant;

use super::{Target, Walked};
use crate::{hub::SessionNews, trouble::Trouble};

/// Where a session is. With `seen`, the number of a turn that the client has, it waits until there is another one; nothing where there is none in time.
///
/// # Errors
/// There is no such session, or it cannot be read.
pub(crate) async fn look(target: Target, seen: Option<u64>, wait: Duration) -> Result<Option<Walked>, Trouble> {
    let until = Instant::now() + wait;
    let mut news = target.listen();
    loop {
        let turn = target.sessions.view(&target.id).await?;
        if seen != Some(turn.seq) {
            return Ok(Some(Walked { target, turn, is_repeated: false }));
        }
        loop {
            // What another process does shows in the store only.
            let next = until.min(Instant::now() + LOOK_EVERY);
            match tokio::time::timeout_at(next, news.recv()).await {
                Ok(Ok(SessionNews::Line(..))) => {}
                Err(_) if next >= until => return Ok(None),
                _ => break,
            }
        }
    }
}

/// How often the store is asked what another process did, while somebody waits.
const LOOK_EVERY: Duration = Duration::from_secs(1);
