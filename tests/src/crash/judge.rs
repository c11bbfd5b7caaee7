//! What a store, the acknowledgements and the tools say of sessions whose process was killed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use trellis_core::{Engine, SessionId, ToolOutcome};
use trellis_host::{
    Entry, Record,
    journal::{fold, replay},
    store::{Row, SessionStore, StoreError, read},
};

use super::{graph, worker};

/// What was found.
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
    /// How many of them were made again under the same key.
    pub repeated: usize,
    /// Sessions that ended.
    pub ended: usize,
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
        self
    }
}

/// Judges all sessions.
///
/// # Errors
/// The store or the folder cannot be read.
pub async fn judge(store: &dyn SessionStore, folder: &Path, sessions: usize) -> io::Result<Verdict> {
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
    Ok(verdict)
}

/// All records of a session.
///
/// # Errors
/// The store fails, or a record cannot be read.
pub async fn journal(store: &dyn SessionStore, id: &SessionId) -> Result<Vec<Record>, StoreError> {
    let rows: Vec<Row> = store.records(id, 0, usize::MAX >> 1).await?;
    rows.iter().map(|row| read(id.as_str(), row)).collect()
}

/// Whether a journal is whole, and leads where the engine would go, byte for byte.
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

/// Whether something that was acknowledged is not there: `session next step`.
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

/// Whether a call ran under two keys, or under a key that no journal knows.
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

/// How many of these calls were settled without success, for good, before one of them succeeded.
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
