//! What is secret is shown by no door: the redactor of each session, which learns as its records come.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::Value as Json;
use tokio::sync::Mutex;
use trellis_core::{Document, SessionId, Value};
use trellis_host::{
    history::{History, HistoryError, Redactor},
    store::SessionStore,
};

/// Redactors that are kept at once.
const MAX_KEPT: usize = 256;
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
    documents: RwLock<Arc<Vec<Arc<Document>>>>,
    kept: Mutex<BTreeMap<SessionId, Learned>>,
}

/// A redactor, and the first record that it has not seen.
struct Learned {
    redactor: Redactor,
    next: u64,
}

impl Redactions {
    /// Takes up another version of the graph: what it calls secret is learned anew.
    pub(crate) fn learn_graph(&self, documents: &Arc<Vec<Arc<Document>>>) {
        *self.documents.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(documents);
        if let Ok(mut kept) = self.kept.try_lock() {
            kept.clear();
        }
    }

    /// A redactor that knows nothing of any session yet; none where the graph has no secrets.
    pub(crate) fn fresh(&self) -> Option<Redactor> {
        let documents = self.documents.read().unwrap_or_else(PoisonError::into_inner);
        Some(Redactor::new(Some(&documents))).filter(Redactor::is_needed)
    }

    /// Hides in the JSON of a turn or a line what is secret in its session.
    ///
    /// # Errors
    /// The records of the session cannot be read.
    pub(crate) async fn hide(&self, store: &dyn SessionStore, id: &SessionId, parts: &mut [&mut Json]) -> Result<(), HistoryError> {
        let Some(fresh) = self.fresh() else { return Ok(()) };
        let mut kept = self.kept.lock().await;
        if kept.len() >= MAX_KEPT && !kept.contains_key(id) {
            kept.pop_first();
        }
        let learned = kept.entry(id.clone()).or_insert(Learned { redactor: fresh, next: 0 });
        match History::since(store, id, learned.next).await {
            Ok(history) => {
                learned.redactor.learn(&history);
                learned.next = history.head.next;
            }
            // It has not begun, and nothing was typed.
            Err(HistoryError::Unknown(_)) => {}
            Err(error) => return Err(error),
        }
        parts.iter_mut().for_each(|part| hide(&learned.redactor, part));
        Ok(())
    }

    /// Forgets a session.
    pub(crate) async fn forget(&self, id: &SessionId) {
        self.kept.lock().await.remove(id);
    }
}

/// Hides what is secret in a value that a person or a program reads; what is structure stays.
fn hide(redactor: &Redactor, json: &mut Json) {
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
    let Ok(mut value) = Value::from_json(&json.to_string()) else { return };
    redactor.value(&mut value);
    if let Ok(hidden) = serde_json::from_str(&value.to_json()) {
        *json = hidden;
    }
}

impl std::fmt::Debug for Redactions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactions")
    }
}
