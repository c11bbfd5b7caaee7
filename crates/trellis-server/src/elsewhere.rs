//! Steps of other processes over the same store: its newest heads are read now and then, and what this process did not store is told to listeners.
//!
//! ```text
//! heads of the store ─▶ those that moved ─▶ without those that were stored here ─▶ their records ─▶ hub
//! ```

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use trellis_core::SessionId;
use trellis_host::{
    SessionEvent,
    store::{Head, Query, StoreError, Which},
};

use crate::{
    clock,
    hub::{Hub, ServerNews},
    served::ServedGraph,
};

/// The interval at which it is checked whether anybody listens.
const LISTENER_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The intervals between two readings of the store.
const INTERVALS: u32 = 3;
/// The difference, in milliseconds, by which the clocks of two machines may disagree.
const CLOCK_SKEW: u64 = 60_000;
/// The time within which a stored step is noted.
const NOTE_TIME: Duration = Duration::from_millis(50);
/// The heads that are read from a store at once.
const HEADS_AT_ONCE: usize = 256;
/// The heads that are read of one graph.
const MAX_HEADS: usize = 4096;

/// The heads as they were the last time.
struct Seen {
    /// The sessions that moved last, with the numbers of their next records.
    heads: BTreeMap<SessionId, u64>,
    /// The moment since which somebody listens, later that of the newest head.
    since: u64,
    is_known: bool,
}

/// Tells listeners what other processes do to the sessions of a graph, for as long as the graph is there.
pub(crate) fn watch(graph: &Arc<ServedGraph>, hub: &Arc<Hub>) {
    tokio::spawn(watched(Arc::downgrade(graph), Arc::clone(hub)));
}

async fn watched(graph: Weak<ServedGraph>, hub: Arc<Hub>) {
    let (mut seen, mut left) = (Seen::begin(), 0);
    loop {
        tokio::time::sleep(LISTENER_CHECK_INTERVAL).await;
        let Some(graph) = graph.upgrade() else { return };
        if !hub.has_listeners() {
            (seen, left) = (Seen::begin(), 0);
            graph.stored_here.take();
        } else if left > 0 {
            left -= 1;
        } else {
            // A store that does not respond is read again.
            drop(seen.look(&graph, &hub).await);
            left = INTERVALS - 1;
        }
    }
}

impl Seen {
    /// Creates an empty one: somebody may listen from now on.
    fn begin() -> Self {
        Self { heads: BTreeMap::new(), since: clock::now(), is_known: false }
    }

    /// Reads the heads, and tells what moved elsewhere.
    async fn look(&mut self, graph: &ServedGraph, hub: &Hub) -> Result<(), StoreError> {
        let heads = newest(graph, self.since.saturating_sub(CLOCK_SKEW)).await?;
        let mut here = graph.stored_here.take();
        if heads.iter().any(|head| self.is_news(head, &here)) {
            // What was stored here a moment ago is noted by then.
            tokio::time::sleep(NOTE_TIME).await;
            here.extend(graph.stored_here.take());
        }
        for head in heads.iter().filter(|head| self.is_news(head, &here)) {
            tell(graph, hub, head, self.known(&head.session, &here)).await;
        }
        self.since = heads.first().map_or(self.since, |head| self.since.max(head.at));
        self.heads = heads.into_iter().map(|head| (head.session, head.next)).collect();
        for (id, next) in here {
            let known = self.heads.entry(id).or_default();
            *known = next.max(*known);
        }
        self.is_known = true;
        Ok(())
    }

    /// The number of the next record, as far as listeners heard of a session.
    fn known(&self, id: &SessionId, here: &BTreeMap<SessionId, u64>) -> Option<u64> {
        self.heads.get(id).copied().max(here.get(id).copied())
    }

    /// Returns whether a session moved elsewhere. Of what moved before somebody listened, nobody needs to hear.
    fn is_news(&self, head: &Head, here: &BTreeMap<SessionId, u64>) -> bool {
        let is_late = self.known(&head.session, here).is_none_or(|known| known < head.next);
        is_late && (self.is_known || head.at >= self.since)
    }
}

/// The heads that moved since a moment, the newest first.
async fn newest(graph: &ServedGraph, since: u64) -> Result<Vec<Head>, StoreError> {
    let (mut heads, mut after) = (Vec::new(), None);
    loop {
        let query = Query { graph: Some(Arc::clone(&graph.name)), which: Which::Newest, after, limit: HEADS_AT_ONCE };
        let page = graph.store().list(query).await?;
        let last = page.last().map(|head| (head.at, head.session.clone()));
        let is_last = page.len() < HEADS_AT_ONCE || last.as_ref().is_none_or(|(at, _)| *at < since);
        heads.extend(page.into_iter().filter(|head| head.at >= since));
        if is_last || heads.len() >= MAX_HEADS {
            return Ok(heads);
        }
        after = last;
    }
}

/// Tells what happened to a session since record `known`; where that is not known, that it moved.
async fn tell(graph: &ServedGraph, hub: &Hub, head: &Head, known: Option<u64>) {
    let id = &head.session;
    let history = match known {
        Some(known) => graph.redactions.history(graph.store(), id, known).await.ok(),
        None => None,
    };
    match history {
        Some(history) if !history.records.is_empty() => hub.observe(&graph.name, id, &SessionEvent::Recorded(history.records.into())),
        _ => hub.publish(ServerNews::Moved { graph: Arc::clone(&graph.name), session: id.clone() }),
    }
    let Ok(sessions) = graph.sessions() else { return };
    if !head.standing.has_ended()
        && let Ok(turn) = sessions.view(id).await
        && !turn.stop.needs_nobody()
    {
        hub.turn(&graph.name, id, Ok(turn));
    }
}
