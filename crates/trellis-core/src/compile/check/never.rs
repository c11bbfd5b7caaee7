//! `never-true`: a condition over closed values that none of them meets.

use super::{
    cases::{closed, input_path, subject},
    syntax_of,
};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    program::{Edge, Guard, Node, Operand, Program, Reply, Role},
    span::Spanned,
    syntax::{condition::Condition, node::InputType},
    value::Value,
};

pub(super) fn check(program: &Program, found: &mut Vec<Diagnostic>) {
    for node in &program.nodes {
        for reply in program.replies(&program.point(node.body).replies) {
            for edge in program.edges_of(reply) {
                if let Some((why, help)) = never(node, reply, &edge.when)
                    && let Some(condition) = condition(program, node, edge)
                {
                    let message = format!("`{}` can never be true: {why}", condition.value.text);
                    found.push(Diagnostic::new(Code::NeverTrue, program.path_of(node), condition.span, message).help_maybe(help));
                }
            }
        }
    }
}

/// Why a guard cannot hold, and what could be meant.
fn never(node: &Node, reply: &Reply, guard: &Guard) -> Option<(String, Option<String>)> {
    let operand = subject(guard)?;
    if let Some((values, _)) = closed(node, reply, operand) {
        let possible = values.iter().any(|value| match guard {
            Guard::Is(_, yes, literal) => (value == literal) == *yes,
            Guard::In(_, yes, literals) => literals.contains(value) == *yes,
            Guard::Truth(_, yes) => value.as_bool() == Some(*yes),
            _ => true,
        });
        if possible {
            return None;
        }
        let listed = values.iter().take(8).map(|value| format!("`{}`", value.to_json())).collect::<Vec<_>>().join(", ");
        let listed = if listed.is_empty() { "nothing".to_owned() } else { listed };
        return Some((format!("`{}` is one of {listed}", operand.path), near(guard, &values)));
    }
    let below = input_path(reply, operand)?;
    let Role::Listen(listen) = &node.role else { return None };
    let kind = listen.kind.filter(|_| below.is_empty())?;
    let fits = |value: &Value| match kind {
        InputType::Int => matches!(value, Value::Int(_) | Value::UInt(_)) || matches!(value, Value::Float(number) if number.fract() == 0.0),
        InputType::Float => matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_)),
        InputType::Text | InputType::Secret => matches!(value, Value::Text(_)),
        InputType::Confirm | InputType::Choice | InputType::Json => true,
    };
    let never = match guard {
        Guard::Is(_, true, literal) => !fits(literal),
        Guard::In(_, true, literals) => !literals.iter().any(fits),
        Guard::Truth(..) => !fits(&Value::Bool(true)),
        _ => false,
    };
    let name = format!("{kind:?}").to_lowercase();
    never.then(|| (format!("`{}` is of type `{name}`", operand.path), Some(format!("compare it with a literal of type `{name}`"))))
}

/// The finding about a condition whose operand is `described` wherever it is asked.
pub(super) fn finding(
    program: &Program,
    node: &Node,
    condition: &Spanned<Condition>,
    guard: &Guard,
    operand: &Operand,
    values: &[Value],
    described: &str,
) -> Diagnostic {
    let message = format!("`{}` can never be true: `{}` is {described}", condition.value.text, operand.path);
    Diagnostic::new(Code::NeverTrue, program.path_of(node), condition.span, message).help_maybe(near(guard, values))
}

/// The value that could be meant.
fn near(guard: &Guard, values: &[Value]) -> Option<String> {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    literal(guard).and_then(|literal| did_you_mean(literal, texts.iter().map(String::as_str)))
}

fn literal(guard: &Guard) -> Option<&str> {
    match guard {
        Guard::Is(_, _, Value::Text(text)) => Some(text),
        Guard::In(_, _, values) => values.first()?.as_str(),
        _ => None,
    }
}

/// The condition of an edge as it is written.
pub(super) fn condition<'p>(program: &'p Program, node: &Node, edge: &Edge) -> Option<&'p Spanned<Condition>> {
    let origin = edge.origin?;
    let transitions = &syntax_of(program, node)?.transitions;
    let written = transitions.iter().find(|transition| transition.target.as_ref().is_some_and(|target| target.name.span == origin.span))?;
    written.condition.as_ref()
}
