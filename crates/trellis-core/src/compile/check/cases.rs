//! What an operand can be at a reply, as far as its own node says: closed values, or cases that its guards tell apart.

use crate::{
    path::Segment,
    program::{Call, Domain, From, Guard, Listen, Node, Operand, Place, Reply, Role, Root, Truth},
    syntax::node::InputType,
    value::Value,
};

/// Values, and whether nothing may be there.
pub(super) type Closed = (Vec<Value>, bool);

/// The values that can stand at an operand, and whether it may be absent; nothing where they are open.
pub(super) fn closed(node: &Node, reply: &Reply, operand: &Operand) -> Option<Closed> {
    let below = input_path(reply, operand)?;
    match &node.role {
        Role::Listen(listen) => below
            .is_empty()
            .then(|| closed_input(listen))
            .flatten()
            .map(|values| (values, false))
            .or_else(|| listen.schema.as_ref()?.closed(below)),
        Role::Act(call) => closed_result(call, below),
        Role::Pass => None,
    }
}

/// Which part of the accepted input or result an operand reads: `input` itself, or the key it was saved to.
pub(super) fn input_path<'o>(reply: &Reply, operand: &'o Operand) -> Option<&'o [Segment]> {
    if matches!(operand.root, Root::Input | Root::Result) {
        return Some(operand.path.rest());
    }
    let mut writes = reply.update.iter().filter(|write| match &write.to {
        Place::Path(path) | Place::Append(path) => path.root() == operand.path.root(),
        Place::Absent(key) => key == operand.path.root(),
        Place::Input | Place::Ans | Place::Error => false,
    });
    let write = writes.next().filter(|_| writes.next().is_none())?;
    match (&write.to, &write.value) {
        (Place::Path(path), From::Input) => operand.path.segments().strip_prefix(path.segments()),
        _ => None,
    }
}

fn closed_input(listen: &Listen) -> Option<Vec<Value>> {
    match listen.kind {
        Some(InputType::Confirm) => Some(vec!["yes".into(), "no".into()]),
        Some(InputType::Choice) if listen.closed => Some(listen.options.iter().map(|option| option.value.clone()).collect()),
        _ => None,
    }
}

fn closed_result(call: &Call, below: &[Segment]) -> Option<(Vec<Value>, bool)> {
    call.returns.iter().find_map(|schema| schema.closed(below))
}

/// One case of an operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Case {
    /// This value.
    Value(Value),
    /// A value that no guard names, and not an empty one.
    Other,
    /// Nothing is there.
    Absent,
}

/// The cases of an operand that these guards can tell apart.
pub(super) fn of_operand(closed: Option<Closed>, operand: &Operand, guards: &[&Guard]) -> Vec<Case> {
    let own = || guards.iter().filter(|guard| subject(guard) == Some(operand));
    let presence = own().any(|guard| matches!(guard, Guard::Set(..) | Guard::Empty(..)));
    if let Some((values, absent)) = closed {
        let absent = (absent && presence).then_some(Case::Absent);
        return values.into_iter().map(Case::Value).chain(absent).collect();
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |case: Case| {
        if !cases.contains(&case) {
            cases.push(case);
        }
    };
    for guard in own() {
        match guard {
            Guard::Is(_, _, value) => add(Case::Value(value.clone())),
            Guard::In(_, _, values) => values.iter().for_each(|value| add(Case::Value(value.clone()))),
            Guard::Truth(..) => [true, false].into_iter().for_each(|truth| add(Case::Value(truth.into()))),
            _ => {}
        }
    }
    if presence {
        add(Case::Absent);
        add(Case::Value(Value::Null));
    }
    // A truth is only ever asked of booleans: anything else fails, and is no gap between the ways.
    if !own().any(|guard| matches!(guard, Guard::Truth(..))) {
        add(Case::Other);
    }
    cases
}

/// What a guard reads.
pub(super) fn subject(guard: &Guard) -> Option<&Operand> {
    match guard {
        Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) | Guard::Set(operand, _) | Guard::Empty(operand, _) => {
            Some(operand)
        }
        Guard::Always | Guard::Predicate(..) | Guard::Attempts(_) => None,
    }
}

/// One case for each operand, and an answer for each predicate.
pub(super) struct Assignment<'c> {
    pub(super) operands: Vec<(&'c Operand, &'c Case)>,
    pub(super) predicates: Vec<(u32, bool)>,
}

impl Domain for Assignment<'_> {
    /// A guard that would fail on such a case counts as holding: a failure is no gap between the ways.
    fn holds(&self, guard: &Guard) -> Truth {
        let case = subject(guard).and_then(|subject| self.operands.iter().find(|(operand, _)| *operand == subject)).map(|(_, case)| *case);
        let holds = match (guard, case) {
            (Guard::Always, _) => true,
            (Guard::Predicate(index, yes), _) => match self.predicates.iter().find(|(known, _)| known == index) {
                Some((_, answer)) => answer == yes,
                None => return Truth::Either,
            },
            (Guard::Is(_, yes, value), Some(Case::Value(case))) => (case == value) == *yes,
            (Guard::In(_, yes, values), Some(Case::Value(case))) => values.contains(case) == *yes,
            (Guard::Is(_, yes, _) | Guard::In(_, yes, _), Some(Case::Other)) => !yes,
            (Guard::Truth(_, yes), Some(Case::Value(Value::Bool(case)))) => case == yes,
            (Guard::Set(_, yes), Some(case)) => (*case != Case::Absent) == *yes,
            (Guard::Empty(_, yes), Some(Case::Value(case))) => case.is_empty() == *yes,
            (Guard::Empty(_, yes), Some(case)) => (*case == Case::Absent) == *yes,
            (Guard::Is(..) | Guard::In(..) | Guard::Truth(..), Some(_)) => true,
            (_, None) | (Guard::Attempts(_), _) => return Truth::Either,
        };
        if holds { Truth::Yes } else { Truth::No }
    }
}
