//! The journal: what happened to a session, append-only; its state is the fold of it (design §6).
//!
//! In go records as steps are accepted, out come the session's state, its moments for a replay, and its history for people. Refused inputs are
//! no records. Stores for files and databases will stand beside [`MemoryJournal`].
//!
//! **Invariant:** record `n` has `seq` `n`; nothing is ever changed or removed; a record without [`Entry::Start`] or [`Entry::Reload`] holds no state.

use std::{fmt, sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use trellis_core::{
    Engine, Event, Input, Mapping, NodeId, SignalName, Start, State, ToolResult,
    engine::{Answers, Divergence, Moment},
    state::Ended,
};

/// Tells the time for records, in milliseconds since 1970; handed in, so that a test or a replay is exact.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock that asks `now`.
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The machine's clock.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// A clock that stands still.
    pub fn fixed(at: u64) -> Self {
        Self::new(move || at)
    }

    /// The time.
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

/// One thing that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What was handed in.
    #[serde(flatten)]
    pub entry: Entry,
    /// The node before; nothing for a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeId>,
    /// The node after.
    pub to: NodeId,
    /// What happened on the way, answers of predicates included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The program that did it.
    pub program: Arc<str>,
}

/// What a record is about: its `kind`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// The session began; opens an epoch.
    Start {
        /// With what.
        start: Box<Start>,
        /// Where it was then.
        state: Box<State>,
    },
    /// An input was accepted, or a node passed through.
    Input {
        /// Which.
        input: Input,
    },
    /// The result of the pending call was accepted.
    Result {
        /// Which.
        result: Box<ToolResult>,
    },
    /// A signal was taken.
    Signal {
        /// Which.
        signal: SignalName,
    },
    /// Keys were supplied from outside.
    Context {
        /// Which.
        keys: Mapping,
    },
    /// The program changed; opens an epoch.
    Reload {
        /// Where the session is on the new program.
        state: Box<State>,
    },
    /// The result of a call that the session had left arrived; it moved nothing (language 7.6).
    Late {
        /// Which.
        result: Box<ToolResult>,
    },
    /// The session ended; what the step before it came to.
    End {
        /// How.
        ended: Arc<Ended>,
    },
}

impl Record {
    /// The record as a moment of a replay; nothing for records that hand nothing to the engine.
    pub fn moment(&self) -> Option<Moment> {
        let input = match &self.entry {
            Entry::Input { input } => input.clone(),
            Entry::Result { result } | Entry::Late { result } => Input::Result((**result).clone()),
            Entry::Signal { signal } => Input::Signal(signal.clone()),
            Entry::Start { .. } | Entry::Context { .. } | Entry::Reload { .. } | Entry::End { .. } => return None,
        };
        Some(Moment { input, answers: self.answers(), to: Some(self.to.clone()) })
    }

    /// What predicates answered in this step (language 6.2).
    pub fn answers(&self) -> Answers {
        let answers = self.events.iter().filter_map(|event| match event {
            Event::Predicate { name, answer } => Some((Arc::clone(name), *answer)),
            _ => None,
        });
        answers.collect()
    }
}

/// Somebody else appended first: reload the session and try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {offered} cannot be appended: the journal goes on with {expected}")]
pub struct Conflict {
    /// The `seq` that comes next.
    pub expected: u64,
    /// The `seq` that was offered.
    pub offered: u64,
}

/// A journal in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    records: Vec<Record>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The `seq` that comes next.
    pub fn next_seq(&self) -> u64 {
        self.records.len() as u64
    }

    /// Appends a record; its `seq` names what the writer expects to come next.
    ///
    /// # Errors
    /// Another record has that `seq` already, or one before it is missing; nothing was appended.
    pub fn append(&mut self, record: Record) -> Result<(), Conflict> {
        let expected = self.next_seq();
        if record.seq != expected {
            return Err(Conflict { expected, offered: record.seq });
        }
        self.records.push(record);
        Ok(())
    }

    /// All records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

/// The state that records lead to: the latest epoch's state, and every step since taken again with the recorded answers.
///
/// # Errors
/// The records open no epoch, or the engine's program does not go the way they went.
pub fn fold(engine: &Engine, records: &[Record]) -> Result<State, Divergence> {
    let epoch = records.iter().rposition(|record| matches!(record.entry, Entry::Start { .. } | Entry::Reload { .. }));
    let Some((Entry::Start { state, .. } | Entry::Reload { state }, epoch)) = epoch.map(|at| (&records[at].entry, at)) else {
        return Err(Divergence { moment: None, node: None, at: None, message: "the journal holds no start".into() });
    };
    let mut state = (**state).clone();
    for (index, record) in records.iter().enumerate().skip(epoch + 1) {
        let diverged = |node: &NodeId, message| Divergence { moment: Some(index), node: Some(node.clone()), at: None, message };
        if let Entry::Context { keys } = &record.entry {
            for (key, value) in keys.iter() {
                state.context.insert(key.clone(), value.clone());
            }
        } else if let Some(Moment { input, answers, .. }) = record.moment() {
            let step = if answers.is_empty() { engine.navigate(&state, input) } else { engine.answering(answers).navigate(&state, input) };
            state = step.map_err(|refusal| diverged(&state.current_node_id, refusal.to_string()))?.state;
        }
        if state.current_node_id != record.to {
            return Err(diverged(&state.current_node_id, format!("the record leads to `{}`", record.to)));
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use trellis_core::Value;

    use super::*;

    fn record(seq: u64) -> Record {
        let entry = Entry::Input { input: Input::Text("hi".into()) };
        let events = vec![Event::Predicate { name: "urgent".into(), answer: true }, Event::Left("a".into()), Event::Entered("b".into())];
        Record { seq, at: 7, entry, from: Some("a".into()), to: "b".into(), events, program: "p1".into() }
    }

    #[test]
    fn an_append_that_expects_another_seq_is_a_conflict() {
        let mut journal = MemoryJournal::new();
        journal.append(record(0)).unwrap();
        assert_eq!(journal.append(record(0)), Err(Conflict { expected: 1, offered: 0 }));
        assert_eq!(journal.append(record(2)), Err(Conflict { expected: 1, offered: 2 }));
        assert_eq!(journal.records().len(), 1);
    }

    #[test]
    fn a_record_is_snake_case_json_and_comes_back() {
        let json = serde_json::to_string(&record(3)).unwrap();
        let expected = r#"{"seq":3,"at":7,"kind":"input","input":{"text":"hi"},"from":"a","to":"b","events":[{"predicate":{"name":"urgent","answer":true}},{"left":"a"},{"entered":"b"}],"program":"p1"}"#;
        assert_eq!(json, expected);
        let back: Record = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
        assert_eq!(back.answers(), Answers::from([("urgent".into(), true)]));
    }

    #[test]
    fn exact_integers_survive_a_record() {
        let entry = Entry::Input { input: Input::Value(Value::UInt(u64::MAX)) };
        let json = serde_json::to_string(&Record { entry, ..record(0) }).unwrap();
        let back: Record = serde_json::from_str(&json).unwrap();
        assert!(matches!(back.entry, Entry::Input { input: Input::Value(Value::UInt(u64::MAX)) }));
    }
}
