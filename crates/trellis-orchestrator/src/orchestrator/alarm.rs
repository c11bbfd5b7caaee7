//! Troubles that a person has to see: services that do not work, and letters that are dead. Those who may approve are told, and `/readyz` fails
//! (orchestrator 8.3).

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{Log, UpError};
use crate::{
    dispatch::approver_chats,
    message::{Outgoing, now},
    outbound::Channels,
    queue::RowState,
    supervisor::{DaemonState, DaemonStatus, Supervisor},
    tools::Hands,
};

/// The time between two looks.
const ALARM_INTERVAL: Duration = Duration::from_secs(1);
/// The time for which a service may be away before somebody is told, in milliseconds: one that starts again at once is no trouble.
const AWAY_MS: u64 = 10_000;
/// The beginning of the keys of messages about troubles: a dead one of these is told to nobody.
const TROUBLE: &str = "trouble:";

/// Returns the reason why a workspace is not ready: a service that does not work, or messages that nobody got.
pub(super) async fn unready(hands: &Hands, supervisor: &Supervisor) -> Option<String> {
    if let Some(DaemonStatus { name, error, .. }) = supervisor.statuses().into_iter().find(is_away) {
        return Some(format!("the service `{name}` does not work: {}", error.unwrap_or_default()));
    }
    match count_dead(hands).await {
        Ok(0) => None,
        Ok(count) => Some(format!("{count} messages could not be delivered: retry or drop them")),
        Err(error) => Some(error.to_string()),
    }
}

/// Tells those who may approve of each new trouble, for ever.
///
/// # Errors
/// The queue fails.
pub(super) async fn watch(hands: &Hands, channels: &Channels, supervisor: &Arc<Supervisor>, log: &Log) -> Result<(), UpError> {
    let (mut reported, mut buried) = (BTreeSet::new(), count_dead(hands).await?);
    loop {
        let language = hands.settings.language;
        let away = supervisor.statuses().into_iter().filter(is_away).filter(|status| {
            status.state == DaemonState::Down || now().saturating_sub(status.since) >= AWAY_MS || reported.contains(&status.name)
        });
        let away: Vec<DaemonStatus> = away.collect();
        for status in &away {
            if reported.insert(status.name.clone()) {
                let why = status.error.as_deref().unwrap_or_default();
                let said = language.fill("trouble_service", &[("name", &status.name), ("why", why)]);
                tell(hands, channels, &format!("{TROUBLE}service:{}:{}", status.name, status.since), &said).await?;
            }
        }
        // One that works again may fail anew.
        reported.retain(|name| supervisor.status(name).is_some_and(|status| status.state != DaemonState::Running));
        let count = count_dead(hands).await?;
        if count > buried {
            log(&format!("{count} messages could not be delivered"));
            let said = language.fill("trouble_dead", &[("count", &count.to_string())]);
            tell(hands, channels, &format!("{TROUBLE}dead:{}", now()), &said).await?;
        }
        buried = count;
        tokio::time::sleep(ALARM_INTERVAL).await;
    }
}

/// Returns whether a service neither works nor is it meant to rest.
fn is_away(status: &DaemonStatus) -> bool {
    matches!(status.state, DaemonState::Down | DaemonState::Waiting)
}

/// The number of dead letters that are not about troubles themselves.
async fn count_dead(hands: &Hands) -> Result<usize, crate::queue::QueueError> {
    let dead = hands.queue.in_state(RowState::Dead).await?;
    Ok(dead.iter().filter(|row| !row.message.key.starts_with(TROUBLE)).count())
}

/// Says something in the chats of those who may approve.
async fn tell(hands: &Hands, channels: &Channels, key: &str, text: &str) -> Result<(), UpError> {
    let chats = approver_chats(hands).into_iter().filter(|place| channels.contains_key(&place.provider));
    for (number, place) in (1..).zip(chats) {
        hands.outbox.post(Outgoing::new(place, text, format!("{key}:{number}"))).await?;
    }
    Ok(())
}
