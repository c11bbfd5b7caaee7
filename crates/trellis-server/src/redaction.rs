//! Redaction: no door shows a secret. Each session has a redactor, which learns from its records as they come.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError, RwLock, Weak},
};

use serde_json::Value as Json;
use tokio::sync::Mutex;
use trellis_core::{Document, SessionId, Value};
use trellis_host::{
    SessionEvent, Sessions,
    history::{History, HistoryError, Redactor, SecretPlaces},
    store::SessionStore,
};

/// The number of redactors that are cached.
const MAX_LEARNED_SESSIONS: usize = 256;
/// The least number of sessions whose secrets are retained, in memory or not.
const MAX_LIVE: usize = 512;
/// Keys of a payload whose values are none of a session.
const STRUCTURE: [&str; 22] = [
    "id",
    "seq",
    "type",
    "idempotency_key",
    "attempt",
    "node",
    "role",
    "timeout",
    "expires",
    "since",
    "until",
    "reason",
    "code",
    "kind",
    "of",
    "part",
    "input_type",
    "status",
    "decision",
    "source",
    "open",
    "reset",
];

/// The redactors of the sessions of one graph.
#[derive(Default)]
pub(crate) struct Redactions {
    graph: RwLock<KnownPlaces>,
    by_session: Mutex<BTreeMap<SessionId, Learned>>,
    /// The secrets seen in sessions in memory: stores have nothing that the graph redacts.
    live: std::sync::Mutex<LiveSecrets>,
    sessions: OnceLock<Weak<Sessions>>,
}

/// The secrets of sessions in memory.
#[derive(Default)]
struct LiveSecrets {
    of: BTreeMap<SessionId, Redactor>,
    /// The number of sessions after those that are no longer in memory were last dropped.
    left: usize,
}

/// The secret places of every version of the graph that was loaded here.
#[derive(Clone, Default)]
struct KnownPlaces {
    places: Arc<SecretPlaces>,
    /// The number of times that they grew.
    generation: u64,
}

/// A redactor, and how much of its session it has seen.
struct Learned {
    redactor: Redactor,
    /// Of [`KnownPlaces`].
    generation: u64,
    /// The time at which the session began: another one may have its name by now.
    began: u64,
    /// The first record that it has not seen.
    next: u64,
}

impl Learned {
    fn new(known: &KnownPlaces) -> Self {
        Self { redactor: known.redactor(), generation: known.generation, began: 0, next: 0 }
    }
}

impl KnownPlaces {
    fn redactor(&self) -> Redactor {
        Redactor::of(Some(Arc::clone(&self.places)))
    }
}

impl Redactions {
    /// Learns the secret places of a version of the graph, before any of it runs. The secret places of other versions remain secret while the server
    /// runs: an unreadable version declares none, and sessions hold values that they were given under that promise.
    pub(crate) fn learn_graph(&self, documents: &[Arc<Document>]) {
        let mut known = self.graph.write().unwrap_or_else(PoisonError::into_inner);
        let places = known.places.joined(&SecretPlaces::of_readable(documents));
        if places != *known.places {
            *known = KnownPlaces { places: Arc::new(places), generation: known.generation + 1 };
        }
    }

    /// Learns the values that these sessions hold.
    pub(crate) fn watch(&self, sessions: &Arc<Sessions>) {
        // There is one program after the other, and one `Sessions` for all of them.
        let _ = self.sessions.set(Arc::downgrade(sessions));
    }

    /// Learns from an event of a session, before anything else is reported about it.
    pub(crate) fn observe(&self, id: &SessionId, event: &SessionEvent) {
        let SessionEvent::Recorded(records) = event else { return };
        let known = self.known();
        if !known.places.is_any() {
            return;
        }
        let mut redactor = known.redactor();
        redactor.learn_records(records);
        if redactor.knows_any() {
            let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.of.entry(id.clone()).or_insert_with(|| known.redactor()).join(&redactor);
        }
    }

    /// Adds the secrets that its session holds in memory to a redactor.
    fn learn_live(&self, redactor: &mut Redactor, id: &SessionId) {
        let sessions = self.sessions.get().and_then(Weak::upgrade);
        let in_memory = |id: &SessionId| sessions.as_ref().is_some_and(|sessions| sessions.look(id, |_| ()).is_some());
        if let Some(sessions) = &sessions {
            sessions.look(id, |session| redactor.learn_session(session));
        }
        let seen: Vec<_> = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.of.get(id).into_iter().for_each(|seen| redactor.join(seen));
            if live.of.len() > 2 * live.left.max(MAX_LIVE) { live.of.keys().cloned().collect() } else { Vec::new() }
        };
        if !seen.is_empty() {
            let gone: Vec<_> = seen.into_iter().filter(|id| !in_memory(id)).collect();
            let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            gone.iter().for_each(|id| drop(live.of.remove(id)));
            live.left = live.of.len();
        }
    }

    fn known(&self) -> KnownPlaces {
        self.graph.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the graph has secrets.
    pub(crate) fn is_needed(&self) -> bool {
        self.places().is_some()
    }

    /// Returns the secret places of the graph; `None` if it has none.
    pub(crate) fn places(&self) -> Option<Arc<SecretPlaces>> {
        Some(self.known().places).filter(|places| places.is_any())
    }

    /// Returns a redactor that knows the secrets of a session; `None` if the graph has none. It knows at least the secrets that could be read before.
    ///
    /// # Errors
    /// The records of the session cannot be read.
    pub(crate) async fn learned(&self, store: &dyn SessionStore, id: &SessionId) -> Result<Option<Redactor>, HistoryError> {
        loop {
            let known = self.known();
            if !known.places.is_any() {
                return Ok(None);
            }
            let mut redactor = known.redactor();
            redactor.learn(&History::open(store, id).await?);
            self.learn_live(&mut redactor, id);
            if self.known().generation == known.generation {
                return Ok(Some(redactor));
            }
        }
    }

    /// Returns the records of a session from number `from` on, without its secrets.
    ///
    /// # Errors
    /// There is no such session, or its records cannot be read.
    pub(crate) async fn history(&self, store: &dyn SessionStore, id: &SessionId, from: u64) -> Result<History, HistoryError> {
        if !self.is_needed() {
            let history = History::since(store, id, from).await?;
            // A secret may have been asked for and typed meanwhile.
            if !self.is_needed() {
                return Ok(history);
            }
        }
        let mut by_session = self.by_session.lock().await;
        let (redactor, mut history) = self.caught_up(&mut by_session, store, id, from).await?;
        history.records.retain(|record| record.seq >= from);
        history.flaws.retain(|flaw| flaw.until > from);
        redactor.hide_known(&mut history);
        Ok(history)
    }

    /// Hides the secrets of a session in the JSON of a turn or a line.
    ///
    /// # Errors
    /// The records of the session cannot be read.
    pub(crate) async fn hide(&self, store: &dyn SessionStore, id: &SessionId, parts: &mut [&mut Json]) -> Result<(), HistoryError> {
        if !self.is_needed() {
            return Ok(());
        }
        let mut by_session = self.by_session.lock().await;
        let mut fresh;
        let redactor = match self.caught_up(&mut by_session, store, id, u64::MAX).await {
            Ok((redactor, _)) => redactor,
            // It has not begun, and nothing was typed.
            Err(HistoryError::Unknown(_)) => {
                fresh = self.known().redactor();
                self.learn_live(&mut fresh, id);
                &fresh
            }
            Err(error) => return Err(error),
        };
        parts.iter_mut().for_each(|part| hide(redactor, part));
        Ok(())
    }

    /// The redactor of a session, which has seen all of it, and the history from the first record that it had not seen, or from `from`.
    async fn caught_up<'k>(
        &self,
        by_session: &'k mut BTreeMap<SessionId, Learned>,
        store: &dyn SessionStore,
        id: &SessionId,
        from: u64,
    ) -> Result<(&'k Redactor, History), HistoryError> {
        if by_session.len() >= MAX_LEARNED_SESSIONS && !by_session.contains_key(id) {
            by_session.pop_first();
        }
        let learned = by_session.entry(id.clone()).or_insert_with(|| Learned::new(&self.known()));
        loop {
            let known = self.known();
            if learned.generation != known.generation {
                *learned = Learned::new(&known);
            }
            let history = History::since(store, id, learned.next.min(from)).await?;
            let (began, next) = (history.head.began, history.head.next);
            let is_another = learned.next > 0 && (learned.began != began || learned.next > next);
            if is_another {
                *learned = Learned::new(&known);
            }
            if is_another || self.known().generation != known.generation {
                continue;
            }
            learned.redactor.learn(&history);
            self.learn_live(&mut learned.redactor, id);
            (learned.began, learned.next) = (began, next);
            return Ok((&learned.redactor, history));
        }
    }

    /// Forgets a session.
    pub(crate) async fn forget(&self, id: &SessionId) {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).of.remove(id);
        self.by_session.lock().await.remove(id);
    }
}

/// Hides secrets in a value that a person or a program reads; its structure remains.
pub(crate) fn hide(redactor: &Redactor, json: &mut Json) {
    match json {
        Json::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                let is_structure = STRUCTURE.contains(&&**key) && !value.is_object() && !value.is_array();
                match value {
                    _ if is_structure => {}
                    Json::Object(_) if key == "payload" => hide(redactor, value),
                    _ => hide_whole(redactor, value),
                }
            }
        }
        _ => hide_whole(redactor, json),
    }
}

fn hide_whole(redactor: &Redactor, json: &mut Json) {
    let hidden = Value::from_json(&json.to_string()).ok().and_then(|mut value| {
        redactor.value(&mut value);
        serde_json::from_str(&value.to_json()).ok()
    });
    // An unreadable value may be a secret.
    *json = hidden.unwrap_or(Json::Null);
}

impl std::fmt::Debug for Redactions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactions")
    }
}
