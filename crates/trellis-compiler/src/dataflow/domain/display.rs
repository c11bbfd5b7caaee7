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

/// The innermost part at which a value does not fit what is wanted.
pub(crate) struct Misfit {
    /// The part in words, "an item of `words`"; the name of the whole value, if it does not fit as a whole.
    pub(crate) subject: String,
    /// Its type, in words.
    pub(crate) is: String,
    /// The wanted type, in words.
    pub(crate) wanted: String,
    /// True if the part is inside of the value.
    pub(crate) is_inside: bool,
    /// True if the part may be absent, and must not be.
    pub(crate) lacks: bool,
}

impl TypeTable {
    /// Returns the innermost part of `of`, which `subject` names, at which it does not fit `wanted`; `breaks` compares the types of a part.
    pub(crate) fn misfit(
        &mut self,
        subject: &str,
        mut of: TypeId,
        mut wanted: TypeId,
        breaks: impl Fn(&mut Self, TypeId, TypeId) -> bool,
    ) -> Misfit {
        let mut subject = subject.to_owned();
        let mut is_inside = false;
        loop {
            let (is, takes) = (self.get(of).clone(), self.get(wanted).clone());
            let fields = is.fields.iter().zip(&takes.fields);
            let mut fields = fields.flat_map(|(is, takes)| takes.named.iter().map(|(key, wanted)| (key, is.get(key), *wanted)));
            let items = is.items.zip(takes.items);
            if let Some((key, part, part_wanted)) = fields.find(|(_, part, part_wanted)| breaks(self, *part, *part_wanted)) {
                subject = key_of(&subject, key);
                (of, wanted) = (part, part_wanted);
            } else if let Some((part, part_wanted)) = items.filter(|(part, part_wanted)| breaks(self, *part, *part_wanted)) {
                subject = item_of(&subject);
                (of, wanted) = (part, part_wanted);
            } else {
                let lacks = is.absent && !takes.absent;
                return Misfit { subject, is: is.described(), wanted: takes.described(), is_inside, lacks };
            }
            is_inside = true;
        }
    }

    /// Returns whether the claimed part of a type has a value that another type lacks.
    pub(crate) fn exceeds(&mut self, of: TypeId, wanted: TypeId) -> bool {
        let wanted_type = self.get(wanted);
        if wanted_type.unknown || wanted_type.dynamic {
            return self.get(of).absent && !wanted_type.absent;
        }
        let claimed = self.without_unknown(of);
        self.join(claimed, wanted) != wanted
    }
}

/// Returns the name of a key of a value that `subject` names: `a.b` for a path, else "`b` of …".
pub(crate) fn key_of(subject: &str, key: &str) -> String {
    match subject.strip_suffix('`').filter(|path| path.starts_with('`') && !path[1..].contains('`')) {
        Some(path) => format!("{path}.{key}`"),
        None if subject.is_empty() => format!("`{key}`"),
        None => format!("`{key}` of {subject}"),
    }
}

/// Returns the name of an item of a list that `subject` names.
pub(crate) fn item_of(subject: &str) -> String {
    if subject.is_empty() { "an item".to_owned() } else { format!("an item of {subject}") }
}
