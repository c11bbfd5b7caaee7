//! Values that outlive a session: a host stores them by key, with versions and an expiry, over any store.
//!
//! ```text
//! put(key, value, expected) ──Append──▶ SessionStore        a key is kept as a session is: each write a record, its number the version
//! ```
//!
//! **Invariant:** of two writers that expect the same version one wins, and the other gets a conflict; a stored value survives a crash; an expired
//! one is never shown again.

mod entry;

use std::{sync::Arc, time::Duration};

use trellis_core::{SessionId, Value};

use self::entry::{KeyPlace, ValueRecord};
use crate::{
    journal::Clock,
    store::{Append, BadName, HEADS_PER_PAGE, Head, Query, Removal, SessionStatus, SessionStore, StoreError, Which, check_name},
};

/// The largest number of records of a key that are read: beyond them a snapshot replaces them.
const MAX_RECORDS_PER_KEY: u64 = 8;

/// The time for which a removed key keeps its number, in milliseconds: a writer that saw it before must not take another value for it.
const REMEMBERED: u64 = 24 * 60 * 60 * 1_000;

/// The longest key, in bytes: stores make keys of indexes of them.
const MAX_KEY_BYTES: usize = 512;

/// Values of one space. The store should have no other content: `session ls` would list keys beside sessions.
///
/// ```
/// use std::time::Duration;
/// use trellis_core::Value;
/// use trellis_host::{store, key_value::{Expected, Values}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let carts = Values::new(store::open("memory").await?, "carts")?;
/// let first = carts.put("ana", Value::Int(1), Expected::Absent, Some(Duration::from_secs(24 * 3600))).await?;
/// assert!(carts.put("ana", Value::Int(2), Expected::Version(first), None).await.is_ok());
/// assert!(carts.put("ana", Value::Int(3), Expected::Version(first), None).await.is_err(), "somebody was quicker");
/// assert_eq!(carts.get("ana").await?.map(|kept| kept.value), Some(Value::Int(2)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Values {
    store: Arc<dyn SessionStore>,
    space: Arc<str>,
    clock: Clock,
}

/// A value as it is stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredValue {
    /// The value.
    pub value: Value,
    /// The number of writes of its key, which the next writer expects.
    pub version: u64,
    /// The end of its time, in milliseconds since 1970.
    pub until: Option<u64>,
}

/// A value as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// As in [`StoredValue::version`].
    pub version: u64,
    /// The time of its last write, in milliseconds since 1970.
    pub at: u64,
    /// As in [`StoredValue::until`].
    pub until: Option<u64>,
}

/// The state in which a writer believes a key to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No condition: the last writer wins.
    Any,
    /// There is no value.
    Absent,
    /// There is a value of this version.
    Version(u64),
}

/// A failure to read or write a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// It is not as was expected; nothing was written. Get it, and decide again.
    #[error("`{key}` is not as it was expected: {}", version_found(*found))]
    Conflict {
        /// The key.
        key: String,
        /// The present version.
        found: Option<u64>,
    },
    /// No key can be so.
    #[error("a key has 1 to {MAX_KEY_BYTES} bytes and no control characters")]
    Key,
    /// The value cannot be expressed as JSON.
    #[error("the value cannot be stored: it is nested deeper than 120 levels, or holds a number that is none")]
    Value,
    /// The store fails. After [`StoreError::Unavailable`] it may have been written or not: the version shows which.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn version_found(found: Option<u64>) -> String {
    found.map_or_else(|| "there is no value".to_owned(), |version| format!("it has version {version}"))
}

impl Values {
    /// Those of a space: spaces know nothing of each other.
    ///
    /// # Errors
    /// The name of the space is no [name](check_name).
    pub fn new(store: Arc<dyn SessionStore>, space: &str) -> Result<Self, BadName> {
        check_name(space)?;
        Ok(Self { store, space: space.into(), clock: Clock::system() })
    }

    /// Asks another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The value at a key, unless its time is over.
    ///
    /// # Errors
    /// The key is invalid; the store fails, or its record cannot be read.
    pub async fn get(&self, key: &str) -> Result<Option<StoredValue>, ValueError> {
        let (_, found) = self.find(key).await?;
        Ok(found.live(self.clock.now()))
    }

    /// Stores a value at a key and returns its version. After `ttl`, if one is given, it counts as removed.
    ///
    /// # Errors
    /// [`ValueError::Conflict`]: another writer was quicker. [`StoreError::Conflict`]: the store shows an old value, as a copy that lags does.
    /// Otherwise as [`Values::get`].
    pub async fn put(&self, key: &str, value: Value, expected: Expected, ttl: Option<Duration>) -> Result<u64, ValueError> {
        let lasts = ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        let until = lasts.map(|lasts| self.clock.now().saturating_add(lasts));
        self.write(key, &ValueRecord::StoredValue { value, until }, expected).await
    }

    /// Removes the value at a key. A missing one is no error, unless another version is expected.
    ///
    /// # Errors
    /// As [`Values::put`].
    pub async fn remove(&self, key: &str, expected: Expected) -> Result<(), ValueError> {
        let until = self.clock.now().saturating_add(REMEMBERED);
        self.write(key, &ValueRecord::Gone { until }, expected).await.map(drop)
    }

    /// The keys that have a value, those that were written last first: at most `limit`, behind `after`, the last of the page before.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list(&self, after: Option<&Listed>, limit: usize) -> Result<Vec<Listed>, ValueError> {
        let now = self.clock.now();
        let mut listed = Vec::new();
        let mut after = after.map(|last| (last.at, self.session(&last.key)));
        loop {
            let query = Query { graph: Some(self.graph()), which: Which::Newest, after, limit: HEADS_PER_PAGE.min(limit) };
            let is_wanted = |head: &&Head| head.standing == SessionStatus::Active && head.due.is_none_or(|until| until > now);
            let page = self.store.list(query).await?;
            listed.extend(page.iter().filter(is_wanted).filter_map(|head| self.listed(head)));
            listed.truncate(limit);
            after = page.last().map(|head| (head.at, head.session.clone()));
            if after.is_none() || listed.len() == limit {
                return Ok(listed);
            }
        }
    }

    /// Frees the room of values whose time is over, and returns how many there were. It may be stopped at any moment.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sweep(&self) -> Result<usize, ValueError> {
        let (mut after, mut swept) = (None, 0);
        loop {
            let which = Which::Due(self.clock.now());
            let page = self.store.list(Query { graph: Some(self.graph()), which, after, limit: HEADS_PER_PAGE }).await?;
            for head in &page {
                match self.store.remove(&head.session, Removal::Session { expected: head.next }).await {
                    Ok(()) => swept += 1,
                    // Another writer stored a value there meanwhile.
                    Err(StoreError::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            after = page.last().map(|head| (head.due.unwrap_or_default(), head.session.clone()));
            if after.is_none() {
                return Ok(swept);
            }
        }
    }

    async fn write(&self, key: &str, entry: &ValueRecord, expected: Expected) -> Result<u64, ValueError> {
        let text: Arc<str> = entry.text()?.into();
        let mut lost: Option<(u64, StoreError)> = None;
        loop {
            let (session, found) = self.find(key).await?;
            // A store that shows a replaced value once more answers with an old one: further reads would not help.
            if let Some((next, conflict)) = lost.take()
                && next == found.next
            {
                return Err(conflict.into());
            }
            let now = self.clock.now();
            let version = found.live(now).map(|entry| entry.version);
            let is_fit = match expected {
                Expected::Any => true,
                Expected::Absent => version.is_none(),
                Expected::Version(expected) => version == Some(expected),
            };
            match (is_fit, version, entry) {
                (false, ..) => return Err(ValueError::Conflict { key: key.to_owned(), found: version }),
                (true, None, ValueRecord::Gone { .. }) => return Ok(found.next),
                (true, ..) => {}
            }
            let next = found.next + 1;
            match self.store.append(self.append(&session, &found, (entry, &text), now)).await {
                // Another writer was faster; the next read shows whether the condition still holds.
                Err(conflict @ StoreError::Conflict { .. }) => {
                    lost = Some((found.next, conflict));
                    continue;
                }
                Err(error) => return Err(error.into()),
                Ok(()) => {}
            }
            if next.is_multiple_of(MAX_RECORDS_PER_KEY) {
                // The value is stored; old ones that remain are removed the next time.
                let _ = self.store.remove(&session, Removal::Before(next)).await;
            }
            return Ok(next);
        }
    }

    fn append(&self, session: &SessionId, found: &KeyPlace, (entry, text): (&ValueRecord, &Arc<str>), now: u64) -> Append {
        let (standing, due) = match entry {
            ValueRecord::StoredValue { until, .. } => (SessionStatus::Active, *until),
            ValueRecord::Gone { until } => (SessionStatus::Finished, Some(*until)),
        };
        let next = found.next + 1;
        let head = Head {
            session: session.clone(),
            graph: self.graph(),
            program: "".into(),
            next,
            began: found.began.unwrap_or(now),
            at: now,
            node: "".into(),
            standing,
            due,
        };
        let snapshot = next.is_multiple_of(MAX_RECORDS_PER_KEY).then(|| Arc::clone(text));
        Append { session: session.clone(), expected: found.next, records: vec![Arc::clone(text)], head, snapshot }
    }

    async fn find(&self, key: &str) -> Result<(SessionId, KeyPlace), ValueError> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) {
            return Err(ValueError::Key);
        }
        let session = self.session(key);
        let stored = self.store.load(std::slice::from_ref(&session)).await?.pop().flatten();
        let found = stored.map_or_else(|| Ok(KeyPlace::default()), |stored| KeyPlace::read(&session, &stored))?;
        Ok((session, found))
    }

    /// A name of a space holds no `/`.
    fn session(&self, key: &str) -> SessionId {
        format!("{}/{key}", self.space).as_str().into()
    }

    /// No graph has this name, so that no value is taken for a session that is due.
    fn graph(&self) -> Arc<str> {
        format!("values/{}", self.space).into()
    }

    fn listed(&self, head: &Head) -> Option<Listed> {
        let key = head.session.as_str().strip_prefix(&*self.space)?.strip_prefix('/')?;
        Some(Listed { key: key.to_owned(), version: head.next, at: head.at, until: head.due })
    }
}
