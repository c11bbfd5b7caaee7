//! Progress: the steps of a session while a call waits for it, for clients that asked for them.

use std::time::Duration;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use tokio::time::Instant;

use crate::{
    act::{self, Target},
    hub::SessionNews,
};

/// The shortest time between two notifications.
const EVERY: Duration = Duration::from_millis(100);

/// Waits for some work on a session, and reports each step to the client.
pub(super) async fn with<T>(request: &RequestContext<RoleServer>, target: &Target, work: impl Future<Output = T>) -> T {
    let Some(token) = request.meta.get_progress_token() else { return work.await };
    let mut news = target.listen();
    let mut work = std::pin::pin!(work);
    let (mut last_seq, mut last) = (None, None);
    loop {
        tokio::select! {
            done = &mut work => return done,
            heard = news.recv() => {
                let is_early = last.is_some_and(|last: Instant| last.elapsed() < EVERY);
                if is_early || !matches!(heard, Ok(SessionNews::Recorded)) {
                    if matches!(heard, Err(tokio::sync::broadcast::error::RecvError::Closed)) {
                        return work.await;
                    }
                    continue;
                }
                let Some((seq, node)) = act::step(target).filter(|(seq, _)| last_seq.is_none_or(|last_seq| *seq > last_seq)) else { continue };
                (last_seq, last) = (Some(seq), Some(Instant::now()));
                // Steps are numbers that a float represents exactly for longer than any session lasts.
                let progress = ProgressNotificationParam::new(token.clone(), seq as f64).with_message(format!("at `{node}`"));
                // A client that is gone needs no word.
                let _ = request.peer.notify_progress(progress).await;
            }
        }
    }
}
