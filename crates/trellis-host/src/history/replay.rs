//! Replaying a history: every recorded step taken again, on the graph as it is now.

use trellis_core::{Engine, State, engine::Divergence};

use super::History;
use crate::journal::{Destination, Entry, Record, retake};

/// The result of a replay that agrees with the record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Replayed {
    /// Records that were taken again.
    pub records: u64,
    /// Records before the first whole state, or behind a gap, that could not be replayed: the state of the session there is unknown.
    pub left_out: u64,
    /// The number of them with redacted values, which were taken to fit their schemas.
    pub redacted: u64,
    /// Records that depend on a redacted value, by number: whether they would lead to the same state is unknown.
    pub unchecked: Vec<u64>,
    /// The state at the end.
    pub state: Option<State>,
}

/// Replays every stored record with the recorded answers, and compares each step with the recorded one: the same state, byte for byte. Redacted
/// values read as marks, so `history` is best opened beneath a store that redacts. A stretch begins where a record has a whole state.
///
/// # Errors
/// The first record that this program does not lead to; its moment is the number of the record.
pub fn replay(engine: &Engine, history: &History) -> Result<Replayed, Box<Divergence>> {
    let mut done = Replayed { records: 0, left_out: 0, redacted: 0, unchecked: Vec::new(), state: None };
    for stretch in stretches(history) {
        let held = history.snapshot.as_ref().filter(|(next, _)| *next == stretch[0].seq).map(|(_, state)| record_of(state, &stretch[0]));
        let begins = stretch.iter().position(|record| record.child.is_none() && record.entry.epoch().is_some());
        let records: Vec<Record> = match (begins, held) {
            (Some(0), _) => stretch.to_vec(),
            // The snapshot replaces the records that were removed.
            (_, Some(held)) => [held].into_iter().chain(stretch.iter().cloned()).collect(),
            (Some(at), None) => stretch[at..].to_vec(),
            (None, None) => Vec::new(),
        };
        let taken = records.len().min(stretch.len());
        done.left_out += (stretch.len() - taken) as u64;
        done.records += taken as u64;
        if let Some(last) = records.last() {
            let retaken = retake(engine, &records).map_err(Box::new)?;
            done.redacted += retaken.redacted;
            done.unchecked.extend(retaken.unchecked);
            done.state = Some(folded(engine, history, retaken.state, last.seq)?);
        }
    }
    Ok(done)
}

/// The end of a stretch, which must be the state that the records fold to.
fn folded(engine: &Engine, history: &History, state: State, last: u64) -> Result<State, Box<Divergence>> {
    if let Ok(folded) = history.at(last) {
        // The program that wrote a state is information only.
        let same = State { program: folded.program.clone(), ..state.clone() };
        if serde_json::to_string(&same).ok() != serde_json::to_string(&folded).ok() {
            let message = "yields another state than the records".to_owned();
            return Err(Box::new(engine.diverged(usize::try_from(last).ok(), state.current_node_id, message)));
        }
    }
    Ok(state)
}

/// Records without a gap between them.
fn stretches(history: &History) -> impl Iterator<Item = &[Record]> {
    history.records.chunk_by(|one, next| one.seq + 1 == next.seq)
}

/// Returns a snapshot as the record that it replaces.
fn record_of(state: &State, before: &Record) -> Record {
    let seq = before.seq.saturating_sub(1);
    Record {
        seq,
        at: before.at,
        entry: Entry::Move { to: Destination::Back(seq), state: Box::new(state.clone()) },
        child: None,
        from: None,
        to: state.current_node_id.clone(),
        events: Vec::new(),
        changes: Box::default(),
        program: state.program.clone(),
        still_asked: false,
        question: None,
        request: None,
        unasked: Vec::new(),
    }
}
