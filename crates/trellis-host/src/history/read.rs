//! Reading a history: every readable record, and the flaws, with their places.
//!
//! **Invariant:** one unreadable record costs itself and the states that need it; the rest survives.

use std::sync::Arc;

use trellis_core::{NodeId, SessionId, State};

use super::HistoryError;
use crate::{
    journal::{Entry, LeftOut, Record, TypedSecrets},
    store::{Head, RECORDS_PER_PAGE, SessionStore, Snapshot, StoreError, Stored, check_name, read},
};

/// Records in which the beginning of an epoch is looked for first.
const WINDOW: u64 = 256;

/// The stored records of a session.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use std::sync::Arc;
///
/// use trellis_core::{Input, Start};
/// use trellis_host::{
///     Bindings, Sessions,
///     history::History,
///     store::MemoryStore,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let store = Arc::new(MemoryStore::new());
/// let sessions = Sessions::new(engine, Bindings::none())?.store(store.clone(), "hello");
/// let asked = sessions.start(Start::default()).await?;
/// sessions.send(&asked.session, asked.answer(Input::Text("Ana".into()))).await?;
///
/// let history = History::open(&*store, &asked.session).await?;
/// assert_eq!(history.records.last().map(|record| record.seq + 1), Some(history.head.next));
/// assert!(history.flaws.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct History {
    /// Its head.
    pub head: Head,
    /// Records that can be read, in order.
    pub records: Vec<Record>,
    /// The missing records, in order.
    pub flaws: Vec<Flaw>,
    /// The newest snapshot, and the number of the first record that is not in it.
    pub snapshot: Option<(u64, State)>,
    /// The typed secrets in that snapshot.
    pub typed: TypedSecrets,
}

/// Records that are missing, or one that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flaw {
    /// The first of them.
    pub seq: u64,
    /// The next one that exists.
    pub until: u64,
    /// The reason.
    pub why: Arc<str>,
    /// True if they were removed on purpose: the oldest ones, which a snapshot covers.
    pub is_pruned: bool,
}

impl History {
    /// Reads all stored records of a session.
    ///
    /// # Errors
    /// There is no such session, it is sealed and the key is not there, or the store fails.
    pub async fn open(store: &dyn SessionStore, id: &SessionId) -> Result<Self, HistoryError> {
        Self::since(store, id, 0).await
    }

    /// Reads the stored records from number `from` on.
    ///
    /// # Errors
    /// As [`History::open`].
    pub async fn since(store: &dyn SessionStore, id: &SessionId, from: u64) -> Result<Self, HistoryError> {
        let stored = stored(store, id).await?;
        let mut history = Self::empty(&stored);
        history.read(store, from, stored.head.next).await?;
        Ok(history)
    }

    fn empty(stored: &Stored) -> Self {
        // An unreadable snapshot is no loss as long as the records exist.
        let snapshot = stored.snapshot.as_ref().and_then(|(next, text)| Some((*next, serde_json::from_str::<Snapshot>(text).ok()?)));
        let (snapshot, typed) = match snapshot {
            Some((next, Snapshot { state, typed, .. })) => (Some((next, state)), typed),
            None => (None, TypedSecrets::unknown()),
        };
        Self { head: stored.head.clone(), records: Vec::new(), flaws: Vec::new(), snapshot, typed }
    }

    /// Reads the records from `from` to before `until`.
    async fn read(&mut self, store: &dyn SessionStore, from: u64, until: u64) -> Result<(), HistoryError> {
        let mut next = from;
        while next < until {
            let limit = usize::try_from(until - next).map_or(RECORDS_PER_PAGE, |left| left.min(RECORDS_PER_PAGE));
            let rows = store.records(&self.head.session, next, limit).await?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                self.miss(next, row.seq, "it is not there");
                match read(self.head.session.as_str(), &row) {
                    Ok(record) => self.records.push(record),
                    // The record is sound: the reader lacks the key.
                    Err(error @ StoreError::Key(_)) => return Err(error.into()),
                    Err(error) => self.miss(row.seq, row.seq + 1, &error.to_string()),
                }
                next = next.max(row.seq + 1);
            }
        }
        self.miss(next, until, "it is not there");
        Ok(())
    }

    /// Notes that the records from `seq` to before `until` are missing, if there are any.
    fn miss(&mut self, seq: u64, until: u64, why: &str) {
        if seq < until {
            let held = self.snapshot.as_ref().map_or(0, |(next, _)| *next);
            let is_pruned = seq == 0 && until <= held && self.records.is_empty() && why.starts_with("it is not");
            self.flaws.push(Flaw { seq, until, why: why.into(), is_pruned });
        }
    }

    /// Returns the texts typed at nodes for which `asks` holds: those that ask for a secret. A missing record may have been such an answer.
    pub(crate) fn typed(&self, asks: impl Fn(Option<&NodeId>) -> bool) -> TypedSecrets {
        let mut typed = typed_in(&self.records, asks);
        typed.join_texts(&self.typed);
        let held = self.snapshot.as_ref().map_or(0, |(held, _)| *held);
        let lost = self.flaws.iter().map(|flaw| if flaw.until <= held { self.typed.left_out() } else { LeftOut::Unknown }).max();
        typed.without(lost.unwrap_or_default())
    }

    /// Like [`History::typed`], for the state after record `seq`.
    pub(crate) fn typed_by(&self, seq: u64, asks: impl Fn(Option<&NodeId>) -> bool) -> TypedSecrets {
        let typed = self.typed(asks);
        let is_held = self.snapshot.as_ref().is_some_and(|(held, _)| *held <= seq + 1);
        if is_held || typed.left_out() == LeftOut::Nothing { typed.settled() } else { typed.without(LeftOut::Unknown) }
    }

    /// Returns the state of the session after a record.
    ///
    /// # Errors
    /// There is no such record, or the records that lead there are not all there.
    pub fn at(&self, seq: u64) -> Result<State, HistoryError> {
        let session = || self.head.session.clone();
        if seq >= self.head.next {
            return Err(HistoryError::NoRecord { session: session(), seq, last: self.head.next.saturating_sub(1) });
        }
        let upto = self.records.partition_point(|record| record.seq <= seq);
        let mut next = seq + 1;
        let held = self.snapshot.as_ref().filter(|(held, _)| *held <= seq + 1);
        let mut first = upto;
        let mut state = loop {
            if let Some((_, state)) = held.filter(|(held, _)| *held == next) {
                break state.clone();
            }
            let Some(record) = first.checked_sub(1).map(|at| &self.records[at]).filter(|record| record.seq + 1 == next) else {
                let missing = next.saturating_sub(1);
                let flaw = self.flaws.iter().find(|flaw| (flaw.seq..flaw.until).contains(&missing));
                let why = match flaw {
                    Some(flaw) if flaw.is_pruned => format!("records before {} were taken out", flaw.until),
                    Some(flaw) if flaw.why.starts_with("record") => flaw.why.to_string(),
                    _ => format!("record {missing} is not there"),
                };
                return Err(HistoryError::Lost { session: session(), seq, why });
            };
            if let Some(state) = record.entry.epoch().filter(|_| record.child.is_none()) {
                break state.clone();
            }
            (first, next) = (first - 1, record.seq);
        };
        for record in self.records[first..upto].iter().filter(|record| record.child.is_none()) {
            record.apply(&mut state);
        }
        Ok(state)
    }
}

/// Returns the texts in records that were typed at nodes for which `asks` holds: those that ask for a secret.
pub(super) fn typed_in(records: &[Record], asks: impl Fn(Option<&NodeId>) -> bool) -> TypedSecrets {
    let mut typed = TypedSecrets::default();
    for record in records {
        match &record.entry {
            Entry::Start { origin: Some(origin), .. } => typed.join(&origin.typed),
            Entry::Input { input } if asks(record.from.as_ref()) => typed.add(input),
            _ => {}
        }
    }
    typed
}

/// A session as it is stored.
pub(super) async fn stored(store: &dyn SessionStore, id: &SessionId) -> Result<Stored, HistoryError> {
    check_name(id.as_str())?;
    let found = store.load(std::slice::from_ref(id)).await?.pop().flatten();
    found.ok_or_else(|| HistoryError::Unknown(id.clone()))
}

/// Returns the state of a session after a record. Of a long history only the part from the last whole state on is read.
///
/// # Errors
/// As [`History::at`].
pub async fn state_at(store: &dyn SessionStore, stored: &Stored, seq: u64) -> Result<State, HistoryError> {
    let mut window = WINDOW;
    loop {
        let mut part = History::empty(stored);
        let from = (seq + 1).saturating_sub(window);
        part.read(store, from, stored.head.next.min(seq + 1)).await?;
        match part.at(seq) {
            Err(HistoryError::Lost { .. }) if from > 0 && part.flaws.is_empty() => window = window.saturating_mul(4),
            done => return done,
        }
    }
}
