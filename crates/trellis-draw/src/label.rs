//! The words on arrows: outcomes, keys and conditions as an author would write them.

use super::Arrow;
use trellis_base::value::Value;
use trellis_engine::program::{Guard, Outcome, Program, Provenance, Reason};

/// Returns a guard in the grammar of conditions (language 6.1); `None` for one that always holds.
pub fn condition(program: &Program, guard: &Guard) -> Option<String> {
    Some(match guard {
        Guard::Always => return None,
        Guard::Is(operand, true, value) => format!("{} == {}", operand.path, literal(value)),
        Guard::Is(operand, false, value) => format!("{} != {}", operand.path, literal(value)),
        Guard::In(operand, positive, values) => {
            let values = values.iter().map(literal).collect::<Vec<_>>().join(", ");
            format!("{}{} in [{values}]", not(*positive), operand.path)
        }
        Guard::Truth(operand, positive) => format!("{}{}", not(*positive), operand.path),
        Guard::Set(operand, positive) => format!("{} is {}set", operand.path, not(*positive)),
        Guard::Empty(operand, positive) => format!("{} is {}empty", operand.path, not(*positive)),
        Guard::Predicate(index, positive) => {
            let name = program.predicates().get(*index as usize).map_or("?", |predicate| &predicate.name);
            format!("{}{name}", not(*positive))
        }
        Guard::Attempts(most) => format!("attempt < {most}"),
    })
}

/// A literal as an author writes it: text in single quotes, unless that would need escapes.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) if !text.contains(['\'', '\\']) && !text.contains(char::is_control) => format!("'{text}'"),
        other => other.to_json(),
    }
}

fn not(positive: bool) -> &'static str {
    if positive { "" } else { "not " }
}

/// Returns the label of an arrow; empty for a plain `to`.
pub(super) fn arrow(arrow: &Arrow<'_>) -> String {
    let mut parts = Vec::new();
    if arrow.gate {
        parts.push("before_each".to_owned());
    }
    match arrow.outcome {
        Outcome::Pass | Outcome::Answer | Outcome::Chosen(_) | Outcome::Success => {}
        other => parts.push(outcome(other)),
    }
    match (arrow.why, &arrow.condition) {
        (Provenance::Retry, Some(condition)) => parts.push(format!("retry while {condition}")),
        (Provenance::Retry, None) => parts.push("retry".to_owned()),
        (Provenance::Option(text), _) => parts.push(text.to_string()),
        (_, Some(condition)) => parts.push(condition.clone()),
        (_, None) => {}
    }
    // A failure that the outcome implies is not repeated: `error tool-error`.
    parts.extend(arrow.failure.filter(|failure| matches!(*failure, "no-match" | "fail")).map(str::to_owned));
    parts.join(" ")
}

/// Returns an outcome in words, as in `signal interrupt`.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Signal(name) => format!("signal {name}"),
        Outcome::AnySignal => "any signal".to_owned(),
        Outcome::Exhausted => "max_visits".to_owned(),
        other => outcome_name(other).to_owned(),
    }
}

/// An outcome in one word, as JSON has it.
pub(super) fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Answer | Outcome::Chosen(_) => "answer",
        Outcome::Invalid => "invalid",
        Outcome::Success => "success",
        Outcome::Error => "error",
        Outcome::Timeout => "timeout",
        Outcome::Denied => "denied",
        Outcome::Signal(_) => "signal",
        Outcome::AnySignal => "any_signal",
        Outcome::Exhausted => "exhausted",
        Outcome::RolledBack => "unwound",
    }
}

/// Returns the key that declares an edge, as JSON has it.
pub(super) fn why(why: &Provenance) -> &'static str {
    match why {
        Provenance::Option(_) => "option",
        Provenance::Transition => "transition",
        Provenance::To => "to",
        Provenance::OnError => "on_error",
        Provenance::OnDenied => "on_denied",
        Provenance::OnSignal => "on_signal",
        Provenance::OnMaxVisits => "on_max_visits",
        Provenance::OnInvalid => "on_invalid",
        Provenance::SignalDefault => "on_signal_default",
        Provenance::ErrorDefault => "on_error_default",
        Provenance::OnRolledBack => "on_rolled_back",
        Provenance::Retry => "retry",
        Provenance::BeforeEach => "before_each",
        Provenance::Terminal => "terminal",
        Provenance::Rule => "rule",
    }
}

/// Returns the reason for an end, in one word (language 7.9).
pub(super) fn reason(reason: &Reason) -> &'static str {
    match reason {
        Reason::Finished => "finished",
        Reason::Failed(_) => "failed",
        Reason::Denied => "denied",
        Reason::RolledBack => "rolled_back",
    }
}
