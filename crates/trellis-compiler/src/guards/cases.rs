//! Possible values of an operand at a reply, as far as its own node determines them: closed values, or cases that its guards distinguish.

use super::value_index::Literals;
use trellis_base::{language::InputType, path::Segment, schema::few_integers, value::Value};
use trellis_engine::program::{Call, Guard, Listen, Node, Operand, Outcome, Reply, Role, Root, WriteSource, WriteTarget};

/// Values, and whether the operand may be absent.
pub(crate) type CaseValues = (Vec<Value>, bool);

/// Returns the possible values of an operand when a reply is taken, and whether it may be absent; `None` where they are open.
pub(crate) fn closed(node: &Node, reply: &Reply, operand: &Operand) -> Option<CaseValues> {
    known(node, reply, operand, Some(&reply.on))
}

/// Like [`closed`], but for every input of the node, also for options that are outcomes of their own.
pub(crate) fn closed_of_any(node: &Node, reply: &Reply, operand: &Operand) -> Option<CaseValues> {
    known(node, reply, operand, None)
}

fn known(node: &Node, reply: &Reply, operand: &Operand, on: Option<&Outcome>) -> Option<CaseValues> {
    let below = input_path(reply, operand)?;
    match &node.role {
        Role::Listen(listen) => below
            .is_empty()
            .then(|| closed_input(listen, on))
            .flatten()
            .map(|values| (values, false))
            .or_else(|| listen.schema.as_ref()?.closed(below)),
        Role::Act(call) => closed_result(call, below),
        Role::Pass => None,
    }
}

/// The part of the accepted input or result that an operand reads: `input` itself, or the key it was saved to.
pub(crate) fn input_path<'o>(reply: &Reply, operand: &'o Operand) -> Option<&'o [Segment]> {
    if matches!(operand.root, Root::Input | Root::Result) {
        return Some(operand.path.rest());
    }
    let mut writes = reply.update.iter().filter(|write| match &write.to {
        WriteTarget::Path(path) | WriteTarget::Append(path) => path.root() == operand.path.root(),
        WriteTarget::Absent(key) => key == operand.path.root(),
        WriteTarget::Input | WriteTarget::Ans | WriteTarget::Error => false,
    });
    let write = writes.next().filter(|_| writes.next().is_none())?;
    match (&write.to, &write.value) {
        (WriteTarget::Path(path), WriteSource::Input) => operand.path.segments().strip_prefix(path.segments()),
        _ => None,
    }
}

fn closed_input(listen: &Listen, on: Option<&Outcome>) -> Option<Vec<Value>> {
    if let Some(value) = on.and_then(|on| listen.chosen(on)) {
        return Some(vec![value.clone()]);
    }
    // The default that replaces an answer is one of all of them.
    let is_answer = on == Some(&Outcome::Answer);
    match listen.kind {
        Some(InputType::Confirm) => Some(vec!["yes".into(), "no".into()]),
        Some(InputType::Int) => Some(few_integers(listen.schema.as_ref()?.source().as_map()?)?.map(Value::Int).collect()),
        Some(InputType::Choice) if listen.closed && is_answer => Some(listen.others().cloned().collect()),
        Some(InputType::Choice) if listen.closed => Some(listen.options.iter().map(|option| option.value.clone()).collect()),
        _ => None,
    }
}

fn closed_result(call: &Call, below: &[Segment]) -> Option<(Vec<Value>, bool)> {
    call.returns.iter().find_map(|schema| schema.closed(below))
}

/// One case of an operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Case {
    /// This value.
    Value(Value),
    /// A value that no guard names, and not an empty one.
    Other,
    /// No value.
    Absent,
}

/// The cases of an operand that its guards can distinguish.
pub(crate) fn of_operand(closed: Option<CaseValues>, own: &[&Guard]) -> Vec<Case> {
    let presence = own.iter().any(|guard| matches!(guard, Guard::Set(..) | Guard::Empty(..)));
    if let Some((values, absent)) = closed {
        let absent = (absent && presence).then_some(Case::Absent);
        return values.into_iter().map(Case::Value).chain(absent).collect();
    }
    let truths = [Value::Bool(true), Value::Bool(false)];
    let named = own.iter().flat_map(|guard| match guard {
        Guard::Is(_, _, value) => std::slice::from_ref(value),
        Guard::In(_, _, values) => values,
        Guard::Truth(..) => &truths,
        _ => &[],
    });
    let mut known = Literals::default();
    let mut cases: Vec<Case> = Vec::new();
    let null = presence.then_some(&Value::Null);
    for (at, value) in (0..).zip(named.map(Some).chain([None])) {
        match value {
            Some(value) if known.has(value) => {}
            Some(value) => {
                known.add(at, value);
                cases.push(Case::Value(value.clone()));
            }
            None => {
                cases.extend(presence.then_some(Case::Absent));
                cases.extend(null.filter(|null| !known.has(null)).cloned().map(Case::Value));
            }
        }
    }
    // A truth is only ever asked of booleans: anything else fails, and is no gap between the edges.
    if !own.iter().any(|guard| matches!(guard, Guard::Truth(..))) {
        cases.push(Case::Other);
    }
    cases
}

/// The cases for which no guard holds, in order. A guard that would fail on a case counts as holding: a failure is no gap between the edges.
pub(crate) fn uncovered<'c>(cases: &'c [Case], own: &[&Guard]) -> Vec<&'c Case> {
    let mut values = Literals::default();
    for (at, case) in (0..).zip(cases) {
        if let Case::Value(value) = case {
            values.add(at, value);
        }
    }
    let absent = cases.iter().position(|case| *case == Case::Absent);
    let mut open: Vec<bool> = vec![true; cases.len()];
    let mut left: Vec<usize> = (0..cases.len()).collect();
    for guard in own {
        let literals = match guard {
            Guard::Is(_, true, value) => std::slice::from_ref(value),
            Guard::In(_, true, values) => values,
            _ => {
                left.retain(|&at| {
                    open[at] &= !holds(guard, &cases[at]);
                    open[at]
                });
                continue;
            }
        };
        literals.iter().flat_map(|literal| values.of(literal)).for_each(|at| open[at as usize] = false);
        // A comparison with an absent value fails.
        absent.into_iter().for_each(|at| open[at] = false);
    }
    cases.iter().zip(open).filter(|(_, open)| *open).map(|(case, _)| case).collect()
}

/// Returns the operand of a guard.
pub(crate) fn subject(guard: &Guard) -> Option<&Operand> {
    match guard {
        Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) | Guard::Set(operand, _) | Guard::Empty(operand, _) => {
            Some(operand)
        }
        Guard::Always | Guard::Predicate(..) | Guard::Attempts(_) => None,
    }
}

fn holds(guard: &Guard, case: &Case) -> bool {
    match (guard, case) {
        (Guard::Is(_, yes, value), Case::Value(case)) => (case == value) == *yes,
        (Guard::In(_, yes, values), Case::Value(case)) => values.contains(case) == *yes,
        (Guard::Is(_, yes, _) | Guard::In(_, yes, _), Case::Other) => !yes,
        (Guard::Truth(_, yes), Case::Value(Value::Bool(case))) => case == yes,
        (Guard::Set(_, yes), case) => (*case != Case::Absent) == *yes,
        (Guard::Empty(_, yes), Case::Value(case)) => case.is_empty() == *yes,
        (Guard::Empty(_, yes), case) => (*case == Case::Absent) == *yes,
        (Guard::Is(..) | Guard::In(..) | Guard::Truth(..), _) | (Guard::Always | Guard::Predicate(..) | Guard::Attempts(_), _) => true,
    }
}
