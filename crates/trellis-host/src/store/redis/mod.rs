//! A store in a Redis.
//!
//! ```text
//! PREFIX:format        the format that everything here has
//! PREFIX:s:SESSION     a hash: next, head, graph, newest, due; snapshot and held, the number after it; first, the oldest record that is kept
//! PREFIX:r:SESSION     a list: the records
//! PREFIX:newest[:GRAPH], PREFIX:due[:GRAPH]    sorted sets, all scores 0: 16 hexadecimal digits, a colon, SESSION
//! ```
//!
//! Each operation is one script, so that it happens whole or not at all. The durability of an append is that of the server: it has to run with
//! `appendonly yes` and `appendfsync always` to lose nothing when its machine does ([`RedisStore::weaknesses`]). One server, no cluster: scripts name
//! keys of different slots.
//!
//! **Invariant:** a list holds the records `first..next` of its session; each session is in `newest` once, and in `due` while it is due.

mod link;

use std::{fmt, sync::Arc, time::Duration};

use ::redis::{Client, Script};
use trellis_core::SessionId;

use self::link::Link;
use super::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored, Which, address::Address};

/// The format that this version writes.
const LAYOUT_FORMAT: u64 = 1;

/// The number of sessions that one script loads: while it runs, the server answers no other client.
const AT_ONCE: usize = 64;

/// Stores sessions in a Redis.
pub struct RedisStore {
    link: Link,
    prefix: String,
    name: Arc<str>,
    scripts: Scripts,
}

struct Scripts {
    append: Script,
    load: Script,
    records: Script,
    list: Script,
    remove: Script,
}

/// The result of `load.lua` for a session: head, snapshot, held, the number of the first record, records.
type Loaded = (Vec<u8>, String, String, u64, Vec<String>);

impl RedisStore {
    /// Creates a store at `redis://[user:password@]host[:port][/database][?prefix=name]`; its keys begin with the prefix, `trellis` by default.
    /// It connects at the first call.
    ///
    /// # Errors
    /// This is no such address.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let address = Address::new(url, "prefix")?;
        let client =
            Client::open(address.url.as_str()).map_err(|_| address.malformed("redis://user:password@host:6379/0?prefix=trellis"))?;
        let prefix = address.own.unwrap_or_else(|| "trellis".to_owned());
        let scripts = Scripts {
            append: Script::new(include_str!("append.lua")),
            load: Script::new(include_str!("load.lua")),
            records: Script::new(include_str!("records.lua")),
            list: Script::new(include_str!("list.lua")),
            remove: Script::new(include_str!("remove.lua")),
        };
        let link = Link::new(client, prefix.clone(), Arc::clone(&address.shown), Duration::from_secs(10));
        Ok(Self { link, prefix, name: address.shown, scripts })
    }

    /// Sets the longest duration of a call; the default is 10 s.
    #[must_use]
    pub fn with_bound(mut self, bound: Duration) -> Self {
        self.link.bound = bound;
        self
    }

    /// Returns the settings by which the server could lose acknowledged records, a line each, as far as it discloses them.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn weaknesses(&self) -> Result<Vec<String>, StoreError> {
        let mut weaknesses = Vec::new();
        match self.link.setting("appendonly").await?.as_deref() {
            Some("no") => weaknesses.push("`appendonly` is `no`: a crash of the server loses sessions; set it to `yes`".to_owned()),
            Some(_) => match self.link.setting("appendfsync").await?.as_deref() {
                Some("always") | None => {}
                Some(other) => {
                    weaknesses.push(format!("`appendfsync` is `{other}`: a crash of its machine loses the last steps; set it to `always`"))
                }
            },
            None => weaknesses.push("it does not say whether it syncs what it writes; see to `appendfsync always`".to_owned()),
        }
        if let Some(policy) = self.link.setting("maxmemory-policy").await?
            && policy.starts_with("allkeys")
        {
            weaknesses.push(format!("`maxmemory-policy` is `{policy}`: a full server throws sessions away; set it to `noeviction`"));
        }
        Ok(weaknesses)
    }

    async fn put(&self, append: Append) -> Result<(), StoreError> {
        let Append { session, expected, records, head, snapshot } = append;
        let text = serde_json::to_string(&head).map_err(|error| self.corrupt(&session, &error.to_string()))?;
        let mut call = self.scripts.append.arg(&self.prefix);
        call.arg(session.as_str()).arg(expected.to_string()).arg(head.next.to_string()).arg(text).arg(&*head.graph);
        call.arg(place(u64::MAX - head.at, &session)).arg(head.due.map_or_else(String::new, |due| place(due, &session)));
        call.arg(if snapshot.is_some() { "1" } else { "0" }).arg(snapshot.as_deref().unwrap_or(""));
        for record in &records {
            call.arg(&**record);
        }
        self.conflict(self.link.run(&call).await?, session, expected)
    }

    /// Returns the conflict that a script found.
    fn conflict(&self, found: String, session: SessionId, expected: u64) -> Result<(), StoreError> {
        if found.is_empty() {
            return Ok(());
        }
        let found = found.parse().map_err(|_| self.corrupt(&session, "its number is none"))?;
        Err(StoreError::Conflict { session, expected, found })
    }

    async fn take(&self, sessions: &[SessionId]) -> Result<Vec<Option<Stored>>, StoreError> {
        let mut found = Vec::with_capacity(sessions.len());
        for some in sessions.chunks(AT_ONCE) {
            let mut call = self.scripts.load.arg(&self.prefix);
            for session in some {
                call.arg(session.as_str());
            }
            let loaded: Vec<Option<Loaded>> = self.link.run(&call).await?;
            for (loaded, session) in loaded.into_iter().zip(some) {
                found.push(loaded.map(|loaded| self.stored(session, loaded)).transpose()?);
            }
        }
        Ok(found)
    }

    fn stored(&self, session: &SessionId, loaded: Loaded) -> Result<Stored, StoreError> {
        let (head, snapshot, held, first, records) = loaded;
        let snapshot = match held.parse() {
            Ok(held) => Some((held, snapshot.into())),
            Err(_) if held.is_empty() => None,
            Err(_) => return Err(self.corrupt(session, "the number of its snapshot is none")),
        };
        Ok(Stored { head: self.head(session, &head)?, snapshot, records: rows(first, records) })
    }

    fn head(&self, session: &SessionId, text: &[u8]) -> Result<Head, StoreError> {
        serde_json::from_slice(text).map_err(|error| self.corrupt(session, &format!("its head is none: {error}")))
    }

    fn corrupt(&self, session: &SessionId, message: &str) -> StoreError {
        StoreError::Corrupt { place: format!("session `{session}` in {}", self.name), message: message.to_owned() }
    }

    async fn page(&self, query: Query) -> Result<Vec<Head>, StoreError> {
        let (list, from, to) = match query.which {
            Which::Newest => {
                let after = query.after.map(|(at, session)| place(u64::MAX - at, &session));
                ("newest", after, "+".to_owned())
            }
            // The character after the colon in the order of bytes: all sessions of this moment are before it.
            Which::Due(by) => ("due", query.after.map(|(due, session)| place(due, &session)), format!("({by:016x};")),
        };
        let graph = query.graph.map_or_else(String::new, |graph| format!(":{graph}"));
        let mut call = self.scripts.list.arg(&self.prefix);
        call.arg(format!(":{list}{graph}")).arg(from.map_or_else(|| "-".to_owned(), |from| format!("({from}"))).arg(to);
        let found: Vec<(String, Vec<u8>)> = self.link.run(call.arg(query.limit.min(MAX_LIMIT))).await?;
        let listed = |(place, head): (String, Vec<u8>)| {
            let (number, session) = place.split_once(':').unwrap_or_default();
            let session = SessionId::from(session);
            serde_json::from_slice(&head).unwrap_or_else(|_| unreadable(query.which, number, session))
        };
        Ok(found.into_iter().map(listed).collect())
    }

    async fn take_out(&self, session: &SessionId, removal: Removal) -> Result<(), StoreError> {
        let (expected, before) = match removal {
            Removal::Session { expected } => (expected.to_string(), 0),
            Removal::Before(seq) => (String::new(), seq.min(EXACT)),
        };
        let mut call = self.scripts.remove.arg(&self.prefix);
        call.arg(session.as_str()).arg(&expected).arg(before);
        self.conflict(self.link.run(&call).await?, session.clone(), expected.parse().unwrap_or_default())
    }

    async fn history(&self, session: &SessionId, from: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        let mut call = self.scripts.records.arg(&self.prefix);
        call.arg(session.as_str()).arg(from.min(EXACT)).arg(limit.min(MAX_LIMIT));
        let (first, records): (u64, Vec<String>) = self.link.run(&call).await?;
        Ok(rows(first, records))
    }
}

/// The greatest number that scripts count with.
const EXACT: u64 = 1 << 52;

/// The largest limit of a query.
const MAX_LIMIT: usize = 1 << 30;

/// Returns the place of a session in a list: numbers as texts of one length are in the order of the numbers.
fn place(number: u64, session: &SessionId) -> String {
    format!("{number:016x}:{session}")
}

/// Returns the head of a session whose head cannot be read, from its place in a list.
fn unreadable(which: Which, number: &str, session: SessionId) -> Head {
    let number = u64::from_str_radix(number, 16).unwrap_or_default();
    match which {
        Which::Newest => Head::unreadable(session, u64::MAX - number),
        Which::Due(_) => Head { due: Some(number), ..Head::unreadable(session, 0) },
    }
}

fn rows(first: u64, records: Vec<String>) -> Vec<Row> {
    (first..).zip(records).map(|(seq, text)| Row { seq, text: Ok(text.into()) }).collect()
}

impl SessionStore for RedisStore {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        Box::pin(self.put(append))
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        Box::pin(self.take(sessions))
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        Box::pin(self.history(session, from, limit))
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        Box::pin(self.page(query))
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        Box::pin(self.take_out(session, removal))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("store", &self.name).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
