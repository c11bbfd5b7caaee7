//! A history as a transcript of the suite, so that a report of a defect is a test.
//!
//! Inputs become lines of an author; the program's responses are those of the current graph, so the transcript is valid for the graph that it comes
//! with. A remark marks each difference to the record.
//!
//! **Invariant:** a transcript has no typed secret in it.

mod sheet;

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{
    Engine, Input, State,
    engine::{Answers, Step},
    state::Status,
    transcript::{TranscriptWriter, input, print},
};

use super::{History, HistoryError, walk::is_secret};
use crate::journal::{Entry, Record};

/// A session as lines of author and program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The lines.
    pub text: String,
    /// The record that it begins with: the start, or the last one that no author can hand in.
    pub since: u64,
    /// Records that the graph as it is now did not lead to.
    pub otherwise: Vec<u64>,
}

/// The transcript of a history up to a record, or to its end.
///
/// # Errors
/// No stored record has the state of the session, or there is no such record.
pub fn transcript(engine: &Engine, history: &History, until: Option<u64>) -> Result<Transcript, HistoryError> {
    let last = history.head.next.saturating_sub(1);
    let until = until.unwrap_or(last);
    // Names the record that is not there, if there is none.
    let end = history.at(until)?;
    let upto = history.records.partition_point(|record| record.seq <= until);
    let first = beginning(history, upto);
    let Some(record) = history.records[..upto].get(first) else {
        // Only a snapshot has its state.
        return Ok(Author::stored(engine, end, until).finish());
    };
    let mut author = match &record.entry {
        Entry::Start { origin: None, .. } => Author::started(engine, record),
        _ => Author::stored(engine, history.at(record.seq)?, record.seq),
    };
    // The outcome of a child is the result of its call.
    let own: Vec<Record> = history.records[first..upto].iter().filter(|record| record.child.is_none()).cloned().collect();
    for (at, record) in own.iter().enumerate().skip(1) {
        author.take(record, &own[at + 1..]);
    }
    Ok(author.finish())
}

/// Returns the last record that no author can hand in: keys from outside, a move, another program that moved it, the first after a gap.
fn beginning(history: &History, upto: usize) -> usize {
    let records = &history.records[..upto];
    let is_beginning = |at: usize| {
        let record = &records[at];
        let is_first = at == 0 || records[at - 1].seq + 1 != record.seq;
        is_first && record.child.is_none()
            || record.child.is_none()
                && match &record.entry {
                    Entry::Start { .. } | Entry::Move { .. } | Entry::Context { .. } => true,
                    Entry::Reload { state, .. } => {
                        let unchanged = history.at(record.seq - 1).map(|before| State { program: state.program.clone(), ..before });
                        unchanged.is_ok_and(|unchanged| unchanged != **state)
                    }
                    _ => false,
                }
    };
    (0..upto).rev().find(|&at| is_beginning(at)).unwrap_or(0)
}

/// The step before a record, as it was recorded.
fn step_before(record: &Record) -> u64 {
    record.changes.step.map_or(u64::MAX, |step| step.saturating_sub(1))
}

/// Writes a transcript.
struct Author<'e> {
    engine: &'e Engine,
    script: TranscriptWriter,
    state: Option<State>,
    /// The answers of predicates from here on.
    answers: BTreeMap<Arc<str>, bool>,
    since: u64,
    otherwise: Vec<u64>,
}

impl<'e> Author<'e> {
    fn new(engine: &'e Engine, since: u64) -> Self {
        Self { engine, script: TranscriptWriter::default(), state: None, answers: BTreeMap::new(), since, otherwise: Vec::new() }
    }

    /// Begins as the session began.
    fn started(engine: &'e Engine, record: &Record) -> Self {
        let mut author = Self::new(engine, record.seq);
        let Entry::Start { start, .. } = &record.entry else { return author };
        if let Some(session) = &start.session {
            author.script.line(&format!("$ session {session}"));
        }
        if !start.context.is_empty() {
            author.script.line(&format!("$ context {}", input::json(&start.context)));
        }
        for (what, value) in [("locale", start.locale.as_deref()), ("at", start.at.as_ref().map(|node| node.as_str()))] {
            if let Some(value) = value {
                author.script.line(&format!("$ {what} {value}"));
            }
        }
        author.answer(&record.answers());
        match engine.answering(record.answers()).start((**start).clone()) {
            Ok(step) => author.accept(step),
            Err(error) => author.script.line(&format!("- not started: {error}")),
        }
        author
    }

    /// Begins with a whole state.
    fn stored(engine: &'e Engine, state: State, since: u64) -> Self {
        let mut author = Self::new(engine, since);
        author.script.line(&format!("$ state {}", input::json(&state)));
        author.accept(Step::new(state));
        author
    }

    /// Takes a record, with those behind it: nodes that pass through need no line.
    fn take(&mut self, record: &Record, later: &[Record]) {
        let Some(mut state) = self.state.clone() else { return };
        if matches!(record.entry, Entry::Leave { .. }) {
            state.apply(&record.changes);
            self.state = Some(state);
            return;
        }
        let Some(moment) = record.moment() else { return };
        // An elapsed sleep, and an empty input, are handed in; nodes that pass through were passed already.
        let is_waiting = state.status == Status::WaitingForInput && state.step <= step_before(record);
        let is_passed = moment.input == Input::Pass && !is_waiting;
        if !is_passed {
            let mut answers = moment.answers;
            for passed in later.iter().take_while(|record| matches!(record.entry, Entry::Input { input: Input::Pass })) {
                answers.extend(passed.answers());
            }
            self.answer(&answers);
            let is_secret = is_secret(self.engine, &state.current_node_id);
            self.script.line(&input::input(&moment.input, &self.script.calls, self.script.pending.as_ref(), is_secret));
            self.hand_in(&state, moment.input);
        }
        self.compare(record, later);
    }

    /// Marks the first record from which on the transcript differs, once.
    fn compare(&mut self, record: &Record, later: &[Record]) {
        let is_last = !matches!(later.first().map(|record| &record.entry), Some(Entry::Input { input: Input::Pass }));
        let is_there = self.state.as_ref().is_some_and(|state| state.current_node_id == record.to);
        if is_last && !is_there {
            if self.otherwise.is_empty() {
                self.script.line(&format!("# record {} led to `{}`", record.seq, record.to));
            }
            self.otherwise.push(record.seq);
        }
    }

    fn answer(&mut self, answers: &Answers) {
        for (name, answer) in answers {
            if self.answers.insert(Arc::clone(name), *answer) != Some(*answer) {
                self.script.line(&format!("@ {name} = {answer}"));
            }
        }
    }

    fn navigate(&self, state: &State, input: Input) -> Result<Step, trellis_core::NavigateError> {
        self.engine.answering(self.answers.iter().map(|(name, answer)| (Arc::clone(name), *answer)).collect()).navigate(state, input)
    }

    fn hand_in(&mut self, state: &State, input: Input) {
        match self.navigate(state, input) {
            Ok(step) => self.accept(step),
            Err(error) => print::refusal(&mut self.script.text, &error),
        }
    }

    /// Writes the result of a step, and passes on.
    fn accept(&mut self, step: Step) {
        let limit = self.engine.inspect().limits().pass_through.min(1000);
        let mut step = Some(step);
        let mut passes = 0;
        while let Some(Step { state, events, .. }) = step.take() {
            for event in &events {
                print::event(&mut self.script.text, event);
            }
            let is_late = events.iter().any(|event| matches!(event, trellis_core::Event::Late { .. } | trellis_core::Event::DeadLetter(_)));
            let passes_on = !is_late && self.script.view(&state, self.engine.render(&state));
            if passes_on && passes >= limit {
                self.script.line("- stopped: it passes through for ever");
            } else if passes_on {
                passes += 1;
                match self.navigate(&state, Input::Pass) {
                    Ok(next) => step = Some(next),
                    Err(error) => print::refusal(&mut self.script.text, &error),
                }
            }
            self.state = Some(state);
        }
    }

    fn finish(self) -> Transcript {
        Transcript { text: self.script.text, since: self.since, otherwise: self.otherwise }
    }
}
