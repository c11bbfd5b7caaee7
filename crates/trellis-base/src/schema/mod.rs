//! JSON Schema behind one interface, 2020-12 or the draft that `$schema` names: the validator, and the types that it implies.
//!
//! A schema enters as a value; breaches leave sorted, in our words. A schema of the common plain form is built when it is first used.
//!
//! **Invariant:** no schema reaches outside itself: remote references are refused when it is made.

mod branches;
mod closed;
pub mod disjoint;
mod hole;
mod keywords;
mod part;
mod partial;
mod pattern;
mod plain;
mod references;
mod words;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

pub use closed::few_integers;
pub use hole::{Hole, below};
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
pub use keywords::{KEYWORDS, without_keywords};
pub use part::followed;
pub use partial::Flaw;
pub use references::DATA;
use serde_json::Value as Json;

use self::{
    pattern::{Exhausted, Pattern, count_steps, metered},
    references::{CountedReference, STEP},
};
use crate::{
    path::Segment,
    span::Spanned,
    value::{Mapping, Value},
};

/// A compiled schema. Cheap to clone.
///
/// ```
/// use trellis_base::{schema::Schema, value::Value};
/// let schema = Schema::new(&Value::from_json(r#"{"enum": ["S", "M"]}"#)?)?;
/// assert!(schema.fits(&Value::text("M")) && !schema.breaches(&Value::text("XL")).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    source: Value,
    validator: OnceLock<Option<BuiltSchema>>,
}

/// A built schema.
struct BuiltSchema {
    validator: Validator,
    /// The schema with its references counted, made once the breaches of a value are collected; `None` if it has none.
    counted: OnceLock<Option<Validator>>,
    /// Patterns for names of keys that may take long.
    names: Vec<Pattern>,
}

/// The reason why a value is no JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SchemaError {
    /// Path to the part that is wrong, as the places of a document have it: `properties.id.type`.
    pub path: String,
    /// One line.
    pub message: String,
}

/// One mismatch of a value and its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breach {
    /// JSON pointer into the value; empty for the value itself.
    pub pointer: String,
    /// One line, lower case, without a full stop.
    pub message: String,
}

impl Schema {
    /// Compiles a schema; remote references are refused.
    ///
    /// # Errors
    /// It is no valid schema.
    pub fn new(source: &Value) -> Result<Self, SchemaError> {
        let validator = OnceLock::new();
        if !is_plain(source, PLAIN_DEPTH) {
            let json = to_json(source);
            words::check(&json)?;
            branches::check(&json)?;
            let _ = validator.set(Some(build(&json).map_err(|error| words::unbuildable(&json, &error))?));
        }
        Ok(Self(Arc::new(Inner { source: source.clone(), validator })))
    }

    /// The schema as written.
    pub fn source(&self) -> &Value {
        &self.0.source
    }

    /// Returns whether a mapping that fits has only keys that the schema names.
    pub fn is_closed(&self) -> bool {
        let words = self.source().as_map();
        ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|word| words.is_some_and(|words| words.get(word).and_then(Value::as_bool) == Some(false)))
    }

    /// Returns every mismatch of `value`, sorted by pointer.
    pub fn breaches(&self, value: &Value) -> Vec<Breach> {
        let Some(built) = self.built() else { return Vec::new() };
        let json = to_json(value);
        let found = match built.within(value.size(), &json, |validator| validator.is_valid(&json)) {
            Ok(true) => return Vec::new(),
            Ok(false) => metered(value.size(), || {
                count_steps(value.size());
                let errors = built.counted(self.source()).iter_errors(&json);
                errors.flat_map(|error| words::breaches(&error)).collect()
            }),
            Err(exhausted) => Err(exhausted),
        };
        let whole = |exhausted: Exhausted| vec![Breach { pointer: String::new(), message: exhausted.to_string() }];
        let mut breaches: Vec<_> = found.unwrap_or_else(whole);
        breaches.sort_by(|a, b| (&a.pointer, &a.message).cmp(&(&b.pointer, &b.message)));
        breaches.dedup();
        breaches
    }

    /// Returns whether `value` fits.
    pub fn fits(&self, value: &Value) -> bool {
        self.built().is_none_or(|built| {
            let json = to_json(value);
            built.within(value.size(), &json, |validator| validator.is_valid(&json)).unwrap_or(false)
        })
    }

    /// Returns the possible values at `path` below a fitting value, where they are few and known (`enum`, `const`, booleans, null); `None` where they
    /// are open. The second part is true if that place may also be absent.
    pub fn closed(&self, path: &[Segment]) -> Option<(Vec<Value>, bool)> {
        closed::closed(&self.0.source, path)
    }

    /// The validator, built when it is first needed. A plain schema always builds.
    fn built(&self) -> Option<&BuiltSchema> {
        self.0.validator.get_or_init(|| build(&to_json(&self.0.source)).ok()).as_ref()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.0.source).finish()
    }
}

/// Returns the schemas of the first items of a list, each by its place, and that of the others. Before 2020-12 both had other names.
pub fn tuple(schema: &Mapping) -> (Vec<&Value>, Option<&Value>) {
    let items = schema.get("items");
    match items.and_then(Value::as_list) {
        Some(first) => (first.iter().collect(), schema.get("additionalItems")),
        None => (schema.get("prefixItems").and_then(Value::as_list).into_iter().flatten().collect(), items),
    }
}

/// Returns whether `type` of a schema names one of these kinds; `None` without `type`.
pub fn takes(words: &Mapping, kinds: &[&str]) -> Option<bool> {
    match words.get("type")? {
        Value::Text(kind) => Some(kinds.contains(&&**kind)),
        Value::List(named) => Some(named.iter().filter_map(Value::as_str).any(|kind| kinds.contains(&kind))),
        _ => None,
    }
}

/// A word of a predicate's schema about a value.
#[derive(Clone, Debug)]
pub struct SchemaWord {
    /// The steps from a key of the context to that value; an index stands for every item.
    pub at: Vec<Segment>,
    /// The word.
    pub word: Spanned<Arc<str>>,
}

impl BuiltSchema {
    /// Validates within one budget.
    fn within<T>(&self, bytes: u64, json: &Json, validate: impl FnOnce(&Validator) -> T) -> Result<T, Exhausted> {
        metered(bytes, || pattern::try_names(&self.names, json))?;
        metered(bytes, || validate(&self.validator))
    }

    /// The validator that collects the breaches of a value.
    fn counted(&self, source: &Value) -> &Validator {
        let counted = || Some(build(&references::counted(&to_json(source))?).ok()?.validator);
        self.counted.get_or_init(counted).as_ref().unwrap_or(&self.validator)
    }
}

/// Builds a schema. Patterns that look around or refer back need another engine than the others, and a budget.
fn build(schema: &Json) -> Result<BuiltSchema, ValidationError<'static>> {
    let draft = draft_of(schema);
    let options = || {
        jsonschema::options()
            .with_draft(draft)
            .offline()
            .should_validate_formats(true)
            .with_keyword(STEP, |_, _, _| Ok(Box::new(CountedReference) as _))
    };
    let counted = OnceLock::new();
    if let Ok(validator) = options().with_pattern_options(PatternOptions::regex()).build(schema) {
        return Ok(BuiltSchema { validator, counted, names: Vec::new() });
    }
    let metered = options().with_keyword("pattern", |_, source, path| {
        let pattern = source.as_str().and_then(Pattern::new);
        pattern.map(|pattern| Box::new(pattern) as _).ok_or_else(|| ValidationError::custom(path.to_string()))
    });
    // The validator's own engine finds the mistakes.
    options().build(schema)?;
    Ok(BuiltSchema { validator: metered.build(schema)?, counted, names: pattern::of_names(schema) })
}

/// The draft that a schema names by `$schema`; the newest one if it names none that is known.
fn draft_of(schema: &Json) -> Draft {
    match Draft::Draft202012.detect(schema) {
        known @ (Draft::Draft4 | Draft::Draft6 | Draft::Draft7 | Draft::Draft201909) => known,
        _ => Draft::Draft202012,
    }
}

/// Returns the value in the validator's own form.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(number) => Json::from(*number),
        Value::UInt(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Text(text) => Json::from(&**text),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| (key.to_string(), to_json(value))).collect(),
    }
}

/// Levels of a plain schema.
const PLAIN_DEPTH: usize = 32;

/// Returns whether a schema is of the most common form, and certainly valid: building the validator can wait until a value is to be checked.
fn is_plain(schema: &Value, depth: usize) -> bool {
    let types = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let is_type = |value: &Value| value.as_str().is_some_and(|name| types.contains(&name));
    let distinct_types = |value: &Value| {
        value.as_list().is_some_and(|list| {
            !list.is_empty() && list.iter().enumerate().all(|(at, item)| is_type(item) && !list.iter().take(at).any(|other| other == item))
        })
    };
    let Value::Map(entries) = schema else { return matches!(schema, Value::Bool(_)) };
    depth > 0
        && entries.iter().all(|(key, value)| match &**key {
            "type" => is_type(value) || distinct_types(value),
            "title" | "description" | "format" => value.as_str().is_some(),
            "const" | "default" => true,
            "enum" => value.as_list().is_some(),
            "examples" => value.as_list().is_some(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_))
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" => matches!(value, Value::Int(0..)),
            "uniqueItems" => value.as_bool().is_some(),
            "items" | "additionalProperties" => is_plain(value, depth - 1),
            "properties" => value.as_map().is_some_and(|entries| entries.iter().all(|(_, value)| is_plain(value, depth - 1))),
            "required" => value.as_list().is_some_and(|list| {
                list.iter().enumerate().all(|(at, item)| item.as_str().is_some() && !list.iter().take(at).any(|other| other == item))
            }),
            _ => key.starts_with("x-"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Schema {
        Schema::new(&Value::from_json(text).unwrap()).unwrap()
    }

    fn breaches(schema_text: &str, value: &str) -> Vec<String> {
        let breaches = schema(schema_text).breaches(&Value::from_json(value).unwrap());
        breaches.into_iter().map(|breach| format!("{}: {}", breach.pointer, breach.message)).collect()
    }

    #[test]
    fn serde_json_has_no_arbitrary_precision() {
        let number: Json = serde_json::from_str("18446744073709551616").unwrap();
        assert!(number.is_f64(), "a dependency switched on serde_json/arbitrary_precision, which changes what numbers are");
        assert_eq!(serde_json::to_value(serde_json::Number::from(1)).unwrap(), Json::from(1));
    }

    #[test]
    fn breaches_are_sorted_and_in_our_words() {
        let order = r#"{"type": "object", "required": ["id", "email"], "additionalProperties": false, "properties": {
            "id": {"type": "string"}, "email": {"pattern": "^.+@.+$"}, "count": {"minimum": 1, "type": "integer"},
            "size": {"enum": ["s", "m"]}, "tags": {"type": "array", "items": {"maxLength": 2}, "maxItems": 2}}}"#;
        assert_eq!(
            breaches(order, r#"{"count": 0, "email": "x", "size": "l", "tags": ["abc", "d", "e"], "other": 1}"#),
            [
                ": `id` is missing",
                ": `other` is not known here",
                "/count: must be at least 1, is 0",
                "/email: does not match `^.+@.+$`",
                "/size: must be one of `s`, `m`, is `l`",
                "/tags: must have at most 2 items, has 3",
                "/tags/0: must have at most 2 characters, has 3",
            ]
        );
        assert_eq!(
            breaches(order, r#"{"id": 1, "email": "a@b", "count": 1.5}"#),
            ["/count: must be an integer, is a decimal", "/id: must be a text, is an integer"]
        );
        assert_eq!(
            breaches(r#"{"properties": {"at": {"format": "date"}, "to": {"format": "email"}}}"#, r#"{"at": "2026-02-30", "to": "x@y.z"}"#),
            ["/at: is no `date`"]
        );
        assert_eq!(
            breaches(r#"{"anyOf": [{"type": "string"}, {"minimum": 3}]}"#, "1"),
            [": fits no alternative: must be a text, is an integer; must be at least 3, is 1"]
        );
        assert_eq!(breaches(order, "[]"), [": must be a mapping, is a list"]);
    }

    #[test]
    fn what_is_no_schema_says_where() {
        let error = |text: &str| Schema::new(&Value::from_json(text).unwrap()).unwrap_err();
        let cases = [
            (r#"{"properties": {"id": {"type": "strng"}}}"#, "properties.id.type", "`strng` is no type, did you mean `string`?"),
            (r#"{"type": "object", "required": "id"}"#, "required", "must be a list, is a text"),
            (r#"{"items": {"minimum": "1"}}"#, "items.minimum", "must be a number, is a text"),
            (
                r#"{"properties": {"a": {"$ref": "https://example.com/x"}}}"#,
                "properties.a.$ref",
                "`https://example.com/x` is outside of this schema: only references that begin with `#` are followed",
            ),
            (r##"{"$ref": "#/$defs/nothing"}"##, "$ref", "`#/$defs/nothing` is not in this schema"),
            (r#"{"pattern": "("}"#, "pattern", "`(` is no regular expression"),
            ("3", "", "a schema is a mapping, `true` or `false`, not an integer"),
        ];
        for (text, path, message) in cases {
            assert_eq!(error(text), SchemaError { path: path.into(), message: message.into() }, "{text}");
        }
    }

    #[test]
    fn a_schema_may_refer_to_itself() {
        let tree = schema(r##"{"type": "object", "properties": {"left": {"$ref": "#"}, "leaf": {"const": 1}}}"##);
        assert!(tree.fits(&Value::from_json(r#"{"left": {"left": {"leaf": 1}}}"#).unwrap()));
        assert!(!tree.fits(&Value::from_json(r#"{"left": {"left": {"leaf": 2}}}"#).unwrap()));
        let mut deep = Value::map([("leaf", Value::Int(1))]);
        for _ in 0..120 {
            deep = Value::map([("left", deep)]);
        }
        assert!(tree.fits(&deep));
        // Restricts no value, and must terminate.
        assert!(schema(r##"{"$ref": "#"}"##).fits(&Value::Null));
        assert_eq!(schema(r##"{"$ref": "#"}"##).closed(&[]), None);
    }

    #[test]
    fn circles_of_references_end() {
        let circles = [
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
            r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}"##,
            r##"{"allOf": [{"$ref": "#"}, {"$ref": "#"}], "type": "string"}"##,
            r##"{"oneOf": [{"$ref": "#"}, {"type": "null"}]}"##,
            r##"{"not": {"$ref": "#"}}"##,
            r##"{"if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": false}"##,
            r##"{"properties": {"a": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}, "items": {"$ref": "#"}, "minProperties": 1}"##,
        ];
        let mut deep = Value::from_json(r#"{"a": 1, "b": [[], {}]}"#).unwrap();
        for _ in 0..100 {
            deep = Value::list([Value::map([("a", deep)])]);
        }
        for text in circles {
            let schema = schema(text);
            for value in [Value::Null, Value::text("a"), Value::from_json(r#"{"a": {"b": {}}}"#).unwrap(), deep.clone()] {
                assert_eq!(schema.fits(&value), schema.breaches(&value).is_empty(), "{text} {value}");
            }
        }
    }

    #[test]
    fn a_validation_has_one_budget_and_names_the_pattern_that_spends_it() {
        let (pattern, text) = (r"^((a|aa)\\2?)+$", format!("{}b", "a".repeat(60)));
        let texts = Value::list((0..1_000).map(|_| Value::text(text.as_str())));
        let named = Value::map([(text.as_str(), Value::Null)]);
        let spent = ["takes too long to match `^((a|aa)\\2?)+$`"];
        for (words, value) in [
            (format!(r#"{{"items": {{"pattern": "{pattern}"}}}}"#), &texts),
            (format!(r#"{{"items": {{"not": {{"pattern": "{pattern}"}}}}}}"#), &texts),
            (format!(r#"{{"anyOf": [{{"items": {{"pattern": "{pattern}"}}}}, true]}}"#), &texts),
            (format!(r#"{{"patternProperties": {{"{pattern}": false}}}}"#), &named),
        ] {
            let schema = schema(&words);
            assert!(!schema.fits(value), "{words}");
            let said: Vec<_> = schema.breaches(value).into_iter().map(|breach| breach.message).collect();
            assert_eq!(said, spent, "{words}");
            assert!(schema.flaws(value, &[]).is_empty(), "{words}");
        }
        let quick = schema(r#"{"items": {"pattern": "^(?=.*[0-9])(?!x).{4,}$"}, "patternProperties": {"^(?!x)": {"type": "integer"}}}"#);
        assert!(quick.fits(&Value::list((0..20_000).map(|at| Value::from(format!("text {at}"))))));
        assert_eq!(quick.breaches(&Value::list(["text".into()]))[0].message, "does not match `^(?=.*[0-9])(?!x).{4,}$`");
        assert!(quick.fits(&Value::map([("x", "text")])) && !quick.fits(&Value::map([("y", "text")])));
    }

    #[test]
    fn numbers_are_compared_exactly() {
        assert!(schema(r#"{"const": 9007199254740993}"#).fits(&Value::Int(9_007_199_254_740_993)));
        assert!(!schema(r#"{"const": 9007199254740993}"#).fits(&Value::Int(9_007_199_254_740_992)));
        assert!(schema(r#"{"type": "integer"}"#).fits(&Value::Float(1.0)));
    }

    #[test]
    fn plain_schemas_build_and_others_are_built_at_once() {
        let plain = Value::from_json(r#"{"type": ["string", "null"], "enum": [], "items": {"minLength": 0}, "x-note": {}}"#).unwrap();
        assert!(is_plain(&plain, PLAIN_DEPTH) && build(&to_json(&plain)).is_ok());
        for text in [
            r#"{"type": ["string", "string"]}"#,
            r#"{"minLength": -1}"#,
            r#"{"required": ["a", "a"]}"#,
            r#"{"anyOf": []}"#,
            r#"{"type": []}"#,
        ] {
            let value = Value::from_json(text).unwrap();
            assert!(!is_plain(&value, PLAIN_DEPTH), "{text}");
            assert!(Schema::new(&value).is_err(), "{text}");
        }
    }
}
