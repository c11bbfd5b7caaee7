//! Pauses a session: stops its work in this process until it is resumed.

use std::time::Duration;

use super::{Target, Walked};
use crate::{hub::SessionNews, trouble::Trouble};

/// The time that a tool has to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pauses a session whose task was cancelled: the next call for it ends the pause.
///
/// # Errors
/// As [`pause`].
pub(crate) async fn pause_for_task(target: Target) -> Result<Walked, Trouble> {
    let walked = pause(target).await?;
    walked.target.graph.task_notes.paused(&walked.target.id, true);
    Ok(walked)
}

/// Pauses a session, and waits until nothing of it runs here.
///
/// # Errors
/// There is no such session.
pub(crate) async fn pause(target: Target) -> Result<Walked, Trouble> {
    let mut news = target.listen();
    let seen = target.sessions.view(&target.id).await?;
    let is_paused = target.sessions.is_paused(&target.id);
    target.graph.task_notes.paused(&target.id, false);
    target.sessions.pause_stored(&target.id).await?;
    if seen.stop.needs_nobody() && !is_paused {
        let stopped = async {
            while let Ok(news) = news.recv().await {
                if matches!(news, SessionNews::Failed(_) | SessionNews::Turn(_) | SessionNews::Removed) {
                    return;
                }
            }
        };
        // A session that only sleeps reports no stop.
        if seen.stop.is_running() {
            drop(tokio::time::timeout(PATIENCE, stopped).await);
        }
    }
    let turn = target.sessions.view(&target.id).await?;
    target.announce_pause(&turn);
    Ok(Walked { target, turn, is_repeated: false })
}
