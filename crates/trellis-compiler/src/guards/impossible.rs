//! The findings about a condition that no value of its operand meets.

use trellis_base::{
    diagnostic::{Code, Diagnostic, near},
    span::{Span, Spanned},
    value::Value,
};
use trellis_engine::program::{Guard, Node, Operand, Program};
use trellis_syntax::condition::Condition;

/// A literal that an operand is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'c> {
    pub(crate) operand: &'c Operand,
    pub(crate) literal: &'c Value,
}

/// The reason why an operand cannot have the value that a condition asks for, and the values that it can have.
#[derive(Clone, Copy)]
pub(crate) struct Possible<'c> {
    pub(crate) why: &'c str,
    pub(crate) values: &'c [Value],
}

/// The finding about one of several literals that is asked for in vain.
pub(crate) fn finding_of_one(
    program: &Program,
    node: &Node,
    condition: &Spanned<Condition>,
    comparison: Comparison<'_>,
    values: &[Value],
    described: &str,
) -> Diagnostic {
    let why = format!("`{}` is {described}", comparison.operand.path);
    report_one(program, node, condition, comparison, Possible { why: &why, values })
}

pub(crate) fn report_one(
    program: &Program,
    node: &Node,
    condition: &Spanned<Condition>,
    Comparison { operand, literal }: Comparison<'_>,
    possible: Possible<'_>,
) -> Diagnostic {
    let guard = Guard::Is(operand.clone(), true, literal.clone());
    let found = report(program, node, condition, &guard, possible, "ask for what it can be, or remove this value".to_owned());
    let message =
        format!("`{}` asks for `{}` in vain: {}", Condition::text_of(condition, program.text_of(node)), literal.to_json(), possible.why);
    found.message(message)
}

/// The finding about a condition whose operand is `described` wherever it is asked.
pub(crate) fn finding(
    program: &Program,
    node: &Node,
    condition: &Spanned<Condition>,
    guard: &Guard,
    operand: &Operand,
    values: &[Value],
    described: &str,
) -> Diagnostic {
    let why = format!("`{}` is {described}", operand.path);
    report(program, node, condition, guard, Possible { why: &why, values }, OTHERWISE.to_owned())
}

/// Help for a condition that never holds, if no similar literal could be meant.
pub(crate) const OTHERWISE: &str = "ask for what it can be, or remove this transition";

pub(crate) fn report(
    program: &Program,
    node: &Node,
    condition: &Spanned<Condition>,
    guard: &Guard,
    Possible { why, values }: Possible<'_>,
    otherwise: String,
) -> Diagnostic {
    let message = format!("`{}` can never be true: {why}", Condition::text_of(condition, program.text_of(node)));
    let found = Diagnostic::new(Code::NeverTrue, program.path_of(node), condition.span, message);
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    let meant = literal(guard).and_then(|literal| Some((literal, near(literal, texts.iter().map(String::as_str))?)));
    let Some((literal, near)) = meant else {
        let text = values.iter().find_map(Value::as_str).filter(|_| matches!(guard, Guard::Truth(..)));
        return found.help(match (text, guard.operand()) {
            (Some(text), Some(operand)) => format!("compare it with what it can be: `{} == \"{text}\"`", operand.path),
            _ => otherwise,
        });
    };
    // A quoted name that occurs once is replaced, if that needs no escapes.
    let text = program.documents[node.document as usize].text.get(condition.span.range()).unwrap_or_default();
    let mut places = text.match_indices(literal);
    let place = places.next().filter(|_| places.next().is_none()).map(|(at, _)| {
        let start = condition.span.start as usize + at;
        Span::new(start, start + literal.len())
    });
    let is_plain = |text: &str| text.chars().all(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_' | '.'));
    match place.filter(|_| is_plain(literal) && is_plain(near.name)) {
        Some(place) => found.meant(place, Some(near), || otherwise),
        None => found.help(near.question()),
    }
}

fn literal(guard: &Guard) -> Option<&str> {
    match guard {
        Guard::Is(_, _, Value::Text(text)) => Some(text),
        Guard::In(_, _, values) => values.first()?.as_str(),
        _ => None,
    }
}
