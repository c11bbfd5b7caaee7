//! Replay of records on an engine, and the steps that cannot be checked because values were redacted.
//!
//! A mark replaces a redacted value (`store/redacted/`). It is taken to fit its schemas; a step with another result is a divergence unless it reads a
//! redacted value. Then the recorded result is used, and the step is listed as unchecked.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{
    Engine, Input, NodeId, Program, SessionId, State, ToolResult, Value,
    engine::{Divergence, Step},
    path::{KeyPath, Segment},
    program::Node,
    state::{Changes, Ended},
};

use super::{Entry, Record};
use crate::store::is_redacted;

/// Replays every recorded step with the recorded answers, and compares it with the recorded result. Where an epoch begins other than by a start,
/// its state is taken from the record; so is that of a step that depends on a redacted value.
///
/// # Errors
/// The first record that this program does not lead to; its moment is the number of the record.
pub fn replay(engine: &Engine, records: &[Record]) -> Result<State, Divergence> {
    retake(engine, records).map(|retaken| retaken.state)
}

/// The result of a replay.
pub(crate) struct Retaken {
    pub(crate) state: State,
    /// The number of steps with redacted values.
    pub(crate) redacted: u64,
    /// The records of steps that depend on such a value: whether they would lead to the same state is unknown.
    pub(crate) unchecked: Vec<u64>,
}

/// As [`replay`], with the unchecked records.
///
/// # Errors
/// As [`replay`].
pub(crate) fn retake(engine: &Engine, records: &[Record]) -> Result<Retaken, Divergence> {
    let mut retaking = Retaking { engine, redacted: 0, unchecked: Vec::new(), children: BTreeMap::new() };
    let mut state = None;
    for record in records {
        match &record.child {
            None => state = Some(retaking.next(record, state)?),
            Some(child) => retaking.next_of_child(record, child, state.as_ref())?,
        }
    }
    let Retaking { redacted, unchecked, .. } = retaking;
    let none = || engine.diverged(None, engine.inspect().entry().id.clone(), "the journal holds no start".into());
    Ok(Retaken { state: state.ok_or_else(none)?, redacted, unchecked })
}

struct Retaking<'e> {
    engine: &'e Engine,
    redacted: u64,
    unchecked: Vec<u64>,
    /// The states of children, also of those that were left: their late results apply to their contexts.
    children: BTreeMap<SessionId, State>,
}

/// A recorded step.
struct RecordedStep<'r> {
    record: &'r Record,
    before: Option<&'r State>,
    after: State,
}

/// Takes a step again.
type Take<'t> = &'t dyn Fn(&Engine) -> Result<Step, String>;

impl Retaking<'_> {
    fn next(&mut self, record: &Record, state: Option<State>) -> Result<State, Divergence> {
        let engine = self.engine.answering(record.answers());
        match (&record.entry, state) {
            (Entry::Start { start, state: began, origin: None, caller: None }, _) => {
                let engine = engine.of_graph(began.graph.clone());
                let recorded = RecordedStep { record, before: None, after: (**began).clone() };
                self.take(&engine, recorded, &|engine| engine.start((**start).clone()).map_err(|error| error.to_string()))
            }
            (Entry::Reload { state, children }, _) => {
                let states = children.iter().map(|(id, child)| (id.clone(), child.state.clone()));
                self.children.extend(states);
                Ok((**state).clone())
            }
            (Entry::Start { state, .. } | Entry::Move { state, .. }, _) => Ok((**state).clone()),
            (_, None) => Err(self.diverged(record, &record.to, "the journal holds no start".into())),
            (Entry::Context { .. }, Some(mut state)) => {
                record.apply(&mut state);
                Ok(state)
            }
            (Entry::Leave { children }, Some(state)) => {
                let mut after = state.clone();
                after.apply(&record.changes);
                let left: Vec<State> = children.iter().filter_map(|child| self.children.get(child)).cloned().collect();
                let take = |engine: &Engine| Ok(engine.leave(&state, &left.iter().collect::<Vec<_>>()));
                // Children without their beginning cannot be left again.
                if left.len() < children.len() {
                    return Ok(after);
                }
                self.take(&engine, RecordedStep { record, before: Some(&state), after }, &take)
            }
            (_, Some(state)) => {
                let Some(moment) = record.moment() else { return Ok(state) };
                let mut after = state.clone();
                after.apply(&record.changes);
                // Before late results were remembered, several of one call could be recorded.
                if matches!(record.entry, Entry::Late { .. }) && record.changes.abandoned.is_none() {
                    return Ok(after);
                }
                let left = match &moment.input {
                    Input::Result(result) => self.left_by(&state, result).cloned(),
                    _ => None,
                };
                let take = |engine: &Engine| match (&left, &moment.input) {
                    (Some(child), Input::Result(result)) if is_with_context(&after, &state) => {
                        engine.late_in(&state, child, result.clone()).ok_or_else(|| "no such call was left".to_owned())
                    }
                    _ => engine.navigate(&state, moment.input.clone()).map_err(|refusal| refusal.to_string()),
                };
                let after = after.clone();
                self.take(&engine, RecordedStep { record, before: Some(&state), after }, &take)
            }
        }
    }

    /// Takes a record of a child again: it begins as its caller had it begin.
    fn next_of_child(&mut self, record: &Record, child: &SessionId, root: Option<&State>) -> Result<(), Divergence> {
        let before = self.children.remove(child);
        let after = match &record.entry {
            Entry::Start { state: began, caller: Some(caller), .. } => {
                let of = self.children.get(&caller.session).or(root.filter(|root| root.session_id == caller.session)).cloned();
                let call = of.as_ref().and_then(|of| self.engine.open_calls(of).into_iter().find(|call| call.id == caller.call));
                let recorded = RecordedStep { record, before: None, after: (**began).clone() };
                match of.zip(call) {
                    Some((of, call)) => self.take(&self.engine.answering(record.answers()), recorded, &|engine| {
                        engine.begin_child(&of, &call).map_err(|_| "the child does not begin".to_owned())
                    })?,
                    // Its caller precedes the first record.
                    None => (**began).clone(),
                }
            }
            _ => match before {
                Some(before) => self.next(record, Some(before))?,
                None => return Ok(()),
            },
        };
        self.children.insert(child.clone(), after);
        Ok(())
    }

    /// The left child that made a call whose result comes late.
    fn left_by(&self, state: &State, result: &ToolResult) -> Option<&State> {
        let left = state.abandoned.iter().find(|left| left.id == result.id)?;
        self.children.get(left.child.as_ref()?)
    }

    fn take(&mut self, engine: &Engine, recorded: RecordedStep<'_>, take: Take<'_>) -> Result<State, Divergence> {
        let marked = recorded.marked();
        let from = recorded.before.map_or(&recorded.after, |before| before).current_node_id.clone();
        if marked.is_empty() {
            let step = recorded.reword(take(engine).map_err(|why| self.diverged(recorded.record, &from, why))?);
            if !recorded.is(&step) {
                return Err(self.diverged(recorded.record, &from, differs(&recorded.after, &step.state)));
            }
            return Ok(step.state);
        }
        self.redacted += u64::from(is_redacted(&json(recorded.record)));
        let taken = take(&engine.believing(is_redacted)).map(|step| recorded.reword(step));
        let (program, to) = (engine.inspect(), &recorded.after.current_node_id);
        let (why, may_matter) = match taken {
            Ok(step) if recorded.is(&step) || recorded.reads_like(&step) => return Ok(recorded.after),
            Ok(step) => {
                let now = &step.state.current_node_id;
                let why = differs(&recorded.after, &step.state);
                // Only the reads of leaving determine its target.
                let is_elsewhere = now != to && *now != from && *to != from;
                (why, if is_elsewhere { leaves_by(program, &from, &marked) } else { is_about(program, &[&from, to, now], &marked) })
            }
            Err(refusal) => (refusal, is_about(program, &[&from, to], &marked)),
        };
        if !may_matter {
            return Err(self.diverged(recorded.record, &from, why));
        }
        self.unchecked.push(recorded.record.seq);
        Ok(recorded.after)
    }

    fn diverged(&self, record: &Record, node: &NodeId, message: String) -> Divergence {
        self.engine.diverged(usize::try_from(record.seq).ok(), node.clone(), message)
    }
}

impl RecordedStep<'_> {
    /// Rewords a step as the recording program did: earlier ones did not note that an error led to an end, and named it otherwise or not at all.
    /// The error itself is in `sys.error`, and compared there.
    fn reword(&self, mut step: Step) -> Step {
        step.state.after_error &= self.after.after_error;
        if let (Some(recorded), Some(now)) = (&self.after.ended, &mut step.state.ended)
            && recorded.message != now.message
            && message_without_cause(recorded).is_some_and(|recorded| message_without_cause(now) == Some(recorded))
        {
            Arc::make_mut(now).message.clone_from(&recorded.message);
        }
        step
    }

    /// Returns whether a step has the same result, byte for byte.
    fn is(&self, step: &Step) -> bool {
        match self.before {
            Some(before) => step.events == self.record.events && Changes::between(before, &step.state, &step.wrote) == *self.record.changes,
            // The program that wrote a state is information only.
            None => step.state == State { program: step.state.program.clone(), ..self.after.clone() },
        }
    }

    /// Like [`Self::is`], where a mark records the form of its value in a text.
    fn reads_like(&self, step: &Step) -> bool {
        let plain = |text: String| text.replace("‹redacted:json:", "‹redacted:");
        let after = State { program: step.state.program.clone(), ..self.after.clone() };
        let is_same = plain(json(&step.state)) == plain(json(&after));
        is_same && (self.before.is_none() || plain(json(&step.events)) == plain(json(&self.record.events)))
    }

    /// Returns the paths of marks that the step could read: in the context, in `sys`, in the input.
    fn marked(&self) -> Vec<KeyPath> {
        let mut paths = Vec::new();
        for state in self.before.into_iter().chain([&self.after]) {
            let system = [("ans", &state.system_context.ans), ("error", &state.system_context.error)];
            let system = system.into_iter().filter_map(|(key, value)| Some((vec!["sys".into(), key.into()], value.as_ref()?)));
            let context = state.context.iter().map(|(key, value)| (vec![key.clone()], value));
            for (keys, value) in context.collect::<Vec<_>>().into_iter().chain(system) {
                marks(keys.into_iter().map(Segment::Key).collect(), value, &mut paths);
            }
        }
        let is_handed_in = match &self.record.entry {
            Entry::Input { input } => is_redacted(&json(input)),
            entry => entry.result().is_some_and(|result| is_redacted(&json(result))),
        };
        paths.extend(["input", "tool_result"].into_iter().filter(|_| is_handed_in).filter_map(KeyPath::parse));
        paths
    }
}

/// The paths at which a value holds marks. It goes as deep as values may nest.
fn marks(at: Vec<Segment>, value: &Value, paths: &mut Vec<KeyPath>) {
    let below = |step: Segment| at.iter().cloned().chain([step]).collect();
    match value {
        Value::Text(text) if is_redacted(text) => paths.extend(KeyPath::new(at)),
        Value::List(items) => items.iter().enumerate().for_each(|(index, item)| marks(below(Segment::Index(index)), item, paths)),
        Value::Map(entries) => entries.iter().for_each(|(key, value)| marks(below(Segment::Key(key.clone())), value, paths)),
        _ => {}
    }
}

/// Returns whether a late result was taken while the context of its child was known: without it, no undo can be made.
fn is_with_context(after: &State, before: &State) -> bool {
    after.effects.undoable().len() > before.effects.undoable().len() || after.effects.len() == before.effects.len()
}

/// Returns whether a step between these nodes may read a redacted value.
fn is_about(program: &Program, nodes: &[&NodeId], marked: &[KeyPath]) -> bool {
    let reads = nodes.iter().filter_map(|id| found(program, id)).map(|node| program.reads_at(node));
    reads.into_iter().any(|reads| marked.iter().any(|path| reads.touch(path)))
}

/// Returns whether the target of a step may depend on a redacted value.
fn leaves_by(program: &Program, from: &NodeId, marked: &[KeyPath]) -> bool {
    let reads = found(program, from).map(|node| program.reads_leaving(node));
    reads.is_none_or(|reads| marked.iter().any(|path| reads.touch(path)))
}

fn found<'p>(program: &'p Program, id: &NodeId) -> Option<&'p Node> {
    program.find(id).or_else(|| program.find_renamed(id)).map(|index| program.node(index))
}

/// Returns the message of an end, if it is of the engine, up to the cause.
fn message_without_cause(ended: &Ended) -> Option<&str> {
    let message = ended.message.as_deref().filter(|message| message.starts_with(&format!("`{}` ", ended.node)))?;
    Some(message.split_once(", since ").map_or(message, |(what, _)| what))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the most telling difference between the recorded state and the new one.
fn differs(recorded: &State, now: &State) -> String {
    if recorded.current_node_id != now.current_node_id {
        return format!("leads to `{}`, not to `{}`", now.current_node_id, recorded.current_node_id);
    }
    let key = now.context.iter().find(|(key, value)| recorded.context.get(key) != Some(value)).map(|(key, _)| key);
    let key = key.or_else(|| recorded.context.iter().map(|(key, _)| key).find(|key| !now.context.contains(key)));
    if let Some(key) = key {
        let say = |state: &State| state.context.get(key).map_or_else(|| "nothing".to_owned(), trellis_core::Value::to_json);
        return format!("`{key}` becomes {}, not {}", say(now), say(recorded));
    }
    match (&now.pending_tool_call, &recorded.pending_tool_call) {
        (Some(now), Some(recorded)) if now != recorded => format!("calls `{}` otherwise than `{}` was called", now.name, recorded.name),
        (Some(now), None) => format!("calls `{}`, which was not called", now.name),
        (None, Some(recorded)) => format!("does not call `{}`", recorded.name),
        _ => "continues differently than recorded".to_owned(),
    }
}
