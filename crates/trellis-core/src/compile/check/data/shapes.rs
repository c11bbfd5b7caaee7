//! What is known of a value before it is there: from a literal, a schema, a kind of input.

use crate::{
    program::{Call, From, Listen, PointIndex, Program, Role, Write},
    syntax::node::InputType,
    template::Shape,
    value::Value,
};

/// What can be said of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    pub(super) absent: bool,
    pub(super) present: bool,
    pub(super) unknown: bool,
}

impl Presence {
    const THERE: Self = Self { absent: false, present: true, unknown: false };
    const ABSENT: Self = Self { absent: true, present: false, unknown: false };
    const EITHER: Self = Self { absent: true, present: true, unknown: false };
    const UNKNOWN: Self = Self { absent: false, present: false, unknown: true };
}

/// A value, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'p> {
    /// Exactly this.
    Literal(&'p Value),
    /// A mapping of parts, in which others are absent.
    Shape(&'p Shape),
    /// Something that fits a JSON Schema.
    Schema(&'p Value),
    /// The same, where it may also be absent.
    Optional(&'p Value),
    /// Something without anything below it.
    Scalar,
    /// `sys.error`.
    Error,
    /// Something.
    Unknown,
}

impl<'p> Part<'p> {
    pub(super) fn of_shape(shape: &'p Shape) -> Self {
        match shape {
            Shape::Literal(value) => Self::Literal(value),
            Shape::Text(_) | Shape::List(_) => Self::Scalar,
            Shape::Map(_) | Shape::Expression(_) => Self::Shape(shape),
        }
    }

    /// Whether it is there itself.
    pub(super) fn presence(self) -> Presence {
        match self {
            Self::Shape(Shape::Expression(expression)) if expression.is_optional() => Presence::EITHER,
            Self::Optional(_) => Presence::EITHER,
            _ => Presence::THERE,
        }
    }

    /// What is known below it.
    pub(super) fn below(self, names: &[&str]) -> Presence {
        let Some((first, rest)) = names.split_first() else { return self.presence() };
        match self {
            Self::Literal(Value::Map(entries)) => match entries.get(first) {
                Some(value) => Self::Literal(value).below(rest),
                None => Presence::ABSENT,
            },
            Self::Literal(_) | Self::Scalar => Presence::ABSENT,
            Self::Shape(Shape::Map(entries)) => match entries.iter().find(|(key, _)| *key.value == **first) {
                Some((_, shape)) => Self::of_shape(&shape.value).below(rest),
                None => Presence::ABSENT,
            },
            Self::Schema(schema) | Self::Optional(schema) => {
                let below = schema_below(schema, first);
                let inner = below.1.map_or(Presence::UNKNOWN, |schema| Self::Schema(schema).below(rest));
                match (self, below.0) {
                    (_, Presence::UNKNOWN) => Presence::UNKNOWN,
                    (_, Presence::ABSENT) => Presence::ABSENT,
                    (Self::Schema(_), Presence::THERE) if rest.is_empty() => Presence::THERE,
                    (Self::Schema(_), Presence::THERE) => inner,
                    _ if rest.is_empty() => Presence::EITHER,
                    _ => Presence { absent: true, ..inner },
                }
            }
            Self::Error => match (*first, rest) {
                ("tool" | "node" | "kind" | "message", []) => Presence::THERE,
                ("code" | "data", []) => Presence::EITHER,
                ("data", _) => Presence { absent: true, present: false, unknown: true },
                _ => Presence::ABSENT,
            },
            Self::Shape(_) | Self::Unknown => Presence::UNKNOWN,
        }
    }
}

/// What an object's schema says of one of its properties.
fn schema_below<'p>(schema: &'p Value, name: &str) -> (Presence, Option<&'p Value>) {
    let Some(schema) = schema.as_map() else { return (Presence::UNKNOWN, None) };
    // What these say goes beyond a property's own schema.
    if ["$ref", "allOf", "anyOf", "oneOf", "if", "not", "patternProperties", "$dynamicRef"].iter().any(|key| schema.contains(key)) {
        return (Presence::UNKNOWN, None);
    }
    let is_object = schema.get("type").and_then(Value::as_str).is_some_and(|kind| kind == "object");
    let scalar = schema.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "object");
    if scalar {
        return (Presence::ABSENT, None);
    }
    let required = schema
        .get("required")
        .is_some_and(|list| matches!(list, Value::List(names) if names.iter().any(|known| known.as_str() == Some(name))));
    let property = schema.get("properties").and_then(Value::as_map).and_then(|properties| properties.get(name));
    let closed = schema.get("additionalProperties").is_some_and(|more| more.as_bool() == Some(false));
    match (property, required && is_object) {
        (property, true) => (Presence::THERE, property),
        (Some(property), false) if is_object => (Presence::EITHER, Some(property)),
        (None, false) if closed && is_object => (Presence::ABSENT, None),
        _ => (Presence::UNKNOWN, None),
    }
}

/// The properties that an object's schema names.
pub(super) fn properties(schema: &Value) -> Vec<(&str, Part<'_>)> {
    let Some(map) = schema.as_map() else { return Vec::new() };
    let required = |name: &str| match map.get("required") {
        Some(Value::List(names)) => names.iter().any(|known| known.as_str() == Some(name)),
        _ => false,
    };
    let mut found: Vec<(&str, Part<'_>)> = Vec::new();
    if let Some(properties) = map.get("properties").and_then(Value::as_map) {
        for (key, schema) in properties.iter() {
            found.push((key, if required(key) { Part::Schema(schema) } else { Part::Optional(schema) }));
        }
    }
    if let Some(Value::List(names)) = map.get("required") {
        let named: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        let others: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| !named.contains(name)).collect();
        found.extend(others.into_iter().map(|name| (name, Part::Unknown)));
    }
    found
}

/// An accepted input.
pub(super) fn input(listen: &Listen) -> Part<'_> {
    match (listen.kind, &listen.schema) {
        (Some(InputType::Json) | None, Some(schema)) => Part::Schema(schema.source()),
        (Some(InputType::Json) | None, None) if listen.options.is_empty() => Part::Unknown,
        (Some(InputType::Choice) | None, _) => Part::Unknown,
        _ => Part::Scalar,
    }
}

/// The call whose result is taken at a point.
pub(super) fn call_at(program: &Program, point: PointIndex) -> Option<&Call> {
    let node = program.node(program.point(point).node);
    match &node.role {
        _ if node.gate == Some(point) => program.graph_of(node).before_each.as_deref(),
        Role::Act(call) => Some(call),
        Role::Pass | Role::Listen(_) => None,
    }
}

/// A successful result at a point.
pub(super) fn returned(program: &Program, point: PointIndex) -> Part<'_> {
    match call_at(program, point).map(|call| &*call.returns) {
        Some([.., schema]) => Part::Schema(schema.source()),
        _ => Part::Unknown,
    }
}

/// What a write puts at its place.
pub(super) fn source<'p>(program: &'p Program, point: PointIndex, write: &'p Write) -> Part<'p> {
    let node = program.node(program.point(point).node);
    match (&write.value, &node.role) {
        (From::Shape(shape), _) => Part::of_shape(shape),
        (From::Error, _) => Part::Error,
        (From::Input, Role::Listen(listen)) if node.gate != Some(point) => input(listen),
        (From::Input, _) => returned(program, point),
    }
}
