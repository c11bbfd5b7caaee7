//! Types in words, and as lists of values.

use super::*;

impl TypeTable {
    /// Returns all values of a type, and whether it may be absent. `None` if its values cannot be listed.
    pub(crate) fn closed(&self, id: TypeId) -> Option<(Vec<Value>, bool)> {
        let of = self.get(id);
        let is_closed = !of.unknown && !of.dynamic && of.kinds == Kinds::default() && of.fields.is_none() && of.items.is_none();
        is_closed.then(|| (of.values.clone(), of.absent))
    }

    /// Describes a type in words: "a text or an integer", "one of `a`, `b`".
    pub(crate) fn described(&self, id: TypeId) -> String {
        self.get(id).described()
    }
}

impl Type {
    /// Describes a type in words; see [`TypeTable::described`].
    pub(crate) fn described(&self) -> String {
        let of = self;
        let mut words: Vec<String> = Vec::new();
        let booleans = of.values.iter().filter(|value| value.as_bool().is_some()).count();
        let hides = |value: &&Value| match value {
            Value::Bool(_) => booleans == 2,
            Value::Text(text) => text.is_empty() && of.kinds.has(Kinds::TEXT),
            Value::List(_) => of.items.is_some(),
            _ => false,
        };
        let values: Vec<String> =
            of.values.iter().filter(|value| !hides(value)).take(8).map(|value| format!("`{}`", value.to_json())).collect();
        match values.as_slice() {
            [] => {}
            [value] => words.push(value.clone()),
            values => words.push(format!("one of {}", values.join(", "))),
        }
        words.extend((booleans == 2).then(|| "a boolean".to_owned()));
        let kinds = [(Kinds::TEXT, "a text"), (Kinds::INT, "an integer"), (Kinds::FLOAT, "a decimal")];
        words.extend(kinds.into_iter().filter(|(kind, _)| of.kinds.has(*kind)).map(|(_, name)| name.to_owned()));
        words.extend(of.fields.iter().map(|_| "a mapping".to_owned()));
        words.extend(of.items.iter().map(|_| "a list".to_owned()));
        if words.is_empty() { "something unknown".to_owned() } else { words.join(" or ") }
    }
}
