//! `x-exec`: a call of Go Trellis that names the program to run. Here a binding names it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    format::layout::{Block, BlockData, BlockEntry},
    scalar::Plain,
};
use trellis_base::value::{Key, Value};

/// The tools of a graph that calls name a program for, and the binding that each gets.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// Tools that nothing declares: a program may be bound to them.
    pub unknown: BTreeSet<String>,
    /// The bindings.
    pub bound: BTreeMap<String, Value>,
}

/// The key that names a program.
pub(super) const EXEC_KEY: &str = "x-exec";

/// Returns the binding for the value of `x-exec`.
///
/// # Errors
/// The reason why there is none.
pub(super) fn binding(value: &Block<'_>) -> Result<Value, String> {
    let BlockData::Map { entries, .. } = &value.data else { return Err("`x-exec` is no mapping with a `command`".into()) };
    let mut words = Vec::new();
    let mut env = None;
    for key in ["command", "args"] {
        if let Some(entry) = entries.iter().find(|entry| entry.name == key) {
            words.extend(texts(entry)?);
        }
    }
    if words.is_empty() {
        return Err("`x-exec` has no `command`".into());
    }
    for entry in entries {
        match &*entry.name {
            "command" | "args" => {}
            "env" => env = Some(variables(entry)?),
            other => return Err(format!("`x-exec` has `{other}`, which a binding does not")),
        }
    }
    let process = Value::from(words);
    Ok(Value::map([Some(("process", process)), env.map(|env| ("env", env))].into_iter().flatten()))
}

fn variables(entry: &BlockEntry<'_>) -> Result<Value, String> {
    let BlockData::Map { entries, .. } = &entry.value.data else { return Err("`env` of `x-exec` is no mapping".into()) };
    let one = |entry: &BlockEntry<'_>| Ok((Key::from(&*entry.name), Value::text(texts(entry)?.concat())));
    entries.iter().map(one).collect::<Result<_, _>>().map(Value::Map)
}

/// A text, or a list of texts.
fn texts(entry: &BlockEntry<'_>) -> Result<Vec<String>, String> {
    let one = |piece: &Block<'_>| match &piece.data {
        BlockData::Scalar(text) if text.contains("{{") => {
            Err(format!("`{}` of `x-exec` is a template, and a program is fixed", entry.name))
        }
        BlockData::Scalar(text) if !piece.pinned => Ok(text.to_string()),
        _ => Err(format!("`{}` of `x-exec` is no text", entry.name)),
    };
    match &entry.value.data {
        BlockData::List(items) => items.iter().map(one).collect(),
        _ => one(&entry.value).map(|text| vec![text]),
    }
}

/// A binding as YAML in braces.
pub(super) fn flowing(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Map(entries) if entries.is_empty() => "{}".into(),
        Value::Map(entries) => {
            format!("{{ {} }}", joined(entries.iter().map(|(key, value)| format!("{}: {}", word(key), flowing(value))).collect()))
        }
        Value::List(items) => format!("[{}]", joined(items.iter().map(flowing).collect())),
        Value::Text(text) => word(text),
        other => other.to_json(),
    }
}

/// A text in braces or brackets: without quotes where it stays a text.
pub(super) fn word(text: &str) -> String {
    let begins = text.trim_start_matches('-').starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '_' | '/' | '.'));
    let is_plain = begins && text.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '/'));
    if is_plain && Plain::of(text) == Plain::Text && text != "---" { text.to_owned() } else { Value::text(text).to_json() }
}
