//! The judge of sessions whose process was killed, by their store, the acknowledgements and the tools.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    ops::Range,
    path::Path,
};

use trellis_core::{Engine, SessionId, ToolOutcome};
use trellis_host::{
    Entry, Record,
    journal::{fold, replay},
    store::{Row, SessionStore, Snapshot, StoreError, read},
};

use super::{graph, worker};

/// The findings.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Everything that must not be; empty when all is well.
    pub flaws: Vec<String>,
    /// Records in the store.
    pub records: usize,
    /// Turns that were acknowledged.
    pub acknowledged: usize,
    /// Calls that the tools wrote down.
    pub calls: usize,
    /// The number of those that were made again under the same key.
    pub repeated: usize,
    /// Sessions that ended.
    pub ended: usize,
    /// Moments at which a session had children that were alive.
    pub inside: usize,
    /// Items that `values.append` stored.
    pub noted: usize,
}

impl Verdict {
    /// The sum of two rounds.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.flaws.extend(other.flaws);
        self.records += other.records;
        self.acknowledged += other.acknowledged;
        self.calls += other.calls;
        self.repeated += other.repeated;
        self.ended += other.ended;
        self.inside += other.inside;
        self.noted += other.noted;
        self
    }
}

/// Judges all sessions, whose worker was killed at these moments, in milliseconds since 1970.
///
/// # Errors
/// The store or the folder cannot be read.
pub async fn judge(store: &dyn SessionStore, folder: &Path, sessions: usize, killed: &[u64]) -> io::Result<Verdict> {
    let mut verdict = Verdict::default();
    let engine = graph::engine();
    let mut journals = BTreeMap::new();
    for n in 0..sessions {
        let id = worker::name(folder, n);
        match journal(store, &id).await {
            Ok(records) => {
                verdict.records += records.len();
                verdict.ended += usize::from(matches!(records.last().map(|record| &record.entry), Some(Entry::End { .. })));
                verdict.flaws.extend(unsound(&engine, &id, &records));
                journals.insert(id.to_string(), records);
            }
            Err(error) => verdict.flaws.push(error.to_string()),
        }
    }
    let acknowledged = fs::read_to_string(folder.join("acknowledged"))?;
    for line in acknowledged.lines() {
        verdict.acknowledged += 1;
        verdict.flaws.extend(lost(line, &journals));
    }
    let called = fs::read_to_string(folder.join("called"))?;
    twice(&called, &journals, &mut verdict);
    noted(&notes(folder).map_err(io::Error::other)?, &journals, &mut verdict);
    let trees: Vec<Range<u64>> = journals.values().flat_map(|records| trees(records)).collect();
    verdict.inside = killed.iter().filter(|at| trees.iter().any(|tree| tree.contains(at))).count();
    Ok(verdict)
}

/// Returns the items that `values.append` stored, by session.
fn notes(folder: &Path) -> Result<BTreeMap<String, Vec<String>>, rusqlite::Error> {
    let connection = rusqlite::Connection::open(folder.join(graph::VALUES))?;
    let mut rows = connection.prepare("select key, value from entries")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let items = |(key, json): (String, String)| (key, serde_json::from_str(&json).unwrap_or_default());
    rows.map(|row| row.map(items)).collect()
}

/// Returns the times at which a session had children that were alive.
fn trees(records: &[Record]) -> Vec<Range<u64>> {
    let Some(Entry::Start { state, .. }) = records.first().map(|record| &record.entry) else { return Vec::new() };
    let mut here = Snapshot::beginning((**state).clone(), records[0].at);
    let (mut trees, mut since) = (Vec::new(), None);
    for record in &records[1..] {
        here.take(record);
        if here.children.is_empty() {
            trees.extend(since.take().map(|since| since..record.at));
        } else {
            since.get_or_insert(record.at);
        }
    }
    trees
}

/// Checks that each item of `values.append` is there once: those that a journal knows to be there, and no other.
fn noted(notes: &BTreeMap<String, Vec<String>>, journals: &BTreeMap<String, Vec<Record>>, verdict: &mut Verdict) {
    for (id, records) in journals {
        let found = notes.get(id).map(Vec::as_slice).unwrap_or_default();
        let once: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        let known: BTreeSet<&str> = records.iter().filter_map(appended).collect();
        verdict.noted += found.len();
        if once.len() != found.len() || once != known {
            verdict.flaws.push(format!("{id}: {found:?} was appended, and the journal knows of {known:?}"));
        }
    }
}

/// The key of a call of `values.append` that succeeded by this record.
fn appended(record: &Record) -> Option<&str> {
    let Entry::Result { result } = &record.entry else { return None };
    let is_note = record.from.as_ref().is_some_and(|node| node.as_str() == "note");
    let is_done = is_note && matches!(result.outcome, ToolOutcome::Success(_));
    result.id.as_str().rsplit_once('-').filter(|_| is_done).map(|(key, _)| key)
}

/// All records of a session.
///
/// # Errors
/// The store fails, or a record cannot be read.
pub async fn journal(store: &dyn SessionStore, id: &SessionId) -> Result<Vec<Record>, StoreError> {
    let rows: Vec<Row> = store.records(id, 0, usize::MAX >> 1).await?;
    rows.iter().map(|row| read(id.as_str(), row)).collect()
}

/// Returns the flaws of a journal: it must be whole, and lead where the engine would go, byte for byte.
fn unsound(engine: &Engine, id: &SessionId, records: &[Record]) -> Vec<String> {
    let gap = records.iter().zip(0..).find(|(record, seq)| record.seq != *seq);
    let mut flaws: Vec<_> = gap.map(|(_, seq)| format!("{id}: record {seq} is missing")).into_iter().collect();
    match (fold(records), replay(engine, records)) {
        (Ok(folded), Ok(replayed)) => {
            let json = |state| serde_json::to_string(state).expect("a state is JSON");
            if json(&folded) != json(&replayed) {
                flaws.push(format!("{id}: what was recorded is not what happens"));
            }
        }
        (Err(error), _) => flaws.push(format!("{id}: {error}")),
        (_, Err(diverged)) => flaws.push(format!("{id}: {diverged:?}")),
    }
    flaws
}

/// Returns the flaw of an acknowledged line `session next step` that is not there.
fn lost(line: &str, journals: &BTreeMap<String, Vec<Record>>) -> Option<String> {
    let mut words = line.split(' ');
    let (Some(id), Some(next), Some(step)) = (words.next(), words.next(), words.next()) else {
        return Some(format!("a torn line: {line}"));
    };
    let (next, step): (usize, u64) = (next.parse().ok()?, step.parse().ok()?);
    let there = journals.get(id).and_then(|records| records.get(..next)).and_then(|records| fold(records).ok());
    match there {
        Some(state) if state.step == step => None,
        Some(state) => Some(format!("{id}: step {step} was acknowledged at record {next}, there is step {}", state.step)),
        None => Some(format!("{id}: record {next} was acknowledged and is not there")),
    }
}

/// Checks that no call ran under two keys, or under a key that no journal knows.
fn twice(called: &str, journals: &BTreeMap<String, Vec<Record>>, verdict: &mut Verdict) {
    let known: BTreeSet<&str> = journals.values().flatten().flat_map(keys).collect();
    let mut by_call: BTreeMap<(&str, &str), BTreeMap<&str, usize>> = BTreeMap::new();
    for line in called.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(tool), Some(key), Some(args)) = (words.next(), words.next(), words.next()) else {
            verdict.flaws.push(format!("a torn line of the tools: {line}"));
            continue;
        };
        verdict.calls += 1;
        if !known.contains(key) {
            verdict.flaws.push(format!("`{tool}` was called under {key}, which no journal knows"));
        }
        *by_call.entry((tool, args)).or_default().entry(key).or_default() += 1;
    }
    for ((tool, args), keys) in by_call {
        // The same call is made once in the life of a session, and anew only where it was given up before it ever succeeded.
        verdict.repeated += keys.values().map(|times| times - 1).sum::<usize>();
        if keys.len() > 1 + given_up(journals, &keys) {
            verdict.flaws.push(format!("`{tool}` {args} ran under {} keys: {:?}", keys.len(), keys.keys().collect::<Vec<_>>()));
        }
    }
}

/// The keys of the calls that a record yields.
fn keys(record: &Record) -> impl Iterator<Item = &str> {
    let changed = record.changes.call.iter().flatten().map(|call| call.idempotency_key.as_str());
    let begins = match &record.entry {
        Entry::Start { state, .. } => Some(&**state),
        entry => entry.epoch(),
    };
    let whole = begins.and_then(|state| state.pending_tool_call.as_ref()).map(|call| call.idempotency_key.as_str());
    changed.chain(whole)
}

/// Returns the number of these calls that were settled without success, for good, before one of them succeeded.
fn given_up(journals: &BTreeMap<String, Vec<Record>>, made: &BTreeMap<&str, usize>) -> usize {
    let settled = |record: &Record| {
        let Entry::Result { result } = &record.entry else { return None };
        let is_of = |key: &str| result.id.as_str().strip_prefix(key).is_some_and(|attempt| attempt.starts_with('-'));
        let key = made.keys().find(|key| is_of(key))?;
        let is_tried_again = keys(record).any(|pending| pending == *key);
        (!is_tried_again).then_some(matches!(result.outcome, ToolOutcome::Success(_)))
    };
    journals.values().flatten().filter_map(settled).take_while(|succeeded| !succeeded).count()
}
