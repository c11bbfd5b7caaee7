//! Records in a form for people: a line for each input and its transition, lines for changes and output. Secrets were removed from
//! them before.

use std::{collections::BTreeMap, fmt::Write as _};

use trellis_core::{
    Event, Input, SessionId, ToolOutcome, Value,
    engine::ToolErrorKind,
    state::{CallKind, PartName, PendingCall},
};
use trellis_host::{
    Entry, Record,
    history::{RecordWalk, WalkedRecord},
    journal::{DeadLetter, DeathCause, Destination, Needs, Settlement},
};
use trellis_orchestrator::visible::visible_line;

use super::format_time::date_time;
use crate::{
    columns,
    terminal::{Look, QUIET, Width},
};

/// Levels of children that lines are indented by, at most.
const MAX_INDENT: usize = 8;

/// Parts of a call that are listed, at most.
const MAX_PARTS: usize = 16;

/// Tells records one after the other.
pub(super) struct Timeline<'e> {
    walk: RecordWalk<'e>,
    look: Look,
    width: Width,
    is_same_graph: bool,
    /// The numbers of callers above each child.
    depths: BTreeMap<SessionId, usize>,
}

impl<'e> Timeline<'e> {
    pub(super) fn new(walk: RecordWalk<'e>, look: Look, width: Width) -> Self {
        Self { walk, look, width, is_same_graph: true, depths: BTreeMap::new() }
    }

    /// Returns whether all shown output comes from the current graph.
    pub(super) fn is_same_graph(&self) -> bool {
        self.is_same_graph
    }

    /// The lines of the next record.
    pub(super) fn take(&mut self, record: &Record) -> String {
        let moment = self.walk.take(record);
        if moment.said.is_some() {
            self.is_same_graph &= moment.is_same_graph;
        }
        let arrow = self.look.pick("→", "->");
        let is_entered = record.events.iter().any(|event| matches!(event, Event::Entered(_)));
        let to = if is_entered && record.from.is_some() { format!(" {arrow} `{}`", record.to) } else { String::new() };
        let mut out = String::new();
        let time = date_time(record.at);
        let indent = self.indent(record);
        let head = format!("#{}  {time}  {indent}", record.seq);
        let _ = writeln!(out, "{QUIET}{head}{QUIET:#}{}", self.fit(&format!("{}{to}", what(record, &moment)), columns::width(&head)));
        let below = 4 + columns::width(&indent);
        for line in Self::details(record) {
            let _ = writeln!(out, "    {indent}{}", self.fit(&line, below));
        }
        if let Some(said) = &moment.said {
            let bar = self.look.pick("│", "|");
            for line in said.trim_end().lines() {
                let _ = writeln!(out, "    {indent}{QUIET}{bar}{QUIET:#} {}", self.fit(line, below + 2));
            }
        }
        out
    }

    /// The indentation: lines of a child are indented below those of its caller.
    fn indent(&mut self, record: &Record) -> String {
        let Some(child) = &record.child else { return String::new() };
        if let Entry::Start { caller: Some(caller), .. } = &record.entry {
            let depth = self.depths.get(&caller.session).copied().unwrap_or_default() + 1;
            self.depths.insert(child.clone(), depth);
        }
        let depth = self.depths.get(child).copied().unwrap_or(1);
        self.look.pick("│ ", "| ").repeat(depth.min(MAX_INDENT))
    }

    /// A line without control characters, no wider than the terminal.
    fn fit(&self, line: &str, indent: usize) -> String {
        let line = visible_line(line);
        if self.width.folds { columns::cut(&line, self.width.columns.saturating_sub(indent)) } else { line.into_owned() }
    }

    /// Returns the lines about changes and effects.
    fn details(record: &Record) -> Vec<String> {
        let mut lines = Vec::new();
        for event in &record.events {
            lines.extend(match event {
                Event::Invalid(text) => Some(format!("not taken: {text}")),
                Event::Predicate { name, answer } => Some(format!("`{name}` {}", if *answer { "holds" } else { "does not hold" })),
                Event::RollingBack(undos) => Some(format!("rolls back, {undos} to undo")),
                Event::Undone { tool, ok: true } => Some(format!("undone by `{tool}`")),
                Event::Undone { tool, ok: false } => Some(format!("`{tool}` could not undo it")),
                Event::Late { joined: true, .. } => Some("it can be undone".to_owned()),
                Event::DeadLetter(_) => Some("it came after the end: a dead letter".to_owned()),
                _ => None,
            });
        }
        let keys = match &record.entry {
            Entry::Context { keys } => keys,
            Entry::Start { start, .. } => &start.context,
            _ => &record.changes.context,
        };
        lines.extend(keys.iter().map(|(key, value)| format!("{key}: {}", value.to_json())));
        let call = match &record.entry {
            Entry::Start { state, .. } | Entry::Move { state, .. } => state.pending_tool_call.as_ref(),
            _ => record.changes.call.as_ref().and_then(Option::as_ref),
        };
        if let Some(call) = call {
            let attempt = if call.attempt > 1 { format!(", attempt {}", call.attempt) } else { String::new() };
            lines.push(format!("calls {}{attempt}{}", with_args(call), if_approved(call)));
            lines.extend(parts(call));
        }
        lines
    }
}

/// A line for each part of a call; the last one counts those that are not listed.
fn parts(call: &PendingCall) -> Vec<String> {
    let mut lines: Vec<_> = match &call.kind {
        CallKind::Tool | CallKind::Graph(_) => return Vec::new(),
        CallKind::Parallel { branches, .. } => {
            let branches = branches.iter().take(MAX_PARTS);
            branches.map(|(name, call)| format!("  branch `{name}`: {}{}", with_args(call), if_approved(call))).collect()
        }
        CallKind::Each { items, .. } => {
            let items = items.as_list().into_iter().flat_map(|items| items.iter()).take(MAX_PARTS);
            items.enumerate().map(|(at, item)| format!("  item {at}: {}", item.to_json())).collect()
        }
    };
    let more = call.kind.parts().unwrap_or_default().saturating_sub(lines.len());
    lines.extend((more > 0).then(|| format!("  and {more} more")));
    lines
}

/// A call as it is made: `` `charge` {"n":1} ``.
fn with_args(call: &PendingCall) -> String {
    format!("{} {}", callee(call), Value::Map(call.args.clone()).to_json())
}

fn if_approved(call: &PendingCall) -> &'static str {
    if call.approve.is_some() { ", if somebody approves" } else { "" }
}

/// The tool of a call, or the node at which its child begins.
fn callee(call: &PendingCall) -> String {
    match &call.kind {
        CallKind::Graph(node) => format!("`graph:{node}`"),
        CallKind::Tool | CallKind::Parallel { .. } | CallKind::Each { .. } => format!("`{}`", call.name),
    }
}

/// A call by its name: a part by its tool and its place, `` `charge` (branch `a`) ``.
fn named(call: &PendingCall) -> String {
    let place = match call.part.as_ref().map(|of| &of.part) {
        None => String::new(),
        Some(PartName::Branch(name)) => format!(" (branch `{name}`)"),
        Some(PartName::Item(at)) => format!(" (item {at})"),
    };
    format!("{}{place}", callee(call))
}

/// Describes the input of a record.
fn what(record: &Record, moment: &WalkedRecord) -> String {
    let call = moment.part.as_ref().or(moment.call.as_ref());
    let tool = call.map_or_else(|| "the call".to_owned(), |call| named(call));
    match &record.entry {
        Entry::Start { caller: Some(_), .. } => format!("child began at `{}`", record.to),
        Entry::Start { origin: None, .. } => format!("began at `{}`", record.to),
        Entry::Start { origin: Some(origin), .. } => {
            format!("began at `{}`, where session `{}` was after record {}", record.to, origin.session, origin.seq)
        }
        Entry::Input { .. } if moment.is_secret => "answer: ***".to_owned(),
        Entry::Input { input: Input::Text(text) } => format!("answer: {text}"),
        Entry::Input { input: Input::Value(value) } => format!("answer: {value}"),
        Entry::Input { .. } => "passed on".to_owned(),
        Entry::Result { result } => format!("{tool} {}", outcome(&result.outcome)),
        Entry::Settle { result, by, because, unapproved } => {
            let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let overruled = if unapproved.is_empty() { "" } else { ", without the approval that it waited for" };
            let because = because.as_ref().map(|because| format!(": {because}")).unwrap_or_default();
            format!("{tool} was settled by hand{by}{overruled}, as if it {}{because}", outcome(&result.outcome))
        }
        Entry::Leave { children } => format!("left {}", quoted_children(children)),
        Entry::Late { result } => format!("a call that was left {}", outcome(&result.outcome)),
        Entry::Signal { signal } => format!("signal `{signal}`"),
        Entry::Context { .. } => "set by hand".to_owned(),
        Entry::Reload { .. } if record.from.as_ref() == Some(&record.to) => "the graph was edited".to_owned(),
        Entry::Reload { .. } => {
            let from = record.from.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("the graph was edited: from `{from}` it continues at `{}`", record.to)
        }
        Entry::Blocked { needs: Needs::Keys { missing, .. } } => {
            format!("asks for {}", missing.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "))
        }
        Entry::Blocked { needs: Needs::Decision { now, .. } } => format!("asks whether to keep {tool}: the node calls `{now}` now"),
        Entry::Move { to: Destination::Back(seq), .. } => format!("put back to where it was after record {seq}, at `{}`", record.to),
        Entry::Move { to: Destination::Node(node), .. } => format!("put at `{node}`"),
        Entry::Approve { .. } => format!("{tool} was approved"),
        Entry::Policy { decided, .. } => format!("the policy decides {} about {tool}: {}", decided.decision, decided.reason()),
        Entry::Dead { letter } => format!("`{}` is a dead letter: {}", letter.tool, died(letter)),
        Entry::Settled { key, how: Settlement::Retried } => format!("the dead letter {key} was made again and succeeded"),
        Entry::Settled { key, how: Settlement::Dropped } => format!("the dead letter {key} was dropped"),
        Entry::End { ended } => {
            let message = ended.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
            let output = ended.output.as_ref().map(|output| format!(", output {}", output.to_json())).unwrap_or_default();
            format!("{}{message}{output}", ended.reason.as_str().replace('_', " "))
        }
        _ => "a record of a kind that this version does not know".to_owned(),
    }
}

/// Describes why a call was given up.
pub(super) fn died(letter: &DeadLetter) -> String {
    match letter.cause {
        DeathCause::Ended => format!("it {} and ended the session", outcome(&letter.outcome)),
        DeathCause::Undo => format!("it was to undo what `{}` did, and {}", letter.node, outcome(&letter.outcome)),
        DeathCause::Late => format!("after the end it {}", outcome(&letter.outcome)),
        _ => outcome(&letter.outcome),
    }
}

pub(super) fn outcome(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Success(value) => format!("returned {}", value.to_json()),
        ToolOutcome::Error(error) if error.kind == ToolErrorKind::Timeout => format!("took too long: {}", error.message),
        ToolOutcome::Error(error) => format!("failed: {}", error.message),
        ToolOutcome::Denied(None) => "was denied".to_owned(),
        ToolOutcome::Denied(Some(reason)) => format!("was denied: {reason}"),
    }
}

/// Children by their names.
fn quoted_children(children: &[SessionId]) -> String {
    children.iter().map(|child| format!("`{child}`")).collect::<Vec<_>>().join(", ")
}
