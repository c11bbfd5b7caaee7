//! The work of the agent without a message: the heartbeat, and the nightly consolidation of the memory (orchestrator 5.4, 8.2).
//!
//! **Invariant:** each run is named by its moment, so that it happens once; one of each kind runs at a time.

use std::collections::BTreeMap;

use jiff::{Span, Timestamp, tz::TimeZone};
use trellis_core::{Mapping, Value};

use super::UpError;
use crate::{
    message::{ChatPlace, Outgoing, Work},
    schedule::CronExpression,
    seal::sha256,
    tools::Hands,
    workspace::{HeartbeatError, MAX_HEARTBEAT},
};

/// The name of the setting with the last moments, as JSON.
const MOMENTS: &str = "moments";
/// The times at which the memory is consolidated.
const NIGHTLY: &str = "0 3 * * *";

/// A recurring task, and the name under which its last run is stored.
#[derive(Clone, Copy)]
enum Rhythm {
    Heartbeat { every: i64 },
    Night,
}

impl Rhythm {
    fn name(self) -> &'static str {
        match self {
            Self::Heartbeat { .. } => "heartbeat",
            Self::Night => "night",
        }
    }

    /// The first time after another.
    fn next(self, after: Timestamp) -> Timestamp {
        let next = match self {
            Self::Heartbeat { every } => after.checked_add(Span::new().milliseconds(every)).ok(),
            Self::Night => CronExpression::parse(NIGHTLY).ok().and_then(|nightly| nightly.next(after, &TimeZone::system())),
        };
        next.unwrap_or(Timestamp::MAX)
    }
}

/// Runs the tasks that are due, and returns when the next one is. Missed runs are made up once.
pub(super) async fn do_due(
    hands: &Hands,
    now: Timestamp,
    wake: impl Fn(),
    log: &(dyn Fn(&str) + Send + Sync),
) -> Result<Timestamp, UpError> {
    let heartbeat = hands.settings.heartbeat.as_ref().map(|heartbeat| Rhythm::Heartbeat { every: heartbeat.every });
    let known = hands.queue.setting("", "", MOMENTS).await?.unwrap_or_default();
    let known: BTreeMap<String, i64> = serde_json::from_str(&known).unwrap_or_default();
    let (mut soonest, mut moments) = (Timestamp::MAX, BTreeMap::new());
    for rhythm in heartbeat.into_iter().chain([Rhythm::Night]) {
        let last = known.get(rhythm.name()).and_then(|last| Timestamp::from_millisecond(*last).ok());
        // A clock that was set back does not stop it.
        let Some(last) = last.filter(|last| *last <= now) else {
            moments.insert(rhythm.name(), now.as_millisecond());
            soonest = soonest.min(rhythm.next(now));
            continue;
        };
        let due = rhythm.next(last);
        if due > now {
            soonest = soonest.min(due);
            continue;
        }
        match rhythm {
            Rhythm::Heartbeat { .. } => beat(hands, now, log).await?,
            Rhythm::Night => consolidate(hands, now, log).await?,
        }
        moments.insert(rhythm.name(), now.as_millisecond());
        soonest = soonest.min(rhythm.next(now));
    }
    if !moments.is_empty() {
        let mut all = known;
        all.extend(moments.into_iter().map(|(name, moment)| (name.to_owned(), moment)));
        let all = serde_json::to_string(&all).map_err(|error| UpError::Gone(error.to_string()))?;
        hands.queue.set("", "", MOMENTS, &all).await?;
        wake();
    }
    Ok(soonest)
}

/// Begins a session with the open points, if there are any.
async fn beat(hands: &Hands, now: Timestamp, log: &(dyn Fn(&str) + Send + Sync)) -> Result<(), UpError> {
    let Some(heartbeat) = &hands.settings.heartbeat else { return Ok(()) };
    let (language, place) = (hands.settings.language, &heartbeat.place);
    let items = match hands.workspace.heartbeat_items() {
        Ok(items) => items,
        Err(error) => {
            let why = error.to_string();
            log(&why);
            if let HeartbeatError::TooLarge { bytes } = error {
                // Said once for each size that it has.
                let key = format!("heartbeat:{}", &sha256(&why)[..16]);
                let text = language.fill("heartbeat_too_large", &[("bytes", &bytes.to_string()), ("most", &MAX_HEARTBEAT.to_string())]);
                hands.outbox.post(Outgoing::new(place.clone(), text, key)).await?;
            }
            return Ok(());
        }
    };
    if items.is_empty() {
        return Ok(());
    }
    let (sealer, of) = (hands.sealer.clone(), place.clone());
    let sealing = tokio::task::spawn_blocking(move || sealer.seal(&of.provider, &of.chat, &items.join("\n"), None));
    let items = sealing.await.map_err(|error| UpError::Gone(error.to_string()))?;
    let text = Value::text(language.fill("heartbeat_prompt", &[("items", &items)]));
    begin(hands, Work::Heartbeat, place, [("text", text)], now).await
}

/// Begins a session that consolidates the memory, if there is anything to put into it.
async fn consolidate(hands: &Hands, now: Timestamp, log: &(dyn Fn(&str) + Send + Sync)) -> Result<(), UpError> {
    match hands.memory.old_days(now.to_zoned(TimeZone::system()).date(), 0) {
        Ok(old) if old.is_empty() => return Ok(()),
        Ok(_) => {}
        Err(error) => log(&format!("the memory cannot be read: {error}")),
    }
    let place =
        hands.settings.heartbeat.as_ref().map_or_else(|| ChatPlace::new("terminal", "terminal"), |heartbeat| heartbeat.place.clone());
    begin(hands, Work::Consolidate, &place, [("tell", Value::Bool(false))], now).await
}

/// Begins a task, unless one of its kind is running.
async fn begin(hands: &Hands, work: Work, place: &ChatPlace, context: [(&str, Value); 1], now: Timestamp) -> Result<(), UpError> {
    let at = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let message = work.message(&at.to_string(), place.clone(), Mapping::from_iter(context), at);
    hands.queue.store_work(message, 1, at).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
