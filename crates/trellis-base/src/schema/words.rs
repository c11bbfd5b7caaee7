//! Errors of the validator, in our words.

use std::fmt;

use jsonschema::{
    Draft, ValidationError, draft4, draft6, draft7, draft201909, draft202012,
    error::{TypeKind, ValidationErrorKind as Kind},
    types::JsonType,
};
use serde_json::Value as Json;

use super::{Breach, SchemaError};
use crate::{diagnostic::did_you_mean, path::is_name};

/// The mistake of a key that a schema does not name.
const UNKNOWN: &str = "is not known here";

/// The subject of a message about a value that has no name.
pub(super) const THE_VALUE: &str = "the value ";

impl Breach {
    /// The key that the value itself has although the schema does not name it.
    pub fn unknown_key(&self) -> Option<&str> {
        let (key, message) = self.about_key()?;
        (self.pointer.is_empty() && message == UNKNOWN).then_some(key)
    }

    fn about_key(&self) -> Option<(&str, &str)> {
        self.message.strip_prefix('`')?.split_once("` ")
    }

    /// The breach as a sentence about a value called `name`: `order.total` is missing. A value without a name has none in front of its parts.
    pub fn about(&self, name: &str) -> String {
        let (key, message) = match self.about_key() {
            Some((key, message @ ("is missing" | UNKNOWN))) if is_step(key) => (key, message),
            _ => ("", self.message.as_str()),
        };
        let steps: Vec<_> = self.pointer.split('/').skip(1).map(unescape).collect();
        if !steps.iter().all(|step| is_step(step)) {
            let name = if name.is_empty() { String::new() } else { format!("`{name}` at ") };
            return format!("{name}`{}` {}", self.pointer, self.message);
        }
        let steps = [name].into_iter().chain(steps.iter().map(String::as_str)).chain([key]).filter(|step| !step.is_empty());
        let path = steps.collect::<Vec<_>>().join(".");
        match path.as_str() {
            "" => message.to_owned(),
            path if path.starts_with(|first: char| first.is_ascii_digit()) => format!("the item `{path}` {message}"),
            path => format!("`{path}` {message}"),
        }
    }
}

impl fmt::Display for Breach {
    /// The sentence about the value itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.about(""))
    }
}

/// Returns whether a step of a pointer can be one of a dotted path.
fn is_step(step: &str) -> bool {
    is_name(step) || (!step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Checks that a value is a schema.
///
/// # Errors
/// The first part that is not, in the order of the text.
pub(super) fn check(schema: &Json) -> Result<(), SchemaError> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err(SchemaError {
            path: String::new(),
            message: format!("a schema is a mapping, `true` or `false`, not {}", kind(schema)),
        });
    }
    if let Some((path, reference)) = outside(schema, &mut Vec::new()) {
        let message = format!("`{reference}` is outside of this schema: only references that begin with `#` are followed");
        return Err(SchemaError { path, message });
    }
    let errors = match super::draft_of(schema) {
        Draft::Draft4 => draft4::meta::validator(),
        Draft::Draft6 => draft6::meta::validator(),
        Draft::Draft7 => draft7::meta::validator(),
        Draft::Draft201909 => draft201909::meta::validator(),
        _ => draft202012::meta::validator(),
    };
    let first = errors.iter_errors(schema).min_by(|a, b| a.instance_path().as_str().cmp(b.instance_path().as_str()));
    first.map_or(Ok(()), |error| Err(no_schema(&error)))
}

fn no_schema(error: &ValidationError<'_>) -> SchemaError {
    let path = dotted(error.instance_path().as_str());
    let met = error.instance();
    if (path == "type" || path.ends_with(".type"))
        && let Some(name) = met.as_str()
    {
        let types = ["string", "integer", "number", "boolean", "null", "array", "object"];
        let help = did_you_mean(name, types).map(|help| format!(", {help}")).unwrap_or_default();
        return SchemaError { path, message: format!("`{name}` is no type{help}") };
    }
    let message = message(error).unwrap_or_else(|| "this is no valid schema".into());
    SchemaError { path, message }
}

/// Returns the reason why a schema of plausible form cannot be built.
pub(super) fn unbuildable(schema: &Json, error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        Kind::Referencing(_) => {
            let path = missing(schema, schema, &mut Vec::new());
            match path {
                Some((path, reference)) => SchemaError { path, message: format!("`{reference}` is not in this schema") },
                None => SchemaError { path: String::new(), message: format!("a reference cannot be followed: {error}") },
            }
        }
        Kind::Format { format } if format == "regex" => {
            let path = dotted(error.instance_path().as_str());
            SchemaError {
                path: if path.is_empty() { dotted(error.schema_path().as_str()) } else { path },
                message: format!("{} is no regular expression", shown(error.instance())),
            }
        }
        _ => no_schema(error),
    }
}

/// The first reference that leaves the schema, with its path.
fn outside(schema: &Json, at: &mut Vec<String>) -> Option<(String, String)> {
    find_reference(schema, at, &|reference| !reference.starts_with('#'))
}

/// The first reference by pointer that leads nowhere.
fn missing(root: &Json, schema: &Json, at: &mut Vec<String>) -> Option<(String, String)> {
    find_reference(schema, at, &|reference| reference.strip_prefix('#').is_some_and(|pointer| root.pointer(pointer).is_none()))
}

fn find_reference(schema: &Json, at: &mut Vec<String>, wrong: &dyn Fn(&str) -> bool) -> Option<(String, String)> {
    let mut step = |name: String, below: &Json| {
        at.push(name);
        let found = find_reference(below, at, wrong);
        at.pop();
        found
    };
    match schema {
        Json::Object(entries) => {
            if let Some(Json::String(reference)) = entries.get("$ref").or_else(|| entries.get("$dynamicRef"))
                && wrong(reference)
            {
                let key = if entries.contains_key("$ref") { "$ref" } else { "$dynamicRef" };
                at.push(key.to_owned());
                let path = at.join(".");
                at.pop();
                return Some((path, reference.clone()));
            }
            // Values that are data, not schemas.
            let schemas = entries.iter().filter(|(key, _)| !matches!(key.as_str(), "const" | "enum" | "default" | "examples"));
            schemas.into_iter().find_map(|(key, below)| step(key.clone(), below))
        }
        Json::Array(items) => items.iter().enumerate().find_map(|(index, below)| step(index.to_string(), below)),
        _ => None,
    }
}

/// The breaches behind one error: several for keys that are not known.
pub(super) fn breaches(error: &ValidationError<'_>) -> Vec<Breach> {
    let pointer = error.instance_path().as_str();
    let breach = |message: String| Breach { pointer: pointer.to_owned(), message };
    match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|key| breach(format!("`{key}` {UNKNOWN}"))).collect()
        }
        Kind::PropertyNames { error } => {
            vec![breach(format!("the key {} does not fit: {}", shown(error.instance()), message(error).unwrap_or_default()))]
        }
        _ => vec![breach(message(error).unwrap_or_else(|| error.to_string()))],
    }
}

/// Values of an `enum` that a message shows.
const MAX_OPTIONS_SHOWN: usize = 12;

/// Returns one error as one line; `None` for errors without words of ours.
fn message(error: &ValidationError<'_>) -> Option<String> {
    let met = error.instance();
    let what = if error.instance_path().as_str().is_empty() { THE_VALUE } else { "" };
    Some(match error.kind() {
        Kind::Type { kind: TypeKind::Single(wanted) } => format!("must be {}, is {}", type_name(*wanted), kind(met)),
        Kind::Type { kind: TypeKind::Multiple(wanted) } => {
            let wanted: Vec<_> = wanted.iter().map(type_name).collect();
            format!("must be {}, is {}", wanted.join(" or "), kind(met))
        }
        Kind::Required { property } => format!("{} is missing", shown(property)),
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let first: Vec<_> = options.iter().take(MAX_OPTIONS_SHOWN).map(shown).collect();
            let more = if options.len() > MAX_OPTIONS_SHOWN { " …" } else { "" };
            format!("must be one of {}{more}, is {}", first.join(", "), shown(met))
        }
        Kind::Constant { expected_value } => format!("must be {}, is {}", shown(expected_value), shown(met)),
        Kind::Pattern { pattern } | Kind::Custom { message: pattern, .. } => format!("{what}does not match `{pattern}`"),
        Kind::Minimum { limit } => format!("must be at least {limit}, is {met}"),
        Kind::Maximum { limit } => format!("must be at most {limit}, is {met}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}, is {met}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}, is {met}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}, is {met}"),
        Kind::MinLength { limit } => format!("must have at least {}, has {}", counted(*limit, "character"), characters(met)),
        Kind::MaxLength { limit } => format!("must have at most {}, has {}", counted(*limit, "character"), characters(met)),
        Kind::MinItems { limit } => format!("must have at least {}, has {}", counted(*limit, "item"), items(met)),
        Kind::MaxItems { limit } => format!("must have at most {}, has {}", counted(*limit, "item"), items(met)),
        Kind::AdditionalItems { limit } => format!("must have at most {}, has {}", counted(*limit as u64, "item"), items(met)),
        Kind::MinProperties { limit } => format!("must have at least {}, has {}", counted(*limit, "key"), items(met)),
        Kind::MaxProperties { limit } => format!("must have at most {}, has {}", counted(*limit, "key"), items(met)),
        Kind::UniqueItems => "must not have the same item twice".into(),
        Kind::Contains => "must contain an item that fits".into(),
        Kind::FalseSchema => format!("{what}must be left out"),
        Kind::Format { format } => format!("{what}is no `{format}`"),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => match alternatives(context) {
            Some(reasons) => format!("fits no alternative: {reasons}"),
            None => "fits no alternative".into(),
        },
        Kind::OneOfMultipleValid { .. } => "fits more than one alternative".into(),
        Kind::Not { .. } => "fits what it must not fit".into(),
        Kind::UnevaluatedItems { .. } => "has items that are not known here".into(),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            format!("{what}takes too long to compare with its pattern")
        }
        _ => return None,
    })
}

/// Returns the reasons why each alternative does not fit, if they are short.
fn alternatives(context: &[Vec<ValidationError<'static>>]) -> Option<String> {
    let mut reasons = Vec::new();
    for errors in context {
        let [error] = errors.as_slice() else { return None };
        let reason = message(error)?;
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    (!reasons.is_empty() && reasons.len() <= 3).then(|| reasons.join("; "))
}

fn type_name(wanted: JsonType) -> &'static str {
    match wanted {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a text",
        JsonType::Array => "a list",
        JsonType::Object => "a mapping",
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(number) if number.is_f64() => "a decimal",
        Json::Number(_) => "an integer",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a mapping",
    }
}

/// A value in a message: bounded, texts bare.
fn shown(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn characters(value: &Json) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

fn items(value: &Json) -> usize {
    value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len)).unwrap_or(0)
}

/// A JSON pointer as a dotted path.
fn dotted(pointer: &str) -> String {
    pointer.split('/').skip(1).map(unescape).collect::<Vec<_>>().join(".")
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
