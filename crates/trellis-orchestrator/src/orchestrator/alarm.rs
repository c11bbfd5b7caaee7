//! Troubles that a person has to see: services and channels that do not work, and letters that are dead. Those who may approve are told, and `/readyz`
//! fails (orchestrator 8.3).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{Log, UpError};
use crate::{
    channel::ChannelTrouble,
    dispatch::approver_chats,
    message::{Outgoing, now},
    outbound::Channels,
    queue::RowState,
    supervisor::{DaemonState, DaemonStatus, Supervisor},
    tools::Hands,
};

/// The time between two looks.
const ALARM_INTERVAL: Duration = Duration::from_secs(1);
/// The time for which something may be away before somebody is told, in milliseconds: a service that starts again at once is no trouble.
const AWAY_MS: u64 = 10_000;
/// The beginning of the keys of messages about troubles: a dead one of these is told to nobody.
const TROUBLE: &str = "trouble:";

/// A service or a channel that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outage {
    /// `service` or `channel`.
    kind: &'static str,
    name: String,
    since: u64,
    why: String,
    /// True if it is known that it comes back by no means of its own.
    is_down: bool,
}

impl Outage {
    /// All present ones.
    fn all(hands: &Hands, supervisor: &Supervisor) -> Vec<Self> {
        let services = supervisor.statuses().into_iter().filter_map(Self::of_service);
        services.chain(broken_channels(hands).into_iter().filter_map(|(name, trouble)| Self::of_channel(name, trouble))).collect()
    }

    /// That of a service which neither works nor is meant to rest.
    fn of_service(status: DaemonStatus) -> Option<Self> {
        let DaemonStatus { name, state, error, since, .. } = status;
        let is_away = matches!(state, DaemonState::Down | DaemonState::Waiting);
        is_away.then(|| Self { kind: "service", name, since, why: error.unwrap_or_default(), is_down: state == DaemonState::Down })
    }

    /// That of a channel which cannot be read, or takes nothing.
    fn of_channel(name: String, ChannelTrouble { why, since }: ChannelTrouble) -> Option<Self> {
        since.map(|since| Self { kind: "channel", name, since, why, is_down: false })
    }

    /// Returns whether it lasts for longer than a moment.
    fn is_lasting(&self, now: u64) -> bool {
        self.is_down || now.saturating_sub(self.since) >= AWAY_MS
    }

    /// The name by which it is known until it is over.
    fn key(&self) -> String {
        format!("{}:{}", self.kind, self.name)
    }
}

/// The channels that cannot be read, and those that take nothing.
fn broken_channels(hands: &Hands) -> BTreeMap<String, ChannelTrouble> {
    hands.outbox.blocked_channels().into_iter().chain(hands.troubles.broken()).collect()
}

/// Returns the reason why a workspace is not ready: a service or a channel that does not work, or messages that nobody got.
pub(super) async fn unready(hands: &Hands, supervisor: &Supervisor) -> Option<String> {
    let now = now();
    let mut outages = Outage::all(hands, supervisor).into_iter();
    if let Some(Outage { kind, name, why, .. }) = outages.find(|outage| outage.kind == "service" || outage.is_lasting(now)) {
        return Some(format!("the {kind} `{name}` does not work: {why}"));
    }
    match count_dead(hands).await {
        Ok(0) => None,
        Ok(1) => Some("1 message could not be delivered: retry or drop it".to_owned()),
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
        let (language, now) = (hands.settings.language, now());
        let outages = Outage::all(hands, supervisor);
        for outage in outages.iter().filter(|outage| outage.is_lasting(now)) {
            if reported.insert(outage.key()) {
                let text = if outage.kind == "channel" { "trouble_channel" } else { "trouble_service" };
                let said = language.fill(text, &[("name", &outage.name), ("why", &outage.why)]);
                tell(hands, channels, &format!("{TROUBLE}{}:{}", outage.key(), outage.since), &said).await?;
            }
        }
        // One that works again may fail anew; a service that starts does not work yet.
        let is_back = |key: &String| {
            let status = key.strip_prefix("service:").and_then(|name| supervisor.status(name));
            status.map_or_else(|| !outages.iter().any(|outage| outage.key() == *key), |status| status.state == DaemonState::Running)
        };
        reported.retain(|key| !is_back(key));
        let count = count_dead(hands).await?;
        if count > buried {
            log(&match count {
                1 => "1 message could not be delivered".to_owned(),
                count => format!("{count} messages could not be delivered"),
            });
            let text = if count == 1 { "trouble_dead_one" } else { "trouble_dead" };
            let said = language.fill(text, &[("count", &count.to_string())]);
            tell(hands, channels, &format!("{TROUBLE}dead:{now}"), &said).await?;
        }
        buried = count;
        tokio::time::sleep(ALARM_INTERVAL).await;
    }
}

/// The number of dead letters that are not about troubles themselves.
async fn count_dead(hands: &Hands) -> Result<usize, crate::queue::QueueError> {
    let dead = hands.queue.in_state(RowState::Dead).await?;
    Ok(dead.iter().filter(|row| !row.message.key.starts_with(TROUBLE)).count())
}

/// Says something in the chats of those who may approve, on the channels that work.
async fn tell(hands: &Hands, channels: &Channels, key: &str, text: &str) -> Result<(), UpError> {
    let away = broken_channels(hands);
    let is_reached = |provider: &str| channels.contains_key(provider) && !away.contains_key(provider);
    let chats = approver_chats(hands).into_iter().filter(|place| is_reached(&place.provider));
    for (number, place) in (1..).zip(chats) {
        hands.outbox.post(Outgoing::new(place, text, format!("{key}:{number}"))).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::ChannelTroubles;

    // orchestrator 8.3: a channel that fails for longer than a moment is a trouble, and each attempt that fails is the same one; a chat of it is none
    #[test]
    fn a_channel_that_cannot_be_read_is_an_outage() {
        let troubles = ChannelTroubles::default();
        let outages = || troubles.broken().into_iter().filter_map(|(name, trouble)| Outage::of_channel(name, trouble)).collect::<Vec<_>>();
        troubles.fail("telegram", "Unauthorized".to_owned(), 1_000);
        troubles.fail("telegram", "still Unauthorized".to_owned(), 9_000);
        troubles.work("slack", Some("chat `C1`: not_in_channel".to_owned()));
        let present = outages();
        let [outage] = &present[..] else { panic!("{present:?}") };
        assert_eq!((&*outage.key(), outage.since, &*outage.why), ("channel:telegram", 1_000, "still Unauthorized"));
        assert!(!outage.is_lasting(10_999) && outage.is_lasting(11_000));
        assert_eq!(troubles.of("slack").as_deref(), Some("chat `C1`: not_in_channel"));
        troubles.work("telegram", None);
        assert!(outages().is_empty() && troubles.of("telegram").is_none());
    }
}
