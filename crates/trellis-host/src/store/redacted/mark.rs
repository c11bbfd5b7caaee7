//! The mark of a removed value: `‹redacted:order.card›` names its path.
//!
//! The value itself is nowhere. A state that came back from a store lacks the keys, and has marks in place of copies of their values: in a pending
//! call, in an undo, in another key. [`lacking`] returns the keys that must be supplied before it can continue, and [`restore`] puts the supplied
//! values in place of the marks.

use trellis_core::{
    Context, Mapping, State, Value,
    path::{KeyPath, walk},
};

use super::places::{self, Place};

const MARK_START: &str = "‹redacted:";
const ENDS: &str = "›";
/// The prefix of the path, if the value was in a text as JSON writes it: `‹redacted:json:order.card›`.
pub(super) const JSON: &str = "json:";

/// The mark of a value.
pub(super) fn mark(path: &str) -> String {
    format!("{MARK_START}{path}{ENDS}")
}

/// Returns whether a text contains a mark.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains(MARK_START)
}

/// Returns whether this is the mark of that path and nothing else.
pub(super) fn is_mark(value: &Value, path: &str) -> bool {
    value.as_str().and_then(|text| text.strip_prefix(MARK_START)?.strip_suffix(ENDS)) == Some(path)
}

/// Splits a text into its parts: plain text and, after each, the path of a mark; the last part has none.
pub(super) fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once(MARK_START) {
        let Some((path, after)) = after.split_once(ENDS) else { break };
        parts.push((plain, Some(path)));
        rest = after;
    }
    parts.push((rest, None));
    parts
}

/// Returns the keys, as dotted paths, that were redacted when a session was stored, and that it cannot continue without: its pending call, an undo
/// or another key has a mark of them.
pub fn lacking(state: &State) -> Vec<String> {
    let mut lacking = Vec::new();
    if let Some(mut value) = marked(state) {
        let context = context_of(&value);
        if let Value::Map(state) = &mut value {
            // The last answer is often never read.
            *state = state.iter().filter(|(key, _)| &***key != "system_context").map(|(key, value)| (key.clone(), value.clone())).collect();
        }
        places::state(&mut value, &mut |place| {
            let (Place::Data(value) | Place::Key(value)) = place else { return };
            texts(value, &mut |text| {
                for path in parts(text).into_iter().filter_map(|(_, path)| path) {
                    let path = path.strip_prefix(JSON).unwrap_or(path);
                    if found(&context, path).is_none() && !lacking.iter().any(|known| known == path) {
                        lacking.push(path.to_owned());
                    }
                }
                None
            });
        });
    }
    lacking
}

/// Replaces the marks of present keys by their values.
pub fn restore(state: &mut State) {
    let Some(mut value) = marked(state) else { return };
    let context = context_of(&value);
    places::state(&mut value, &mut |place| {
        let (Place::Data(value) | Place::Key(value)) = place else { return };
        texts(value, &mut |text| restored(text, &context));
    });
    // A state with other values in it is still one.
    if let Ok(restored) = serde_json::from_str(&value.to_json()) {
        *state = restored;
    }
}

/// Keys with the mappings that they lead into.
pub(crate) fn whole(context: &Context, keys: Mapping) -> Mapping {
    if !keys.keys().any(|key| key.contains('.')) {
        return keys;
    }
    let mut after = context.clone();
    let mut roots = Vec::with_capacity(keys.len());
    for (key, value) in keys.iter() {
        match KeyPath::parse(key) {
            Some(path) if after.write(&path, value.clone()).is_ok() => roots.push(path.root().clone()),
            _ => {
                after.insert(key.clone(), value.clone());
                roots.push(key.clone());
            }
        }
    }
    roots.into_iter().filter_map(|root| Some((root.clone(), after.get(&root)?.clone()))).collect()
}

/// The state as a value, if there is a mark in it.
fn marked(state: &State) -> Option<Value> {
    let text = serde_json::to_string(state).ok().filter(|text| is_in(text))?;
    Value::from_json(&text).ok()
}

fn context_of(state: &Value) -> Mapping {
    state.as_map().and_then(|state| state.get("context")?.as_map()).cloned().unwrap_or_default()
}

fn found<'c>(context: &'c Mapping, path: &str) -> Option<&'c Value> {
    let path = KeyPath::parse(path)?;
    walk(context.get(path.root())?, path.rest()).filter(|value| !value.as_str().is_some_and(is_in))
}

/// Returns a text without the marks of present values; a text that is one mark becomes the value, of any kind.
fn restored(text: &str, context: &Mapping) -> Option<Value> {
    let parts = parts(text);
    if let [("", Some(path)), ("", None)] = parts[..]
        && !path.starts_with(JSON)
    {
        return found(context, path).cloned();
    }
    let mut whole = String::with_capacity(text.len());
    let mut is_changed = false;
    for (plain, path) in parts {
        whole.push_str(plain);
        let Some(path) = path else { continue };
        match found(context, path.strip_prefix(JSON).unwrap_or(path)) {
            Some(value) => {
                is_changed = true;
                let text = value.as_str().map_or_else(|| value.to_json(), str::to_owned);
                whole.push_str(&if path.starts_with(JSON) { escaped(&text) } else { text });
            }
            None => whole.push_str(&mark(path)),
        }
    }
    is_changed.then(|| whole.into())
}

/// Returns a text as JSON writes it, without its quotes.
pub(super) fn escaped(text: &str) -> String {
    let json = Value::from(text).to_json();
    json[1..json.len() - 1].to_owned()
}

/// Visits every text of a value, at any depth; `change` may replace it by another value.
fn texts(value: &mut Value, change: &mut dyn FnMut(&str) -> Option<Value>) {
    match value {
        Value::Text(text) => {
            if let Some(other) = change(text) {
                *value = other;
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| texts(item, change)),
        Value::Map(entries) => {
            let keys: Vec<_> = entries.keys().cloned().collect();
            for key in keys {
                if let Some(value) = entries.get_mut(&key) {
                    texts(value, change);
                }
            }
        }
        _ => {}
    }
}
