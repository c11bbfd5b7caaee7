//! Types of values from outside: inputs, results, errors. Each includes all values that the engine accepts there.
//!
//! **Example.** `input_type: int` with `minimum: 1` and `maximum: 3` is one of `1`, `2`, `3`.

use super::{Kinds, TypeId, TypeTable, plain};
use trellis_base::{
    schema::{Schema, few_integers},
    value::{Key, Mapping, Value},
};
use trellis_engine::program::{Call, Callee, Listen, Outcome, PointIndex, Program, Role};
use trellis_syntax::node::InputType;

/// Returns the type of an accepted input that is no option with an outcome of its own (language 6.4, 6.5).
pub(crate) fn input(types: &mut TypeTable, listen: &Listen) -> TypeId {
    if listen.sleep.is_some() {
        return TypeId::ABSENT;
    }
    let kind = match listen.kind {
        _ if listen.closed && !listen.options.is_empty() => listen.others().fold(TypeId::NEVER, |known, value| {
            let value = types.of_value(value);
            types.join(known, value)
        }),
        Some(InputType::Text | InputType::Secret) => TypeId::TEXT,
        Some(InputType::Confirm) => types.of_schema(&Value::map([("enum", Value::list(["yes", "no"].map(Value::from)))])),
        Some(InputType::Int) => match listen.schema.as_ref().and_then(|schema| few_integers(schema.source().as_map()?)) {
            Some(integers) => types.of_schema(&Value::map([("enum", Value::list(integers.map(Value::Int)))])),
            None => types.of_kinds(&[Kinds::INT]),
        },
        Some(InputType::Float) => types.of_kinds(&[Kinds::INT, Kinds::FLOAT]),
        Some(InputType::Choice | InputType::Json) | None => TypeId::UNKNOWN,
    };
    let fitting = match &listen.schema {
        Some(schema) => {
            let declared = types.declared(schema);
            types.meet(kind, declared)
        }
        None => kind,
    };
    match &listen.default {
        Some(default) if listen.outcome(default) == Outcome::Answer => {
            let default = types.of_value(default);
            types.join(fitting, default)
        }
        _ => fitting,
    }
}

/// Returns the call whose result a point takes; `None` if it makes none.
pub(crate) fn call_at(program: &Program, point: PointIndex) -> Option<&Call> {
    let node = program.node(program.point(point).node);
    match &node.role {
        _ if node.gate == Some(point) => program.graph_of(node).before_each.as_deref(),
        Role::Act(call) => Some(call),
        Role::Pass | Role::Listen(_) => None,
    }
}

/// Returns the type of a successful result of a tool or of `each` (language 5.3, 5.5).
pub(crate) fn returned(types: &mut TypeTable, call: &Call) -> TypeId {
    let made = match &call.callee {
        Callee::Each(..) => {
            let entry = entry_of_each(types, call);
            types.list(entry)
        }
        Callee::Tool(_) | Callee::Graph(_) | Callee::Parallel(..) => TypeId::UNKNOWN,
    };
    call.returns.iter().fold(made, |known, schema| {
        let declared = types.declared(schema);
        types.meet(known, declared)
    })
}

/// Returns the branch of the `parallel` that a point calls.
pub(crate) fn branch_at<'p>(program: &'p Program, point: PointIndex, name: &Key) -> Option<&'p Call> {
    let Callee::Parallel(branches, _) = &call_at(program, point)?.callee else { return None };
    branches.iter().find(|(branch, _)| branch == name).map(|(_, branch)| branch)
}

/// Returns the type of the entries of the result of `each`: `result` is the type that the offered tools return (language 10.13).
fn entry_of_each(types: &mut TypeTable, call: &Call) -> TypeId {
    let results: Vec<TypeId> =
        call.offered.iter().map(|tool| tool.returns.as_ref().map_or(TypeId::UNKNOWN, |schema| types.declared(schema))).collect();
    let result = results.into_iter().fold(TypeId::ABSENT, |known, of| types.join(known, of));
    let text = types.text();
    let kinds = types.of_schema(&Value::map([("enum", Value::list(["error", "denied", "timeout", "schema"].map(Value::from)))]));
    let error = [("kind", kinds), ("code", TypeId::UNKNOWN_OR_ABSENT), ("message", text)];
    let error = types.mapping(error.map(|(key, of)| (Key::from(key), of)));
    let error = types.join(error, TypeId::ABSENT);
    let entry = [("id", TypeId::UNKNOWN_OR_ABSENT), ("name", text), ("result", result), ("error", error)];
    types.mapping(entry.map(|(key, of)| (Key::from(key), of)))
}

/// Returns the schema that the arguments of a call are checked against: kinds, closed values, and the required arguments of a tool. `None`
/// if nothing is declared. The requirements of a graph are checked at its caller.
pub(crate) fn taken(program: &Program, call: &Call) -> Option<Mapping> {
    match &call.callee {
        Callee::Tool(tool) => match plain(tool.parameters.as_ref()?.source()) {
            Value::Map(schema) => Some(schema),
            _ => None,
        },
        Callee::Graph(child) => {
            let node = program.node(*child);
            let graph = program.graph_of(node);
            let inputs = graph.inputs.as_ref().filter(|_| graph.entry == *child).and_then(|inputs| inputs.source().as_map());
            let inputs = inputs.and_then(|inputs| inputs.get("properties")).and_then(Value::as_map);
            let inputs = inputs.into_iter().flat_map(Mapping::iter).map(|(key, schema)| (key.clone(), plain(schema)));
            let own = |types: &[(Key, Schema)]| types.iter().map(|(key, schema)| (key.clone(), plain(schema.source()))).collect::<Vec<_>>();
            let properties: Mapping = inputs.chain(own(&graph.types)).chain(own(&node.entry.types)).collect();
            (!properties.is_empty()).then(|| [(Key::from("properties"), Value::Map(properties))].into_iter().collect())
        }
        Callee::Parallel(..) | Callee::Each(..) => None,
    }
}

/// Returns the type of `sys.rollback` after a rollback (language 7.7).
pub(crate) fn rollback(types: &mut TypeTable) -> TypeId {
    let text = types.text();
    let place = [("tool", text), ("node", text)];
    let failed = types.mapping(place.into_iter().chain([("message", text)]).map(|(key, of)| (Key::from(key), of)));
    let irreversible = types.mapping(place.map(|(key, of)| (Key::from(key), of)));
    let (failed, irreversible) = (types.list(failed), types.list(irreversible));
    types.mapping([("failed", failed), ("irreversible", irreversible)].map(|(key, of)| (Key::from(key), of)))
}

/// Returns the type of `sys.error` (language 4.2).
pub(crate) fn error(types: &mut TypeTable) -> TypeId {
    let text = types.text();
    let kinds = types.of_schema(&Value::map([("enum", Value::list(["error", "denied", "timeout", "schema"].map(Value::from)))]));
    // A branch by its name, an item by its place (language 10.3).
    let place = types.of_kinds(&[Kinds::INT]);
    let part = types.join(text, place);
    let part = types.join(part, TypeId::ABSENT);
    let entries = [
        ("tool", text),
        ("node", text),
        ("message", text),
        ("kind", kinds),
        ("code", TypeId::UNKNOWN_OR_ABSENT),
        ("data", TypeId::UNKNOWN_OR_ABSENT),
        ("part", part),
    ];
    types.mapping(entries.map(|(key, of)| (Key::from(key), of)))
}
