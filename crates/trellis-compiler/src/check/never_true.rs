//! `never-true`: a condition over closed values that none of them meets. `shadowed-transition`: one that was asked before.

use crate::{
    guards::{
        cases::{CaseValues, closed_of_any, input_path, subject},
        impossible::{Comparison, OTHERWISE, Possible, report, report_one},
        value_index::Literals,
    },
    source_lookup::condition,
};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Severity},
    language::InputType,
    value::Value,
};
use trellis_engine::program::{Edge, Guard, Node, Operand, Program, Provenance, Reply, Role};
use trellis_syntax::condition::Condition;

/// Edges of a node that are compared with each other.
const MAX_EDGES_COMPARED: usize = 64;

/// Values that are compared with ones that are misspelt, at one node.
const MAX_VALUE_COMPARISONS: usize = 1_000_000;

pub(super) fn check(program: &Program, node: &Node, found: &mut dyn FnMut(Diagnostic)) {
    let mut patience = MAX_VALUE_COMPARISONS;
    // A condition that several replies ask never holds where it holds for none of them.
    let mut findings: Vec<(&Edge, Option<(bool, Diagnostic)>)> = Vec::new();
    for reply in program.replies(&program.point(node.body).replies) {
        // Only a transition has a condition of its author.
        let asked = program.edges_of(reply).iter().filter(|edge| edge.why == Provenance::Transition);
        let asked: Vec<_> = asked.filter_map(|edge| Some((edge, subject(&edge.when)?))).collect();
        if asked.is_empty() {
            continue;
        }
        for (at, (edge, _)) in asked.iter().enumerate().take(MAX_EDGES_COMPARED) {
            if !findings.iter().any(|(known, _)| std::ptr::eq(*known, *edge))
                && let Some((first, _)) = asked[..at].iter().find(|(other, _)| other.when == edge.when)
                && let (Some(first), Some(condition)) = (condition(program, node, first), condition(program, node, edge))
            {
                let path = program.path_of(node);
                let message = format!(
                    "this transition is never taken: one before it asks `{}` too",
                    Condition::text_of(first, program.text_of(node))
                );
                // Nothing is lost by it, unlike the edges after an unconditional one.
                let report = Diagnostic::new(Code::ShadowedTransition, path, condition.span, message).severity(Severity::Warning);
                found(report.label(path, first.span, "asked here first").help("ask for something else, or remove this transition"));
            }
        }
        let mut operands: Vec<&Operand> = asked.iter().map(|(_, operand)| *operand).collect();
        operands.sort_unstable();
        operands.dedup();
        let closed: Vec<Option<CaseValues>> = operands.iter().map(|operand| closed_of_any(node, reply, operand)).collect();
        let values = closed.iter().map(|closed| closed.as_ref().map(|(values, _)| (&values[..], Literals::new(values))));
        let values: Vec<_> = values.collect();
        for (edge, operand) in asked {
            let values = operands.binary_search(&operand).ok().and_then(|at| values[at].as_ref());
            let finding = condition(program, node, edge).and_then(|condition| {
                if let Some((why, values, help)) = never(node, reply, &edge.when, operand, values, &mut patience) {
                    return Some((true, report(program, node, condition, &edge.when, Possible { why: &why, values }, help)));
                }
                let (literal, why, values) = in_vain(node, reply, &edge.when, operand, values)?;
                Some((false, report_one(program, node, condition, Comparison { operand, literal }, Possible { why: &why, values })))
            });
            match findings.iter_mut().find(|(known, _)| std::ptr::eq(*known, edge)) {
                // One impossible literal is less than an impossible condition.
                Some((_, known)) if finding.as_ref().is_none_or(|(is_all, _)| !is_all) => *known = known.take().and(finding),
                Some(_) => {}
                None => findings.push((edge, finding)),
            }
        }
    }
    findings.into_iter().filter_map(|(_, finding)| finding).for_each(|(_, finding)| found(finding));
}

/// Returns the reason why a guard cannot hold, the values that could be meant, and the remedy if none is.
fn never<'v>(
    node: &Node,
    reply: &Reply,
    guard: &Guard,
    operand: &Operand,
    closed: Option<&(&'v [Value], Literals<'_>)>,
    patience: &mut usize,
) -> Option<(String, &'v [Value], String)> {
    if let Some((values, known)) = closed {
        let possible = match guard {
            Guard::Is(_, true, literal) => known.has(literal),
            Guard::In(_, true, literals) => literals.iter().any(|literal| known.has(literal)),
            Guard::Is(_, false, literal) => values.iter().any(|value| value != literal),
            Guard::In(_, false, literals) => {
                let literals = Literals::new(literals);
                values.iter().any(|value| !literals.has(value))
            }
            Guard::Truth(_, yes) => values.iter().any(|value| value.as_bool() == Some(*yes)),
            _ => !values.is_empty(),
        };
        if possible {
            return None;
        }
        let compared = &values[..values.len().min(*patience)];
        *patience -= compared.len();
        return Some((format!("`{}` is {}", operand.path, one_of(values)), compared, OTHERWISE.to_owned()));
    }
    let below = input_path(reply, operand)?;
    let Role::Listen(listen) = &node.role else { return None };
    let kind = listen.kind.filter(|_| below.is_empty())?;
    let fits = |value: &Value| is_of(kind, value);
    let never = match guard {
        Guard::Is(_, true, literal) => !fits(literal),
        Guard::In(_, true, literals) => !literals.iter().any(fits),
        Guard::Truth(..) => !fits(&Value::Bool(true)),
        _ => false,
    };
    never.then(|| {
        let name = format!("{kind:?}").to_lowercase();
        (format!("`{}` is of type `{name}`", operand.path), &[][..], format!("compare it with a literal of type `{name}`"))
    })
}

/// Returns the first of several literals that can never be met, if another one can; with the reason, and the values that could be meant.
fn in_vain<'g, 'v>(
    node: &Node,
    reply: &Reply,
    guard: &'g Guard,
    operand: &Operand,
    closed: Option<&(&'v [Value], Literals<'_>)>,
) -> Option<(&'g Value, String, &'v [Value])> {
    let Guard::In(_, true, literals) = guard else { return None };
    if let Some((values, known)) = closed {
        let literal = literals.iter().find(|literal| !known.has(literal))?;
        return Some((literal, format!("`{}` is {}", operand.path, one_of(values)), values));
    }
    let Role::Listen(listen) = &node.role else { return None };
    let kind = listen.kind.filter(|_| input_path(reply, operand).is_some_and(<[_]>::is_empty))?;
    let literal = literals.iter().find(|literal| !is_of(kind, literal))?;
    let name = format!("{kind:?}").to_lowercase();
    Some((literal, format!("`{}` is of type `{name}`", operand.path), &[]))
}

/// Returns true if an input of a type can be a value, judged by kinds alone.
fn is_of(kind: InputType, value: &Value) -> bool {
    match kind {
        InputType::Int => matches!(value, Value::Int(_) | Value::UInt(_)) || matches!(value, Value::Float(number) if number.fract() == 0.0),
        InputType::Float => matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_)),
        InputType::Text | InputType::Secret => matches!(value, Value::Text(_)),
        InputType::Confirm | InputType::Choice | InputType::Json => true,
    }
}

/// Some values in words.
fn one_of(values: &[Value]) -> String {
    let listed = values.iter().take(8).map(|value| format!("`{}`", value.to_json())).collect::<Vec<_>>().join(", ");
    format!("one of {}", if listed.is_empty() { "nothing".to_owned() } else { listed })
}
