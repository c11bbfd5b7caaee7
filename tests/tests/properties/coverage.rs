//! The rates at which random runs hit each outcome, guard, status and code. A rate that is too low is a failure: an outcome without hits is not
//! tested.

use std::collections::BTreeMap;

use trellis_core::{
    Event, Input, Program, State,
    engine::ToolOutcome,
    program::{Guard, Outcome, Part, Reply, Role, Target},
    state::{CallRole, Status},
};
use trellis_tests::harness::transcript::Record;

/// Every outcome, in the words of [`outcome`].
const OUTCOMES: [&str; 11] =
    ["pass", "answer", "invalid", "success", "error", "timeout", "denied", "signal", "any signal", "exhausted", "unwound"];
/// Every guard, in the words of [`guard`].
const GUARDS: [&str; 14] = [
    "always",
    "is",
    "is not",
    "in",
    "not in",
    "truth",
    "not truth",
    "set",
    "not set",
    "empty",
    "not empty",
    "predicate",
    "not predicate",
    "attempts",
];
/// Every status, in the words of [`status`].
const STATUSES: [&str; 5] = ["active", "waiting_for_input", "waiting_for_tool", "rolling_back", "terminated"];

/// Counts by name.
#[derive(Default)]
pub(super) struct Coverage {
    counts: BTreeMap<String, usize>,
}

impl Coverage {
    /// Counts one.
    pub(super) fn hit(&mut self, family: &str, name: &str) {
        *self.counts.entry(format!("{family} {name}")).or_default() += 1;
    }

    /// Counts what the moves of a session hit.
    pub(super) fn walk(&mut self, program: &Program, records: &[Record]) {
        for (at, record) in records.iter().enumerate() {
            self.hit("status", status(record.after.status));
            if let Some(before) = at.checked_sub(1).map(|at| &records[at].after) {
                self.step(program, before, record);
            }
        }
    }

    fn step(&mut self, program: &Program, before: &State, record: &Record) {
        let rolling = |state: &State| state.status == Status::RollingBack;
        if (rolling(before) && !rolling(&record.after)) || record.events.contains(&Event::RollingBack(0)) {
            self.hit("outcome", "unwound");
        }
        if rolling(before) || record.events.iter().any(|event| matches!(event, Event::Late { .. } | Event::DeadLetter(_))) {
            return;
        }
        let Some(reply) = reply(program, before, record) else { return };
        self.hit("outcome", outcome(&reply.on));
        for edge in program.edges_of(reply) {
            self.hit("guard", guard(&edge.when));
            if let Target::Point(point) = edge.to {
                let node = program.node(program.point(point).node);
                let full = node.entry.max_visits.is_some_and(|max| before.visits.get(&node.id).is_some_and(|visits| *visits >= max));
                if full && record.to != node.id {
                    self.hit("outcome", "exhausted");
                }
                if record.to == node.id {
                    break;
                }
            }
        }
    }

    /// Prints the counts of the families and fails where one of `names` is below `least`.
    pub(super) fn assert(&self, family: &str, names: &[&str], least: usize) {
        let count = |name: &&str| self.counts.get(&format!("{family} {name}")).copied().unwrap_or_default();
        let all: Vec<String> = names.iter().map(|name| format!("{name} {}", count(name))).collect();
        println!("{family}: {}", all.join(", "));
        let rare: Vec<_> = names.iter().filter(|name| count(name) < least).collect();
        assert!(rare.is_empty(), "{family} hit fewer than {least} times: {rare:?}");
    }

    /// Fails where an outcome, guard or status was hit fewer than `least` times.
    pub(super) fn assert_walks(&self, least: usize) {
        self.assert("status", &STATUSES, least);
        self.assert("outcome", &OUTCOMES, least);
        let negated_lists = |name: &&str| *name != "not in";
        self.assert("guard", &GUARDS.into_iter().filter(negated_lists).collect::<Vec<_>>(), least);
    }
}

/// The reply that a step took.
fn reply<'p>(program: &'p Program, before: &State, record: &Record) -> Option<&'p Reply> {
    let node = program.node(program.find(&before.current_node_id)?);
    let gate = before.pending_tool_call.as_ref().is_some_and(|call| call.role == CallRole::BeforeEach);
    let point = if gate { node.gate? } else { node.body };
    debug_assert!((program.point(point).part == Part::Gate) == gate);
    let invalid = record.events.iter().any(|event| matches!(event, Event::Invalid(_)));
    let returned = record.events.iter().find_map(|event| match event {
        Event::Returned { outcome, .. } => Some(&**outcome),
        _ => None,
    });
    let on = match (&record.moment.input, returned) {
        _ if invalid => Outcome::Invalid,
        (Input::Signal(signal), _) => {
            let named = Outcome::Signal(signal.clone());
            return program.reply(point, &named).or_else(|| program.reply(point, &Outcome::AnySignal));
        }
        (Input::Result(_), Some("success")) => Outcome::Success,
        (Input::Result(_), Some("denied")) => Outcome::Denied,
        (Input::Result(_), Some("timeout")) => Outcome::Timeout,
        (Input::Result(result), _) => match result.outcome {
            ToolOutcome::Denied(_) => Outcome::Denied,
            _ => Outcome::Error,
        },
        (Input::Pass, _) if before.status == Status::Active => Outcome::Pass,
        _ => match (&node.role, &record.after.system_context.ans) {
            (Role::Listen(listen), Some(answer)) => listen.outcome(answer),
            _ => Outcome::Answer,
        },
    };
    program.reply(point, &on)
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Answer => "answer",
        Outcome::Chosen(_) => "chosen",
        Outcome::Invalid => "invalid",
        Outcome::Success => "success",
        Outcome::Error => "error",
        Outcome::Timeout => "timeout",
        Outcome::Denied => "denied",
        Outcome::Signal(_) => "signal",
        Outcome::AnySignal => "any signal",
        Outcome::Exhausted => "exhausted",
        Outcome::RolledBack => "unwound",
    }
}

fn guard(guard: &Guard) -> &'static str {
    let either = |holds: bool, yes, no| if holds { yes } else { no };
    match guard {
        Guard::Always => "always",
        Guard::Is(_, holds, _) => either(*holds, "is", "is not"),
        Guard::In(_, holds, _) => either(*holds, "in", "not in"),
        Guard::Truth(_, holds) => either(*holds, "truth", "not truth"),
        Guard::Set(_, holds) => either(*holds, "set", "not set"),
        Guard::Empty(_, holds) => either(*holds, "empty", "not empty"),
        Guard::Predicate(_, holds) => either(*holds, "predicate", "not predicate"),
        Guard::Attempts(_) => "attempts",
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Active => "active",
        Status::WaitingForInput => "waiting_for_input",
        Status::WaitingForTool => "waiting_for_tool",
        Status::RollingBack => "rolling_back",
        Status::Terminated => "terminated",
    }
}
