//! The demands of a schema on one place below a value.
//!
//! **Invariant:** every possible value at that place in a fitting value fits the part; where that is uncertain there is no part.

use super::{Schema, tuple};
use crate::{
    path::Segment,
    value::{Key, Mapping, Value},
};

/// The number of references that are followed on the path to one place: a schema may refer to itself.
const FOLLOWED: usize = 32;

impl Schema {
    /// Returns the schema of the value at `path` below a fitting value; `None` if there is no demand, or it cannot be cut out.
    pub fn part(&self, path: &[Segment]) -> Option<Self> {
        let root = self.source();
        let mut here = root;
        for step in path {
            here = step_into(root, here, step, FOLLOWED)?;
        }
        let mut part = here.clone();
        if let Value::Map(entries) = &mut part
            && !std::ptr::eq(here, root)
        {
            let definitions: &[&str] = if refers(here)? { &["$defs", "definitions"] } else { &[] };
            for key in definitions.iter().chain(&["$schema"]) {
                if let Some(said) = root.as_map().and_then(|root| root.get(key)) {
                    entries.insert((*key).into(), said.clone());
                }
            }
        }
        Self::new(&part).ok()
    }

    /// Returns the schema of an item that is added to the list at `path`: the one at its number, if that is known; else, in a tuple, any of its items.
    pub fn added_item(&self, path: &[Segment], at: Option<usize>) -> Option<Self> {
        let list = if path.is_empty() { Some(self.clone()) } else { self.part(path) };
        let words = list.as_ref().and_then(|list| list.source().as_map());
        let Some((words, (first, rest))) =
            words.map(|words| (words, tuple(words))).filter(|(_, (first, _))| at.is_none() && !first.is_empty())
        else {
            return self.part(&[path, &[Segment::Index(at.unwrap_or_default())]].concat());
        };
        let rest = rest.filter(|rest| rest.as_bool() != Some(true))?;
        let items = first.into_iter().chain(Some(rest).filter(|rest| rest.as_bool().is_none())).cloned();
        let definitions = ["$defs", "definitions", "$schema"].into_iter();
        let mut either: Mapping = definitions.filter_map(|key| Some((Key::from(key), words.get(key)?.clone()))).collect();
        either.insert("anyOf".into(), Value::list(items));
        Self::new(&Value::Map(either)).ok()
    }
}

/// The schema that holds one step below `schema`.
fn step_into<'s>(root: &'s Value, schema: &'s Value, step: &Segment, left: usize) -> Option<&'s Value> {
    let left = left.checked_sub(1)?;
    let entries = schema.as_map()?;
    let own = match step {
        Segment::Key(key) => entries.get("properties").and_then(Value::as_map).and_then(|properties| properties.get(key)),
        Segment::Index(index) => {
            let (first, others) = tuple(entries);
            first.get(*index).copied().or(others)
        }
    };
    let referred = || step_into(root, followed(root, entries.get("$ref")?.as_str()?)?, step, left);
    let demanded = || entries.get("allOf")?.as_list()?.iter().find_map(|demand| step_into(root, demand, step, left));
    let others = || {
        let open = matches!(step, Segment::Key(_)) && !entries.contains("patternProperties");
        entries.get("additionalProperties").filter(|_| open)
    };
    own.or_else(referred).or_else(demanded).or_else(others)
}

/// Returns the target of a reference into the same schema.
pub fn followed<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let mut target = root;
    for step in reference.strip_prefix('#')?.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        target = match target {
            Value::Map(entries) => entries.get(&step)?,
            Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(target)
}

/// Returns whether a schema refers to definitions; `None` if it refers to a place that would not come with it.
fn refers(schema: &Value) -> Option<bool> {
    match schema {
        Value::Map(entries) => {
            let mut any = false;
            for (key, value) in entries.iter() {
                any |= match (&**key, value) {
                    ("$ref", Value::Text(reference)) => {
                        let comes_along = ["#/$defs/", "#/definitions/"].iter().any(|start| reference.starts_with(start));
                        comes_along.then_some(true)?
                    }
                    ("$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor", _) => return None,
                    ("const" | "enum" | "default" | "examples", _) => false,
                    _ => refers(value)?,
                };
            }
            Some(any)
        }
        Value::List(items) => items.iter().try_fold(false, |any, item| Some(refers(item)? | any)),
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::KeyPath;

    fn part(schema: &str, path: &str) -> Option<String> {
        let schema = Schema::new(&Value::from_json(schema).unwrap()).unwrap();
        schema.part(KeyPath::parse(path).unwrap().segments()).map(|part| part.source().to_json())
    }

    #[test]
    fn a_part_is_cut_out_with_its_definitions() {
        let order = r##"{"$defs": {"size": {"enum": ["s", "m"]}}, "properties": {
            "size": {"$ref": "#/$defs/size"}, "list": {"prefixItems": [{"type": "null"}], "items": {"type": "integer"}},
            "again": {"$ref": "#"}}, "additionalProperties": {"type": "boolean"}}"##;
        assert_eq!(part(order, "size"), Some(r##"{"$defs":{"size":{"enum":["s","m"]}},"$ref":"#/$defs/size"}"##.into()));
        assert_eq!(part(order, "list.0"), Some(r#"{"type":"null"}"#.into()));
        assert_eq!(part(order, "list.4"), Some(r#"{"type":"integer"}"#.into()));
        assert_eq!(part(order, "again.again.list.1"), Some(r#"{"type":"integer"}"#.into()));
        assert_eq!(part(order, "other"), Some(r#"{"type":"boolean"}"#.into()));
        assert_eq!(part(order, "again"), None);
        assert_eq!(part(order, "size.x"), None);
    }

    #[test]
    fn an_item_that_is_added_to_a_tuple_may_be_any_of_its_items() {
        let item = |schema: &str, at| {
            let schema = Schema::new(&Value::from_json(schema).unwrap()).unwrap();
            schema.added_item(&[], at).map(|item| item.source().to_json())
        };
        let closed = r#"{"prefixItems": [{"type": "string"}, {"type": "null"}], "items": false}"#;
        assert_eq!(item(closed, None), Some(r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#.into()));
        assert_eq!(item(closed, Some(1)), Some(r#"{"type":"null"}"#.into()));
        assert_eq!(item(closed, Some(2)), Some("false".into()));
        assert_eq!(item(r#"{"prefixItems": [{"type": "string"}]}"#, None), None);
        assert_eq!(item(r#"{"items": {"type": "string"}}"#, None), Some(r#"{"type":"string"}"#.into()));
    }

    #[test]
    fn a_circle_has_no_parts() {
        assert_eq!(part(r##"{"$ref": "#"}"##, "a"), None);
        assert_eq!(part(r##"{"allOf": [{"$ref": "#"}]}"##, "a"), None);
    }
}
