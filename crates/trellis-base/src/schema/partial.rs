//! The certain mismatches of a value with unknown parts, such as arguments with templates in them.
//!
//! In: a value with a placeholder for each unknown part, and the places of those parts. Out: the mismatches that remain for all their values.
//!
//! **Invariant:** no flaw can be repaired by some filling of the holes.

use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value as Json;

use super::{
    Breach, BuiltSchema, Schema,
    hole::{Hole, below},
    plain, to_json, words,
};
use crate::value::Value;

/// A mismatch of a value, for every filling of its holes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// The mapping at the pointer lacks this key.
    Missing(String, String),
    /// The value at the pointer may be left out, but is required.
    MayBeMissing(String),
    /// The mapping at the pointer has this key, which is not known there.
    Unknown(String, String),
    /// The value at the pointer does not fit: one line, as [`Breach::message`] is, without the value as its subject.
    Unfit(String, String),
}

impl Schema {
    /// Returns every mismatch of `value` for every filling of its holes; sorted. A text is the placeholder of a hole that will be one, any value that
    /// of the others.
    pub fn flaws(&self, value: &Value, holes: &[Hole]) -> Vec<Flaw> {
        if plain::fits(self.source(), value, holes) { Vec::new() } else { self.every_flaw(value, holes) }
    }

    /// Returns every mismatch of `value`, as the validator finds it.
    pub(super) fn every_flaw(&self, value: &Value, holes: &[Hole]) -> Vec<Flaw> {
        let Some(built) = self.built() else { return Vec::new() };
        let mut json = to_json(value);
        let mut flaws = found(built, &json, holes);
        if holes.iter().any(|hole| hole.optional) {
            let lacking = |flaw: &Flaw| if let Flaw::Missing(at, key) = flaw { Some(below(at, key)) } else { None };
            holes.iter().filter(|hole| hole.optional).for_each(|hole| leave_out(&mut json, &hole.pointer));
            let left: Vec<Hole> = holes.iter().filter(|hole| !hole.optional).cloned().collect();
            let missing: Vec<_> = found(built, &json, &left).iter().filter_map(lacking).collect();
            let optional = holes.iter().filter(|hole| hole.optional && missing.contains(&hole.pointer));
            flaws.extend(optional.map(|hole| Flaw::MayBeMissing(hole.pointer.clone())));
        }
        flaws.sort();
        flaws.dedup();
        flaws
    }
}

fn leave_out(json: &mut Json, pointer: &str) {
    let Some((around, key)) = pointer.rsplit_once('/') else { return };
    if let Some(Json::Object(entries)) = json.pointer_mut(around) {
        entries.remove(&key.replace("~1", "/").replace("~0", "~"));
    }
}

/// Returns the certain mismatches; none where the check takes too long.
fn found(built: &BuiltSchema, json: &Json, holes: &[Hole]) -> Vec<Flaw> {
    let flaws = built.within(0, json, |validator| {
        let errors = validator.iter_errors(json).filter(|error| is_certain(error, holes));
        errors.flat_map(|error| flaws(&error, holes)).collect()
    });
    flaws.unwrap_or_default()
}

fn flaws(error: &ValidationError<'_>, holes: &[Hole]) -> Vec<Flaw> {
    let at = error.instance_path().as_str();
    match error.kind() {
        Kind::Required { property } => vec![Flaw::Missing(at.to_owned(), property.as_str().unwrap_or_default().to_owned())],
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|key| Flaw::Unknown(at.to_owned(), key.clone())).collect()
        }
        _ => {
            let stands_in = holes.iter().any(|hole| hole.pointer == at);
            let unfit = |Breach { pointer, message }| match message.rsplit_once(", is ") {
                // The placeholder of the text is not the author's.
                Some((wanted, _)) if stands_in && matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. }) => {
                    Flaw::Unfit(pointer, format!("{wanted}, is a text"))
                }
                // Whoever reports a flaw names the value.
                _ => Flaw::Unfit(pointer, message.strip_prefix(words::THE_VALUE).unwrap_or(&message).to_owned()),
            };
            words::breaches(error).into_iter().map(unfit).collect()
        }
    }
}

/// Returns whether an error remains for every filling of the holes.
fn is_certain(error: &ValidationError<'_>, holes: &[Hole]) -> bool {
    if holes.is_empty() {
        return true;
    }
    // A mismatch below a condition counts only if that holds, which a hole may decide.
    if error.evaluation_path().as_str().split('/').any(|step| matches!(step, "then" | "else" | "dependentSchemas" | "dependentRequired")) {
        return false;
    }
    let at = error.instance_path().as_str();
    if let Some(hole) = holes.iter().find(|hole| hole.pointer == at) {
        let forbidden = matches!(error.kind(), Kind::FalseSchema) && !hole.optional;
        return forbidden || (hole.text && excludes_text(error));
    }
    let mut below = holes.iter().filter(|hole| hole.pointer.strip_prefix(at).is_some_and(|rest| rest.starts_with('/'))).peekable();
    if below.peek().is_none() {
        return true;
    }
    match error.kind() {
        Kind::Type { .. } | Kind::Required { .. } | Kind::AdditionalProperties { .. } | Kind::PropertyNames { .. } | Kind::FalseSchema => {
            true
        }
        Kind::MinItems { .. } | Kind::MaxItems { .. } | Kind::AdditionalItems { .. } | Kind::MinProperties { .. } => {
            below.all(|hole| !hole.optional)
        }
        Kind::MaxProperties { .. } => below.all(|hole| !hole.optional),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => in_each(context, &|error| is_certain(error, holes)),
        _ => false,
    }
}

/// Returns whether no text at all fits there: the error occurred with some text.
fn excludes_text(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Kind::Type { .. } => true,
        Kind::Constant { expected_value } => !expected_value.is_string(),
        Kind::Enum { options } => !options.as_array().is_some_and(|options| options.iter().any(Json::is_string)),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => in_each(context, &excludes_text),
        _ => false,
    }
}

fn in_each(context: &[Vec<ValidationError<'static>>], holds: &dyn Fn(&ValidationError<'_>) -> bool) -> bool {
    context.iter().all(|errors| errors.iter().any(holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaws(schema: &str, value: &str, holes: &[(&str, &str)]) -> Vec<String> {
        let schema = Schema::new(&Value::from_json(schema).unwrap()).unwrap();
        let hole = |(pointer, kind): &(&str, &str)| Hole {
            pointer: (*pointer).to_owned(),
            text: kind.contains("text"),
            optional: kind.contains("optional"),
        };
        let holes: Vec<_> = holes.iter().map(hole).collect();
        schema.flaws(&Value::from_json(value).unwrap(), &holes).iter().map(|flaw| format!("{flaw:?}")).collect()
    }

    const ORDER: &str = r#"{"type": "object", "required": ["id", "count"], "additionalProperties": false, "properties": {
        "id": {"type": "string"}, "count": {"type": "integer"}, "size": {"enum": ["s", "m"]}, "level": {"enum": [1, 2]},
        "to": {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["street"]}]}}}"#;

    #[test]
    fn what_is_written_is_held_to_the_schema() {
        assert_eq!(
            flaws(ORDER, r#"{"id": 7, "size": "l", "other": 1}"#, &[]),
            [
                r#"Missing("", "count")"#,
                r#"Unknown("", "other")"#,
                r#"Unfit("/id", "must be a text, is an integer")"#,
                r#"Unfit("/size", "must be one of `s`, `m`, is `l`")"#,
            ]
        );
    }

    #[test]
    fn a_hole_may_be_anything_and_a_text_only_a_text() {
        let holes = [("/id", ""), ("/count", ""), ("/size", ""), ("/to", "")];
        assert!(flaws(ORDER, r#"{"id": null, "count": null, "size": null, "to": null}"#, &holes).is_empty());
        assert_eq!(
            flaws(
                ORDER,
                r#"{"id": "", "count": "", "size": "", "level": "", "to": ""}"#,
                &[("/id", "text"), ("/count", "text"), ("/size", "text"), ("/level", "text"), ("/to", "text")]
            ),
            [
                r#"Unfit("/count", "must be an integer, is a text")"#,
                r#"Unfit("/level", "must be one of `1`, `2`, is a text")"#,
                r#"Unfit("/to", "fits no alternative: must be an integer, is a text; must be a mapping, is a text")"#,
            ]
        );
    }

    #[test]
    fn holes_below_leave_open_what_they_decide() {
        let nested = |to: &str, holes: &[(&str, &str)]| flaws(ORDER, &format!(r#"{{"id": "a", "count": 1, "to": {to}}}"#), holes);
        assert_eq!(nested(r#"{"stret": null}"#, &[("/to/stret", "")]).len(), 1);
        assert!(nested(r#"{"street": null}"#, &[("/to/street", "")]).is_empty());
        let conditional = r#"{"if": {"properties": {"kind": {"const": "card"}}}, "then": {"required": ["number"]}}"#;
        assert!(flaws(conditional, r#"{"kind": null}"#, &[("/kind", "")]).is_empty());
        assert_eq!(flaws(conditional, r#"{"kind": "card"}"#, &[]), [r#"Missing("", "number")"#]);
        assert!(flaws(r#"{"uniqueItems": true}"#, "[null, null]", &[("/0", ""), ("/1", "")]).is_empty());
    }

    #[test]
    fn what_may_be_left_out_and_must_be_there() {
        let holes = [("/id", "optional"), ("/size", "optional")];
        assert_eq!(flaws(ORDER, r#"{"id": null, "count": 1, "size": null}"#, &holes), [r#"MayBeMissing("/id")"#]);
        assert!(flaws(r#"{"minProperties": 2, "maxProperties": 1}"#, r#"{"a": null}"#, &[("/a", "optional")]).is_empty());
    }
}
