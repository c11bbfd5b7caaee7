//! Records of a session → events, and the progress of a task (orchestrator 2.5, 9).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use trellis_core::{Event, Input, State, ToolOutcome, Value, state::EndReason, state::Ended, state::Status};
use trellis_host::{
    Entry, Record,
    history::{RecordWalk, WalkedRecord},
    policy::Decision,
};

use super::{EventKind, TaskStep, WorkflowEvent, brief};

/// Reads the records of one session, in order from its beginning.
pub(super) struct RecordReader<'r> {
    run: &'r str,
    walk: RecordWalk<'static>,
    /// The tools of calls, by the ids of the calls.
    tools: BTreeMap<String, String>,
    /// Calls that wait for an approval, by their keys.
    asked: BTreeSet<String>,
    is_waiting: bool,
    steps: StepsOfTask,
    /// The events so far.
    pub(super) events: Vec<WorkflowEvent>,
    /// The state after the last record.
    pub(super) state: Option<State>,
}

/// The steps of a task, as far as they are known.
#[derive(Default)]
struct StepsOfTask {
    titles: Vec<String>,
    /// Steps that have begun.
    begun: usize,
    is_over: bool,
}

impl<'r> RecordReader<'r> {
    pub(super) fn new(run: &'r str) -> Self {
        Self {
            run,
            walk: RecordWalk::new(None, None),
            tools: BTreeMap::new(),
            asked: BTreeSet::new(),
            is_waiting: false,
            steps: StepsOfTask::default(),
            events: Vec::new(),
            state: None,
        }
    }

    /// Takes the next record.
    pub(super) fn take(&mut self, record: &Record) {
        let WalkedRecord { state, .. } = self.walk.take(record);
        self.entry(record);
        for event in &record.events {
            self.event(record, event);
        }
        if record.child.is_some() {
            return;
        }
        if let Some(state) = &state {
            self.waits(record, state);
            self.step(record, state);
        }
        if let Entry::End { ended } = &record.entry {
            self.end(record, ended);
        } else if let Some(ended) = state.as_ref().and_then(|state| state.ended.as_ref()).filter(|_| has_ended(record)) {
            self.end(record, ended);
        }
        self.state = state;
    }

    /// The steps of the task: done, current and planned.
    pub(super) fn steps(&self) -> Vec<TaskStep> {
        let steps = &self.steps;
        let status = |at: usize| match at + 1 {
            number if number < steps.begun || steps.is_over => "done",
            number if number == steps.begun => "running",
            _ => "waiting",
        };
        steps.titles.iter().enumerate().map(|(at, title)| TaskStep { title: title.clone(), status: status(at).to_owned() }).collect()
    }

    fn add(&mut self, record: &Record, kind: EventKind, summary: impl Into<String>, data: Option<serde_json::Value>) {
        let same = |event: &&WorkflowEvent| event.kind == kind && event.at == record.at;
        // Several events of one kind in a record are told apart by their place.
        let place = self.events.iter().rev().take_while(|event| event.data_seq() == Some(record.seq)).filter(same).count();
        let origin = if place == 0 { self.run.to_owned() } else { format!("{}:{place}", self.run) };
        let mut event = WorkflowEvent::new(&origin, record.seq, kind, record.at, summary).of_run(self.run);
        let mut details = data.unwrap_or_else(|| json!({}));
        details["seq"] = json!(record.seq);
        event.data = Some(details);
        self.events.push(event);
    }

    fn entry(&mut self, record: &Record) {
        match &record.entry {
            Entry::Start { start, .. } if record.child.is_none() && self.run.starts_with("task-") => {
                let title = start.context.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.add(record, EventKind::TaskCreated, brief(&title), None);
            }
            Entry::Input { input: Input::Text(_) | Input::Value(_) } if record.child.is_none() => {
                self.is_waiting = false;
                self.add(record, EventKind::Resumed, record.to.as_str(), None);
            }
            Entry::Policy { key, decided } if decided.decision == Decision::Ask => {
                self.asked.insert(key.to_string());
                let tool = self.tool_of(key.as_str());
                self.add(record, EventKind::ApprovalAsked, tool, Some(json!({ "key": key.to_string() })));
            }
            Entry::Approve { key } => {
                self.asked.remove(key.as_str());
                let summary = format!("{}: approved", self.tool_of(key.as_str()));
                self.add(record, EventKind::ApprovalDecided, summary, Some(json!({ "key": key.to_string(), "yes": true })));
            }
            Entry::Result { result } => {
                let asked = self.asked.iter().find(|key| is_of(result.id.as_str(), key)).cloned();
                if let (Some(key), ToolOutcome::Denied(_)) = (&asked, &result.outcome) {
                    let summary = format!("{}: denied", self.tool_of(key));
                    self.add(record, EventKind::ApprovalDecided, summary, Some(json!({ "key": key, "yes": false })));
                }
                asked.map(|key| self.asked.remove(&key));
            }
            Entry::Settle { result, .. } => {
                let asked: Vec<String> = self.asked.iter().filter(|key| is_of(result.id.as_str(), key)).cloned().collect();
                for key in asked {
                    self.asked.remove(&key);
                    let summary = format!("{}: settled by hand", self.tool_of(&key));
                    self.add(record, EventKind::ApprovalDecided, summary, Some(json!({ "key": key, "yes": false })));
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, record: &Record, event: &Event) {
        match event {
            Event::Called { id, tool } => {
                self.tools.insert(id.to_string(), tool.to_string());
                self.add(record, EventKind::ToolCalled, &**tool, Some(json!({ "call": id.to_string() })));
            }
            Event::Returned { id, outcome } => {
                let summary = format!("{}: {outcome}", self.tool_of(id.as_str()));
                self.add(record, EventKind::ToolReturned, summary, Some(json!({ "call": id.to_string() })));
            }
            _ => {}
        }
    }

    /// The tool of a call, by its id or its key.
    fn tool_of(&self, call: &str) -> String {
        let known = self.tools.get(call).or_else(|| self.tools.iter().rev().find(|(id, _)| is_of(id, call)).map(|(_, tool)| tool));
        known.cloned().unwrap_or_default()
    }

    fn waits(&mut self, record: &Record, state: &State) {
        let is_waiting = state.status == Status::WaitingForInput;
        if is_waiting && !self.is_waiting {
            self.add(record, EventKind::Waiting, state.current_node_id.as_str(), None);
        }
        self.is_waiting = is_waiting;
    }

    /// Follows `steps` of the context; the graph removes each step from there when it begins.
    fn step(&mut self, record: &Record, state: &State) {
        let Some(left) = state.context.get("steps").and_then(Value::as_list) else { return };
        let titles: Vec<String> =
            left.iter().map(|step| step.get("title").and_then(Value::as_str).unwrap_or_default().to_owned()).collect();
        let known = self.steps.titles.len().saturating_sub(self.steps.begun);
        if titles.len() > known {
            // The steps were planned only now.
            self.steps.titles.truncate(self.steps.begun);
            self.steps.titles.extend(titles);
            return;
        }
        let has_begun = titles.len() < known;
        let is_over = state.context.get("step").and_then(|step| step.get("is_over")).and_then(Value::as_bool) == Some(true);
        if (has_begun || is_over && !self.steps.is_over) && self.steps.begun > 0 {
            self.add(record, EventKind::StepDone, brief(&self.steps.titles[self.steps.begun - 1].clone()), None);
        }
        if has_begun {
            self.steps.begun = self.steps.titles.len() - titles.len();
            self.add(record, EventKind::StepStarted, brief(&self.steps.titles[self.steps.begun - 1].clone()), None);
        }
        self.steps.is_over |= is_over;
    }

    fn end(&mut self, record: &Record, ended: &Ended) {
        let kind = kind_of(ended);
        let why = ended.message.as_deref().or(ended.code.as_deref()).unwrap_or_default();
        let summary = if kind == EventKind::Failed { brief(why) } else { ended.node.to_string() };
        if !self.events.iter().any(|event| event.kind == kind) {
            self.add(record, kind, summary, None);
        }
    }
}

impl WorkflowEvent {
    /// The record that it stands for.
    fn data_seq(&self) -> Option<u64> {
        self.data.as_ref()?["seq"].as_u64()
    }
}

/// Returns the kind of a session's end (orchestrator 2.5).
pub(super) fn kind_of(ended: &Ended) -> EventKind {
    let status = ended.output.as_ref().and_then(|output| output.get("status")).and_then(Value::as_str);
    match (status, ended.reason) {
        (Some("max_turns_reached"), _) => EventKind::MaxTurnsReached,
        (Some("cancelled"), _) => EventKind::Cancelled,
        (_, EndReason::Finished) => EventKind::Completed,
        _ => EventKind::Failed,
    }
}

/// Returns whether a call is an attempt of this key, or of a part of it.
fn is_of(call: &str, key: &str) -> bool {
    call.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ':', '/']))
}

fn has_ended(record: &Record) -> bool {
    record.events.iter().any(|event| matches!(event, Event::Ended(_)))
}
