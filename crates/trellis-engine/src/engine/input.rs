//! Inputs: declared types are trimmed, normalised and checked (language 6.5).
//!
//! **Invariant:** a sentence about a `secret` never contains it.

use std::{borrow::Cow, sync::Arc};

use super::{NavigateError, fail::with_article};
use crate::program::{Choice, Limits, Listen};
use trellis_base::{
    language::InputType,
    schema::Schema,
    value::{Value, nesting},
};

/// The names of an option beside its value: its text, then its text where no locale has another. Used only where a text is no value.
pub(super) type Called<'c> = &'c dyn Fn(&Choice) -> [Option<Arc<str>>; 2];

/// The received input.
pub(super) enum ReceivedInput {
    Nothing,
    Text(String),
    Value(Value),
}

/// The meaning of an input.
pub(super) enum Taken {
    /// A valid answer.
    Answer(Value),
    /// A sleep is over.
    Slept,
    /// No answer; with the reason.
    Invalid(String),
}

impl ReceivedInput {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "a pass",
            Self::Text(_) | Self::Value(_) => "an input",
        }
    }

    /// Returns the input for people: a text in the form in which it would be read.
    pub(super) fn shown(&self) -> Value {
        match self {
            Self::Nothing => Value::text(""),
            Self::Text(text) => Value::text(clean(text).trim()),
            Self::Value(Value::Text(text)) => Value::text(clean(text).trim()),
            Self::Value(value) => value.clone(),
        }
    }

    /// The input as a value.
    pub(super) fn as_value(&self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(Value::text(text.as_str())),
            Self::Value(value) => Some(value.clone()),
        }
    }

    fn is_blank(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Text(text) => text.trim().is_empty(),
            Self::Value(value) => value.as_str().is_some_and(|text| text.trim().is_empty()),
        }
    }

    /// Refuses an input above the bound; an input is never truncated (language A.1).
    pub(super) fn check_size(&self, limit: u64) -> Result<(), NavigateError> {
        let size = match self {
            Self::Nothing => 0,
            Self::Text(text) => text.len() as u64,
            Self::Value(value) => value.size(),
        };
        if size > limit { Err(NavigateError::TooLarge { size, limit }) } else { Ok(()) }
    }

    /// Refuses a value that is nested too deeply, before anything looks into it.
    pub(super) fn check_depth(&self, listen: &Listen, limits: &Limits) -> Result<(), NavigateError> {
        let depth = match self {
            Self::Value(value) => value.depth(),
            Self::Text(text) if listen.kind == Some(InputType::Json) => nesting(text),
            _ => return Ok(()),
        };
        limits.nest(depth).map_err(NavigateError::Excess)
    }
}

/// Reads an input as the node declares it.
pub(super) fn read(listen: &Listen, called: Called<'_>, given: ReceivedInput) -> Taken {
    if listen.sleep.is_some() {
        return if given.is_blank() { Taken::Slept } else { Taken::Invalid("nothing is asked here; it continues by itself".to_owned()) };
    }
    if let Some(default) = listen.default.as_ref().filter(|_| given.is_blank()) {
        return Taken::Answer(default.clone());
    }
    match normalised(listen, called, given) {
        Ok(value) => Taken::Answer(value),
        Err(problem) => Taken::Invalid(problem),
    }
}

/// Reads the `input_default` of a listening node, or returns the reason why the node does not accept it. A text may be empty here: it replaces an
/// empty input.
pub fn accept_default(listen: &Listen, default: &Value) -> Result<Value, String> {
    let takes_text = matches!(listen.kind, Some(InputType::Text | InputType::Secret));
    match default {
        Value::Text(text) if takes_text && clean(text).trim().is_empty() => fitting(listen, Value::text("")),
        _ => accept(listen, default),
    }
}

/// Reads a value as the input of a listening node, or returns the reason why the node does not accept it.
pub fn accept(listen: &Listen, value: &Value) -> Result<Value, String> {
    normalised(listen, &written, ReceivedInput::Value(value.clone()))
}

fn normalised(listen: &Listen, called: Called<'_>, given: ReceivedInput) -> Result<Value, String> {
    let value = match listen.kind {
        None => undeclared(given),
        Some(InputType::Json) => json(given)?,
        Some(kind) => match given {
            ReceivedInput::Nothing => typed(kind, listen, called, "")?,
            ReceivedInput::Text(text) => typed(kind, listen, called, clean(&text).trim())?,
            ReceivedInput::Value(Value::Text(text)) => typed(kind, listen, called, clean(&text).trim())?,
            ReceivedInput::Value(value) => from_value(kind, listen, called, value)?,
        },
    };
    fitting(listen, value)
}

/// Any input, as it came.
fn undeclared(given: ReceivedInput) -> Value {
    match given {
        ReceivedInput::Nothing => Value::text(""),
        ReceivedInput::Text(text) => Value::text(clean(&text)),
        ReceivedInput::Value(Value::Text(text)) => Value::text(clean(&text)),
        ReceivedInput::Value(value) => value,
    }
}

/// A JSON value, or its text.
fn json(given: ReceivedInput) -> Result<Value, String> {
    match given {
        ReceivedInput::Nothing => Err("a JSON value is needed".to_owned()),
        ReceivedInput::Text(text) => Value::from_json(clean(&text).trim()).map_err(|error| format!("not a JSON value: {error}")),
        ReceivedInput::Value(value) => Ok(value),
    }
}

fn typed(kind: InputType, listen: &Listen, called: Called<'_>, text: &str) -> Result<Value, String> {
    match kind {
        InputType::Text | InputType::Secret if text.is_empty() => Err("some text is needed".to_owned()),
        InputType::Text | InputType::Secret | InputType::Json => Ok(Value::text(text)),
        InputType::Confirm => confirm(text).map(Value::text).ok_or_else(|| format!("{} is neither yes nor no", quoted(text))),
        InputType::Int => number(text)
            .filter(|_| !text.contains(['e', 'E']))
            .and_then(integer)
            .ok_or_else(|| format!("{} is not a whole number", quoted(text))),
        InputType::Float => number(text).ok_or_else(|| format!("{} is not a number", quoted(text))),
        InputType::Choice => {
            let by_identity = listen.options.iter().find(|choice| choice.value.as_str() == Some(text));
            let by_value = || listen.options.iter().find(|choice| choice.value.to_string() == text);
            match by_identity.or_else(by_value) {
                Some(choice) => Ok(choice.value.clone()),
                None => by_text(listen, called, text),
            }
        }
    }
}

fn from_value(kind: InputType, listen: &Listen, called: Called<'_>, value: Value) -> Result<Value, String> {
    let is = with_article(value.kind());
    match kind {
        InputType::Json => Ok(value),
        InputType::Text | InputType::Secret => Err(format!("must be text, is {is}")),
        InputType::Confirm => match value {
            Value::Bool(true) | Value::Int(1) => Ok(Value::text("yes")),
            Value::Bool(false) | Value::Int(0) => Ok(Value::text("no")),
            _ => Err(format!("must be yes or no, is {is}")),
        },
        InputType::Int => integer(value).ok_or_else(|| format!("must be a whole number, is {is}")),
        InputType::Float => match value {
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => Ok(value),
            _ => Err(format!("must be a number, is {is}")),
        },
        InputType::Choice => match listen.options.iter().find(|choice| choice.value == value) {
            Some(choice) => Ok(choice.value.clone()),
            None if listen.closed => Err(choices(listen, called)),
            None => Ok(value),
        },
    }
}

/// `input_schema`.
fn fitting(listen: &Listen, value: Value) -> Result<Value, String> {
    let Some(schema) = listen.schema.as_ref().filter(|schema| !schema.fits(&value)) else { return Ok(value) };
    if listen.kind == Some(InputType::Secret) {
        return Err("the secret does not fit what is asked".to_owned());
    }
    Err(breaches(schema, &value, ""))
}

/// Describes in one line why a value does not fit; `name` is empty for a value without a name.
pub(super) fn breaches(schema: &Schema, value: &Value, name: &str) -> String {
    schema.breaches(value).iter().map(|breach| breach.about(name)).collect::<Vec<_>>().join("; ")
}

/// Returns the option with this text, by its localised text first. A text of several options names none of them: their values distinguish
/// them (language 6.4).
fn by_text(listen: &Listen, called: Called<'_>, text: &str) -> Result<Value, String> {
    let names: Vec<_> = listen.options.iter().map(called).collect();
    for at in 0..2 {
        let is_named = |names: &[Option<Arc<str>>; 2]| names[at].as_deref() == Some(text);
        let named: Vec<_> =
            listen.options.iter().zip(&names).filter(|(_, names)| is_named(names)).map(|(choice, _)| &choice.value).collect();
        match named.as_slice() {
            [] => {}
            [value] => return Ok((*value).clone()),
            several => {
                let values: Vec<_> = several.iter().map(|value| format!("`{value}`")).collect();
                return Err(format!("{} options show {}: choose by value, {}", several.len(), quoted(text), values.join(" or ")));
            }
        }
    }
    if listen.closed { Err(choices(listen, called)) } else { Ok(Value::text(text)) }
}

/// Returns the names of an option before there is a session: as they are written.
pub(super) fn written(choice: &Choice) -> [Option<Arc<str>>; 2] {
    [choice.text.is_literal().then(|| choice.text.shared_text()), None]
}

fn choices(listen: &Listen, called: Called<'_>) -> String {
    let text = |choice: &Choice| called(choice).into_iter().flatten().next().unwrap_or_else(|| choice.value.to_string().into());
    let texts: Vec<_> = listen.options.iter().map(text).collect();
    format!("choose one of: {}", texts.join(", "))
}

fn confirm(text: &str) -> Option<&'static str> {
    let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["y", "yes", "true", "1"]) {
        Some("yes")
    } else if is(["n", "no", "false", "0"]) {
        Some("no")
    } else {
        None
    }
}

/// The number that a text is as JSON.
fn number(text: &str) -> Option<Value> {
    Value::from_json(text).ok().filter(|value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_)))
}

/// Returns a whole number as an integer, also when it is written as a decimal; `None` beyond the integers that a double holds exactly.
fn integer(value: Value) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Int(_) | Value::UInt(_) => Some(value),
        #[expect(clippy::cast_possible_truncation, reason = "whole and exact")]
        Value::Float(float) if float.fract() == 0.0 && float.abs() <= EXACT => Some(Value::Int(float as i64)),
        _ => None,
    }
}

/// The text without control characters, but for line breaks and tabs.
fn clean(text: &str) -> Cow<'_, str> {
    let unwanted = |char: char| char.is_control() && char != '\n' && char != '\t';
    if text.contains(unwanted) { text.replace(unwanted, "").into() } else { text.into() }
}

/// Quotes the typed text, short enough for one line.
fn quoted(text: &str) -> String {
    const MAX_QUOTED_CHARS: usize = 40;
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        _ if text.is_empty() => "an empty input".to_owned(),
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trellis_base::template::Template;

    fn listen(kind: Option<InputType>) -> Listen {
        Listen { kind, options: Box::default(), closed: false, default: None, schema: None, on_invalid: None, sleep: None, timeout: None }
    }

    fn choice(closed: bool) -> Listen {
        let option = |value: Value, text: &str| Choice { value, text: Template::literal(text), writes: false };
        let options = [option("order".into(), "My order"), option(Value::Int(2), "Two"), option("Two".into(), "Deux")];
        Listen { options: options.into(), closed, ..listen(Some(InputType::Choice)) }
    }

    fn said(listen: &Listen, given: ReceivedInput) -> Result<String, String> {
        match read(listen, &written, given) {
            Taken::Answer(value) => Ok(value.to_json()),
            Taken::Invalid(problem) => Err(problem),
            Taken::Slept => Ok("slept".into()),
        }
    }

    fn text(listen: &Listen, text: &str) -> Result<String, String> {
        said(listen, ReceivedInput::Text(text.into()))
    }

    fn value(listen: &Listen, json: &str) -> Result<String, String> {
        said(listen, ReceivedInput::Value(Value::from_json(json).unwrap()))
    }

    #[test]
    fn declared_types_are_trimmed_and_normalised() {
        let of = |kind| listen(Some(kind));
        assert_eq!(text(&of(InputType::Text), "  ann\u{1b}[31m\t\r\n").unwrap(), r#""ann[31m""#);
        for yes in ["y", " YES ", "true", "1"] {
            assert_eq!(text(&of(InputType::Confirm), yes).unwrap(), r#""yes""#);
        }
        assert_eq!(value(&of(InputType::Confirm), "false").unwrap(), r#""no""#);
        assert_eq!(text(&of(InputType::Confirm), "maybe").unwrap_err(), "`maybe` is neither yes nor no");
        assert_eq!(text(&of(InputType::Int), " 9007199254740993 ").unwrap(), "9007199254740993");
        assert_eq!(text(&of(InputType::Int), "2.0").unwrap(), "2");
        assert_eq!(text(&of(InputType::Int), "1e3").unwrap_err(), "`1e3` is not a whole number");
        assert_eq!(text(&of(InputType::Int), "2.5").unwrap_err(), "`2.5` is not a whole number");
        assert_eq!(value(&of(InputType::Int), r#""7""#).unwrap(), "7");
        assert_eq!(value(&of(InputType::Int), "true").unwrap_err(), "must be a whole number, is a boolean");
        assert_eq!(text(&of(InputType::Float), "0.1").unwrap(), "0.1");
        assert_eq!(text(&of(InputType::Float), "").unwrap_err(), "an empty input is not a number");
        assert_eq!(text(&of(InputType::Json), r#" {"a": [1]} "#).unwrap(), r#"{"a":[1]}"#);
        assert_eq!(value(&of(InputType::Json), r#""{}""#).unwrap(), r#""{}""#);
        assert!(text(&of(InputType::Json), "{").unwrap_err().starts_with("not a JSON value"));
        assert_eq!(text(&of(InputType::Text), " ").unwrap_err(), "some text is needed");
        assert_eq!(value(&of(InputType::Text), "5").unwrap_err(), "must be text, is an integer");
    }

    #[test]
    fn a_choice_is_named_by_value_then_by_text() {
        assert_eq!(text(&choice(true), "order").unwrap(), r#""order""#);
        assert_eq!(text(&choice(true), " My order").unwrap(), r#""order""#);
        assert_eq!(text(&choice(true), "2").unwrap(), "2");
        assert_eq!(text(&choice(true), "Two").unwrap(), r#""Two""#);
        assert_eq!(value(&choice(true), "2").unwrap(), "2");
        assert_eq!(text(&choice(true), "no").unwrap_err(), "choose one of: My order, Two, Deux");
        assert_eq!(text(&choice(false), " else ").unwrap(), r#""else""#);
    }

    #[test]
    fn nothing_typed_is_the_default_and_undeclared_input_is_kept_as_it_came() {
        let defaulted = Listen { default: Some(Value::Int(3)), ..listen(Some(InputType::Int)) };
        assert_eq!(text(&defaulted, " ").unwrap(), "3");
        assert_eq!(said(&defaulted, ReceivedInput::Nothing).unwrap(), "3");
        assert_eq!(text(&listen(None), " a ").unwrap(), r#"" a ""#);
        assert_eq!(said(&listen(None), ReceivedInput::Nothing).unwrap(), r#""""#);
        assert_eq!(value(&listen(None), "[1]").unwrap(), "[1]");
    }

    #[test]
    fn a_sleep_takes_nothing_but_its_end() {
        let asleep = Listen { sleep: Some(std::time::Duration::from_secs(30)), ..listen(None) };
        assert_eq!(said(&asleep, ReceivedInput::Nothing).unwrap(), "slept");
        assert_eq!(text(&asleep, "hello").unwrap_err(), "nothing is asked here; it continues by itself");
    }

    #[test]
    fn an_input_above_the_bound_is_refused_whole() {
        assert_eq!(ReceivedInput::Text("äbc".into()).check_size(3), Err(NavigateError::TooLarge { size: 4, limit: 3 }));
        assert!(ReceivedInput::Value(Value::text("a")).check_size(3).is_ok());
    }
}
