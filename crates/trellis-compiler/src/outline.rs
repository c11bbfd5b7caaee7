//! The outline of a value as it is written: its known parts, and the holes that expressions fill.

use trellis_base::{
    schema::{Hole, below},
    template::Shape,
    value::Value,
};

/// Returns the known parts of a value: each hole has a placeholder.
pub(crate) fn outline(shape: &Shape, pointer: &mut String, holes: &mut Vec<Hole>) -> Value {
    let mut hole = |text: bool, optional| holes.push(Hole { pointer: pointer.clone(), text, optional });
    match shape {
        Shape::Literal(value) => value.clone(),
        Shape::Text(template) => {
            hole(!template.is_broken(), false);
            Value::text("")
        }
        Shape::Expression(expression) => {
            hole(false, expression.is_optional());
            Value::Null
        }
        Shape::List(items) => {
            let items = items.iter().enumerate().map(|(index, item)| outline_below(&index.to_string(), &item.value, pointer, holes));
            items.collect::<Vec<_>>().into()
        }
        Shape::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.value.clone(), outline_below(&key.value, &value.value, pointer, holes)));
            Value::Map(entries.collect())
        }
    }
}

fn outline_below(step: &str, shape: &Shape, pointer: &mut String, holes: &mut Vec<Hole>) -> Value {
    let length = pointer.len();
    *pointer = below(pointer, step);
    let value = outline(shape, pointer, holes);
    pointer.truncate(length);
    value
}

/// Returns whether there is a mapping or a list at a pointer: what it lacks, another write may add.
pub(crate) fn is_container(value: &Value, pointer: &str) -> bool {
    let part = pointer.split('/').skip(1).try_fold(value, |part, step| match part {
        Value::List(items) => items.get(step.parse().ok()?),
        entries => entries.as_map()?.get(&step.replace("~1", "/").replace("~0", "~")),
    });
    matches!(part, Some(Value::List(_) | Value::Map(_)))
}
