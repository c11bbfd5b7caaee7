//! Conditions of edges that never hold, by the types at the node.

use rustc_hash::FxHashSet;

use crate::{
    dataflow::{
        domain::{Kinds, Type},
        fixpoint::Analysis,
    },
    guards::impossible,
    source_lookup::condition,
};
use trellis_base::{
    diagnostic::{Diagnostic, FilePath},
    span::Span,
    value::Value,
};
use trellis_engine::program::Guard;

/// Reports conditions that hold for no possible value of their operand (language 8.2).
pub(crate) fn never_true(known: &Analysis<'_, '_>, found: &mut Vec<Diagnostic>) {
    let mut reported: FxHashSet<(FilePath, Span)> =
        found.iter().filter_map(|found| found.place.as_ref()).map(|place| (place.path.clone(), place.span)).collect();
    for seen in known.never() {
        let program = known.program;
        let node = program.node(program.point(seen.point).node);
        let edge = &program.edges[seen.edge.index()];
        let of = known.types.get(seen.operand);
        // An absent value, or one that is no truth value, is another finding; a switch that always has one value may be turned one day.
        let (Some(condition), Some(operand)) = (condition(program, node, edge), edge.when.operand()) else { continue };
        if of.absent
            || is_switch(of, &edge.when)
            || known.types.may_fail(seen.operand, &edge.when)
            || !reported.insert((program.path_of(node).clone(), condition.span))
        {
            continue;
        }
        if let Guard::In(_, true, literals) = &edge.when
            && literals.iter().any(|literal| of.admits(literal))
        {
            if let Some(literal) = literals.iter().find(|literal| !of.admits(literal)) {
                let described = known.types.described(seen.operand);
                found.push(impossible::finding_of_one(
                    program,
                    node,
                    condition,
                    impossible::Comparison { operand, literal },
                    &of.values,
                    &described,
                ));
            }
            continue;
        }
        let finding = impossible::finding(program, node, condition, &edge.when, operand, &of.values, &known.types.described(seen.operand));
        found.push(finding);
    }
}

/// Returns true if the operand is one constant of the kind that the guard compares with: a switch that its author sets by hand.
pub(crate) fn is_switch(of: &Type, guard: &Guard) -> bool {
    let is_alike = |value: &Value| literals(guard).iter().all(|literal| same_kind(literal, value));
    matches!(of.values.as_slice(), [value] if of.kinds == Kinds::default() && is_alike(value))
}

/// Returns the constants that a guard compares with.
fn literals(guard: &Guard) -> &[Value] {
    match guard {
        Guard::Is(_, _, value) => std::slice::from_ref(value),
        Guard::In(_, _, values) => values,
        _ => &[],
    }
}

/// Returns true if two values are of the same kind; all numbers are.
fn same_kind(a: &Value, b: &Value) -> bool {
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_));
    a.kind() == b.kind() || (is_number(a) && is_number(b))
}
