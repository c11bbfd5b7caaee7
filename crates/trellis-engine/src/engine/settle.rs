//! The outcome of a call made of calls, once its parts decide it (language 10.3), or once a client settles it whole (language 10.5).
//!
//! **Invariant:** the whole is settled in the step of the part that decides it, as if its own result had come.

use std::sync::Arc;

use super::{
    ToolError, ToolErrorKind, ToolOutcome,
    fail::{DENIED, Stop, with_article},
    parts::part_call,
    result::{Settled, denial_value, error_value},
    retry::Trying,
    step::{Move, point},
};
use crate::{
    program::{Bound, Outcome},
    state::{CallKind, PartName, PartStates, PendingCall, Status},
};
use trellis_base::{
    index::to_u32,
    value::{List, Mapping, Value},
};

/// The joined outcome of parts.
enum Joined {
    /// The mapping or list of them.
    Made,
    /// The outcome of this part is the outcome of the whole.
    By(u32),
    /// Every part failed, and the whole with them.
    AllFailed,
}

impl CallKind {
    /// Returns whether the outcomes of some parts decide the whole.
    pub(super) fn is_decided(&self, parts: &PartStates) -> bool {
        self.joined(parts).is_some()
    }

    fn joined(&self, parts: &PartStates) -> Option<Joined> {
        let (any, collect) = match self {
            Self::Parallel { any, collect, .. } => (*any, *collect),
            Self::Each { collect, .. } => (false, *collect),
            Self::Tool | Self::Graph(_) => return None,
        };
        let all = parts.done() == parts.len();
        match parts.first_failure() {
            _ if any && parts.first_success().is_some() => Some(Joined::Made),
            _ if any && all => Some(if collect { Joined::Made } else { Joined::AllFailed }),
            Some(failed) if !any && !collect => Some(Joined::By(failed)),
            _ => all.then_some(Joined::Made),
        }
    }
}

impl Move<'_> {
    /// Settles the pending call by its parts.
    pub(super) fn settle_by_parts(&mut self, whole: &Arc<PendingCall>) -> Result<(), Stop> {
        let parts = self.state.parts.clone();
        let Some(joined) = whole.kind.joined(&parts) else { return Ok(()) };
        let failed = match joined {
            Joined::By(at) => parts.get(at).and_then(|part| part.outcome.as_deref()).zip(part_call(whole, &parts, at)),
            Joined::AllFailed if parts.all_denied() => {
                let first = parts.first_failure().unwrap_or_default();
                parts.get(first).and_then(|part| part.outcome.as_deref()).zip(part_call(whole, &parts, first))
            }
            Joined::AllFailed => {
                let error = ToolError {
                    code: Some("all-failed".into()),
                    data: Some(errors(&whole.kind, &parts)),
                    ..ToolError::new("all parts failed")
                };
                return self.settle_whole(whole, Settled::Failed(error), None);
            }
            Joined::Made => None,
        };
        match failed {
            Some((ToolOutcome::Error(error), part)) => self.settle_whole(whole, Settled::Failed(error.clone()), Some(&part)),
            Some((ToolOutcome::Denied(reason), part)) => self.settle_whole(whole, Settled::Denied(reason.clone()), Some(&part)),
            Some((ToolOutcome::Success(_), _)) | None => {
                let (value, failed) = made(&whole.kind, &parts);
                self.failed_parts = failed;
                let settled = self.returned(whole, value);
                self.settle_whole(whole, settled, None)
            }
        }
    }

    /// Checks the joined result against the bounds of stored values and against `returns` of the whole.
    fn returned(&self, whole: &PendingCall, value: Value) -> Settled {
        if let Err(excess) = self.program.limits().keep(&value) {
            debug_assert!(matches!(excess.bound, Bound::Value | Bound::DepthKept), "a result is no context");
            return Settled::broken(format!("the result {excess}"));
        }
        let returns = self.origin_of(whole).map_or(&[][..], |call| &call.returns);
        Settled::fitting(self.engine, value, returns)
    }

    /// Takes the outcome of the whole: decided by the part `by`, if given.
    fn settle_whole(&mut self, whole: &Arc<PendingCall>, settled: Settled, by: Option<&PendingCall>) -> Result<(), Stop> {
        self.leave_parts();
        if self.state.status == Status::RollingBack {
            return self.undone_as(whole, settled);
        }
        let Some(node) = super::step::find(self.program, &self.state.current_node_id) else { return Ok(()) };
        let at = point(&self.state, self.program.node(node));
        let called = by.unwrap_or(whole);
        let outcome = match &settled {
            Settled::Success(_) => None,
            Settled::Failed(error) => {
                self.trying = Trying::of(error);
                self.error = Some(error_value(called, error.clone()));
                Some(if error.kind == ToolErrorKind::Timeout { Outcome::Timeout } else { Outcome::Error })
            }
            Settled::Denied(reason) => {
                self.error = Some(denial_value(called, reason.clone()));
                Some(Outcome::Denied)
            }
        };
        self.returned_event(whole, &settled);
        match (settled, outcome) {
            (Settled::Success(value), _) => self.succeed_with(at, whole, value),
            (_, Some(outcome)) => self.unsettle(at, &outcome),
            (_, None) => Ok(()),
        }
    }

    /// Takes a result that a client gave for the whole: each open part in it counts as if its own result had come, and any other keeps its outcome.
    pub(super) fn settle_by_client(&mut self, whole: &Arc<PendingCall>, outcome: ToolOutcome) -> Result<(), Stop> {
        let limits = self.program.limits();
        let settled = match outcome {
            ToolOutcome::Success(value) if limits.admit(&value).is_ok() => match misfit(&whole.kind, &value) {
                Some(why) => Settled::broken(format!("the result is none of `{}`: {why}", whole.name)),
                None => self.take_parts_of(whole, value)?,
            },
            outcome => Settled::new(self.engine, outcome, &[]),
        };
        self.settle_whole(whole, settled, None)
    }

    /// Takes the parts in a client's result of the whole.
    fn take_parts_of(&mut self, whole: &Arc<PendingCall>, value: Value) -> Result<Settled, Stop> {
        let (any, collect) = match &whole.kind {
            CallKind::Parallel { any, collect, .. } => (*any, *collect),
            CallKind::Each { .. } => (false, true),
            CallKind::Tool | CallKind::Graph(_) => return Ok(self.returned(whole, value)),
        };
        let parts = self.state.parts.clone();
        for at in 0..to_u32(parts.len()) {
            let Some(call) = part_call(whole, &parts, at) else { continue };
            let Some(part) = &call.part else { continue };
            if let Some(outcome) = parts.get(at).and_then(|part| part.outcome.as_deref()) {
                if !matches!(outcome, ToolOutcome::Success(_)) {
                    self.failed_parts.push(part.part.clone());
                }
                continue;
            }
            let given = match (&part.part, &value) {
                (PartName::Branch(name), Value::Map(entries)) => match entries.get(name) {
                    Some(entry) if collect && is_failure(entry) => None,
                    entry => entry,
                },
                (PartName::Item(at), Value::List(items)) => items.get(*at as usize).and_then(|item| item.as_map()?.get("result")),
                _ => None,
            };
            match given {
                Some(result) => {
                    if let Some(why) = self.unfit_part(whole, &call, result) {
                        let of = if any { "the branch that succeeded" } else { "the part" };
                        return Ok(Settled::broken(format!("{of} `{}` breaks `returns`: {why}", part.part)));
                    }
                    self.part_succeeded(whole, &call, result)?;
                }
                None => self.failed_parts.push(part.part.clone()),
            }
        }
        let is_nothing = |value: &Value| value.as_map().is_some_and(Mapping::is_empty);
        let names_some = !is_nothing(&value);
        let value = with_outcomes(&whole.kind, &parts, value);
        if any && names_some && is_nothing(&value) {
            return Ok(Settled::broken(format!("the result is none of `{}`: no open branch is in it", whole.name)));
        }
        Ok(self.returned(whole, value))
    }
}

/// The result that a client gave for the whole, with the outcomes of the parts that have one in place of what it says of them.
fn with_outcomes(kind: &CallKind, parts: &PartStates, given: Value) -> Value {
    let (made, _) = made(kind, parts);
    let has_outcome = parts.iter().map(|part| part.outcome.is_some());
    match (kind, given, made) {
        (CallKind::Parallel { branches, .. }, Value::Map(given), Value::Map(made)) => {
            let entries = branches.iter().zip(has_outcome).filter_map(|((name, _), has_outcome)| {
                let entry = if has_outcome { made.get(name) } else { given.get(name) };
                Some((name.clone(), entry?.clone()))
            });
            Value::Map(entries.collect())
        }
        (CallKind::Each { .. }, Value::List(given), Value::List(made)) => {
            let entries = given.iter().zip(made.iter()).zip(has_outcome);
            Value::list(entries.map(|((given, made), has_outcome)| if has_outcome { made } else { given }.clone()))
        }
        (_, given, _) => given,
    }
}

/// Joins the results of the parts that have an outcome, and names those that did not succeed.
fn made(kind: &CallKind, parts: &PartStates) -> (Value, Vec<PartName>) {
    let mut failed = Vec::new();
    let outcomes = parts.iter().map(|part| part.outcome.as_deref());
    let value = match kind {
        CallKind::Parallel { branches, any, collect, .. } => {
            let first = parts.first_success().filter(|_| *any);
            let mut entries = Mapping::new();
            for (at, ((name, _), outcome)) in (0..).zip(branches.iter().zip(outcomes)) {
                let entry = match outcome {
                    Some(ToolOutcome::Success(value)) if first.is_none_or(|first| first == at) => Some(value.clone()),
                    Some(ToolOutcome::Success(_)) | None => None,
                    Some(outcome) => {
                        failed.push(PartName::Branch(name.clone()));
                        collect.then(|| Value::map([("error", error_entry(outcome))]))
                    }
                };
                match entry {
                    Some(entry) => drop(entries.insert(name.clone(), entry)),
                    None if !failed.contains(&PartName::Branch(name.clone())) => failed.push(PartName::Branch(name.clone())),
                    None => {}
                }
            }
            Value::Map(entries)
        }
        CallKind::Each { items, .. } => {
            let entry = |(item, outcome): (&Value, Option<&ToolOutcome>)| {
                let of = |key: &str| item.as_map().and_then(|item| item.get(key));
                let name = of("name").and_then(Value::as_str).unwrap_or_default();
                let id = of("id").map(|id| ("id", id.clone()));
                let result = match outcome {
                    Some(ToolOutcome::Success(value)) => Some(("result", value.clone())),
                    Some(outcome) => Some(("error", error_entry(outcome))),
                    None => None,
                };
                Value::map([id, Some(("name", Value::text(name))), result].into_iter().flatten())
            };
            Value::list(items.as_list().into_iter().flat_map(List::iter).zip(outcomes).map(entry))
        }
        CallKind::Tool | CallKind::Graph(_) => Value::Null,
    };
    (value, failed)
}

/// The errors of all parts, by their names.
fn errors(kind: &CallKind, parts: &PartStates) -> Value {
    let CallKind::Parallel { branches, .. } = kind else { return Value::Null };
    let outcomes = parts.iter().filter_map(|part| part.outcome.as_deref());
    Value::Map(branches.iter().zip(outcomes).map(|((name, _), outcome)| (name.clone(), error_entry(outcome))).collect())
}

/// `{kind, code?, message}` of a part that did not succeed.
fn error_entry(outcome: &ToolOutcome) -> Value {
    let entry = |kind: &str, code: Option<&Value>, message: &str| {
        let code = code.map(|code| ("code", code.clone()));
        Value::map([Some(("kind", Value::text(kind))), code, Some(("message", Value::text(message)))].into_iter().flatten())
    };
    match outcome {
        ToolOutcome::Error(error) => entry(error.kind.as_str(), error.code.as_ref(), &error.message),
        ToolOutcome::Denied(reason) => entry("denied", None, reason.as_deref().unwrap_or(DENIED)),
        ToolOutcome::Success(_) => Value::Null,
    }
}

/// Returns whether an entry reports that its part failed: `error` and nothing else.
fn is_failure(entry: &Value) -> bool {
    entry.as_map().is_some_and(|entry| entry.len() == 1 && entry.contains("error"))
}

/// Returns the reason why a value cannot be the result of such a call (language 10.13).
fn misfit(kind: &CallKind, value: &Value) -> Option<String> {
    match (kind, value) {
        (CallKind::Parallel { branches, any, .. }, Value::Map(entries)) => {
            let stranger = entries.keys().find(|key| !branches.iter().any(|(name, _)| name == *key));
            let missing = branches.iter().find(|(name, _)| !*any && !entries.contains(name));
            match (stranger, missing) {
                (Some(key), _) => Some(format!("there is no branch `{key}`")),
                (None, Some((name, _))) => Some(format!("the branch `{name}` is missing")),
                (None, None) => None,
            }
        }
        (CallKind::Parallel { .. }, other) => Some(format!("it is {}, not a mapping by branch", with_article(other.kind()))),
        (CallKind::Each { items, .. }, Value::List(entries)) => {
            let items = items.as_list().map_or(0, List::len);
            if entries.len() != items {
                return Some(format!("it has {} entries for {items} items", entries.len()));
            }
            let is_entry = |entry: &Value| {
                entry.as_map().is_some_and(|entry| {
                    entry.get("name").is_some_and(|name| name.as_str().is_some()) && entry.contains("result") != entry.contains("error")
                })
            };
            let at = entries.iter().position(|entry| !is_entry(entry))?;
            Some(format!("entry {at} is not `{{id?, name, result}}` or `{{id?, name, error}}`"))
        }
        (CallKind::Each { .. }, other) => Some(format!("it is {}, not a list", with_article(other.kind()))),
        (CallKind::Tool | CallKind::Graph(_), _) => None,
    }
}
