//! Work that begins at a time: schedules, heartbeats and nightly consolidation (orchestrator 8.1, 8.2).

use std::time::Duration;

use jiff::Timestamp;

use super::{UpError, by_itself::do_due};
use crate::tools::Hands;

/// The longest time between two reads of the clock: a clock that was set is noticed by then.
const MAX_CLOCK_INTERVAL: Duration = Duration::from_secs(60);
/// The name under which schedules put messages into the queue.
const SCHEDULES: &str = "schedules";

/// Puts due work into the queue, as a message of its chat: the name of the message makes it unique, however often this happens. It goes by `clock`.
pub(super) async fn keep_time(
    hands: &Hands,
    clock: impl Fn() -> Timestamp,
    wake: impl Fn(),
    log: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), UpError> {
    let (jobs, queue) = (&hands.jobs, &hands.queue);
    loop {
        let now = clock();
        let moment = u64::try_from(now.as_millisecond()).unwrap_or_default();
        jobs.wait_no_longer(now)?;
        for (job, message) in jobs.due(now) {
            queue.store(SCHEDULES, vec![message], None, moment).await?;
            jobs.note_run(&job.id, now)?;
            wake();
        }
        let next = do_due(hands, now, &wake, log).await?;
        let next = jobs.next().map_or(next, |job| job.min(next));
        let wait: Duration = next.duration_since(clock()).try_into().unwrap_or_default();
        let _ = tokio::time::timeout(wait.clamp(Duration::from_millis(5), MAX_CLOCK_INTERVAL), jobs.changed.notified()).await;
    }
}

#[cfg(test)]
mod tests;
