//! A store that never sees the values of some keys (`redact:`).
//!
//! ```text
//! Sessions ──Append──▶ Redacted ──Append with marks──▶ SessionStore
//! Sessions ◀──Stored without these keys── Redacted ◀──Stored── SessionStore
//! ```
//!
//! The value at a redacted path is replaced by a mark in every record and snapshot, and so is each copy of it: in inputs, results, arguments,
//! `sys.ans`, other keys. Verbatim copies are found, and copies as JSON writes them; a value that a template or a tool derived from it, such as its
//! digest or its capital letters, is another value. A session that was loaded lacks the keys: it asks for those that it needs (`mark.rs`).
//!
//! **Invariant:** the values are in memory only, as long as this process has a session that does not end.

mod mark;
mod places;
mod secret;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use trellis_core::{Document, Program, SessionId, State, Value, path::KeyPath, syntax::document::Content};

pub use self::mark::{lacking, restore};
use self::secret::{SeenSecrets, strip};
pub(crate) use self::{
    mark::{is_in as is_redacted, whole},
    places::{Place, appended_path, visit},
    secret::{MIN_SEARCHED_BYTES, put_at},
};
use super::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored};

/// Withholds some keys from another store.
///
/// [`Sessions::store`](crate::Sessions::store) wraps its store by itself; a store that other code writes is wrapped so:
///
/// ```
/// use trellis_core::path::KeyPath;
/// use trellis_host::store::{MemoryStore, Redacted};
///
/// let store = Redacted::new(MemoryStore::new(), vec![KeyPath::parse("customer.card").ok_or("it is a path")?]);
/// # drop(store);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Redacted<S> {
    store: S,
    paths: RwLock<Arc<[KeyPath]>>,
    known: Mutex<BTreeMap<SessionId, SeenSecrets>>,
}

impl<S: SessionStore> Redacted<S> {
    /// Withholds the values at `paths` of the context from `store`.
    pub fn new(store: S, paths: Vec<KeyPath>) -> Self {
        Self { store, paths: RwLock::new(paths.into()), known: Mutex::default() }
    }

    /// Withholds the values at the paths that a program names from `store`; none if it names none.
    pub fn of(program: &Program, store: S) -> Self {
        Self::new(store, once(program.redacted().cloned()))
    }

    /// Withholds the paths of another program from the store too, from now on. Earlier paths stay withheld: sessions still hold values that they
    /// were given under that promise.
    pub fn keep_from(&self, program: &Program) {
        let mut paths = self.paths.write().unwrap_or_else(PoisonError::into_inner);
        *paths = once(paths.iter().chain(program.redacted()).cloned()).into();
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SessionId, SeenSecrets>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hide(&self, mut append: Append) -> Result<Append, StoreError> {
        let paths = self.paths();
        if paths.is_empty() {
            return Ok(append);
        }
        let mut known = self.known();
        let mut secrets = known.get(&append.session).cloned().unwrap_or_default();
        // Copies may precede the key: all of the append is learned first.
        let mut texts = Vec::with_capacity(append.records.len() + 1);
        for text in append.records.iter().chain(&append.snapshot) {
            let mut value = Value::from_json(text)
                .map_err(|error| StoreError::Corrupt { place: format!("session `{}`", append.session), message: error.to_string() })?;
            let short = secrets.learn(&mut value, &paths);
            texts.push((value, short));
        }
        let mut hidden = texts.into_iter().map(|(mut value, short)| {
            secrets.hide(&short, &mut value, &paths);
            Arc::<str>::from(value.to_json())
        });
        append.records = hidden.by_ref().take(append.records.len()).collect();
        append.snapshot = hidden.next();
        if !secrets.is_empty() {
            known.insert(append.session.clone(), secrets);
        }
        Ok(append)
    }

    /// Returns the text without redacted values. Values that were stored before the key was redacted are still in it, and are learned from now on.
    fn shown(&self, session: &SessionId, text: Arc<str>) -> Arc<str> {
        let paths = self.paths();
        if paths.is_empty() {
            return text;
        }
        let Ok(mut value) = Value::from_json(&text) else { return text };
        let mut known = self.known();
        let mut secrets = known.get(session).cloned().unwrap_or_default();
        secrets.learn(&mut value, &paths);
        if !secrets.is_empty() {
            known.insert(session.clone(), secrets);
        }
        if !mark::is_in(&text) {
            return text;
        }
        strip(&mut value, &paths);
        value.to_json().into()
    }

    fn row(&self, session: &SessionId, row: Row) -> Row {
        Row { seq: row.seq, text: row.text.map(|text| self.shown(session, text)) }
    }
}

/// Returns the paths in `redact` of a graph, and of those in it, sound or not.
pub fn redacted_by(documents: &[Arc<Document>]) -> Vec<KeyPath> {
    let projects = documents.iter().filter_map(|document| match &document.content {
        Content::Project(project) | Content::Nodes(_, project) => Some(project),
        _ => None,
    });
    once(projects.flat_map(|project| &project.redact).map(|path| path.value.clone()))
}

/// Returns the paths that a program redacts and a state does not have.
pub(crate) fn absent<'p>(program: &'p Program, state: &State) -> impl Iterator<Item = &'p KeyPath> {
    program.redacted().filter(|path| !state.has(path))
}

fn once(paths: impl Iterator<Item = KeyPath>) -> Vec<KeyPath> {
    paths.collect::<BTreeSet<_>>().into_iter().collect()
}

impl<S: SessionStore> SessionStore for Redacted<S> {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        Box::pin(async move {
            let (session, has_ended) = (append.session.clone(), append.head.standing.has_ended());
            self.store.append(self.hide(append)?).await?;
            if has_ended {
                self.known().remove(&session);
            }
            Ok(())
        })
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        Box::pin(async move {
            let stored = self.store.load(sessions).await?.into_iter().map(|stored| {
                stored.map(|Stored { head, snapshot, records }| Stored {
                    snapshot: snapshot.map(|(next, text)| (next, self.shown(&head.session, text))),
                    records: records.into_iter().map(|row| self.row(&head.session, row)).collect(),
                    head,
                })
            });
            Ok(stored.collect())
        })
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        Box::pin(async move {
            let rows = self.store.records(session, from, limit).await?;
            Ok(rows.into_iter().map(|row| self.row(session, row)).collect())
        })
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.store.list(query)
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        Box::pin(async move {
            self.store.remove(session, removal).await?;
            if let Removal::Session { .. } = removal {
                self.known().remove(session);
            }
            Ok(())
        })
    }
}

impl<S> Redacted<S> {
    fn paths(&self) -> Arc<[KeyPath]> {
        Arc::clone(&self.paths.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: fmt::Debug> fmt::Debug for Redacted<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redacted").field("store", &self.store).field("paths", &self.paths()).finish_non_exhaustive()
    }
}
