//! The values of one session that must not be stored, and their removal from all stored texts.

use std::sync::Arc;

use trellis_core::{
    Mapping, Value,
    path::{KeyPath, Segment, walk},
};

use super::{
    mark::{JSON, escaped, is_mark, mark, parts},
    places::{self, Place, appended_path},
};

/// Shorter texts and numbers are matched only as a whole, and only in texts written together with the key: they would match everywhere. In bytes.
pub(crate) const MIN_SEARCHED_BYTES: usize = 4;

/// One value, or one part of it, that is not a mapping or a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Secret {
    /// As text.
    text: Arc<str>,
    /// The text as JSON writes it, if that is different.
    escaped: Option<Arc<str>>,
    path: Arc<str>,
}

/// The values that were seen in one session. They are forgotten with the process.
#[derive(Clone, Default)]
pub(super) struct SeenSecrets(Vec<Secret>);

/// Values that are too short to be looked for in other texts than the one that they came with.
pub(super) struct Short(Vec<Secret>);

impl SeenSecrets {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Learns the values at `paths` in a record or a snapshot.
    pub(super) fn learn(&mut self, text: &mut Value, paths: &[KeyPath]) -> Short {
        let mut short = Short(Vec::new());
        places::visit(text, &mut |place| match place {
            Place::Context(context) => {
                for path in paths {
                    if let Some(value) = found(context, path) {
                        self.add(value, &path.to_string(), &mut short);
                    }
                }
            }
            Place::Appended { list, at, entry } => {
                for (path, within) in paths.iter().filter_map(|path| Some((path, appended_path(path, &list, at)?))) {
                    match found(entry, &within) {
                        Some(Value::List(items)) if within.is_key() => {
                            let places = items.iter().zip(at..);
                            places.for_each(|(item, at)| self.add(item, &format!("{list}.{at}"), &mut short));
                        }
                        Some(value) => self.add(value, &path.to_string(), &mut short),
                        None => {}
                    }
                }
            }
            Place::Key(_) | Place::Data(_) => {}
        });
        // The longest first: one may be a part of another.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.text.len()));
        short
    }

    fn add(&mut self, value: &Value, path: &str, short: &mut Short) {
        let text: Arc<str> = match value {
            Value::Map(entries) => return entries.iter().for_each(|(key, value)| self.add(value, &format!("{path}.{key}"), short)),
            Value::List(items) => return items.iter().enumerate().for_each(|(at, item)| self.add(item, &format!("{path}.{at}"), short)),
            Value::Null | Value::Bool(_) => return,
            Value::Text(text) => Arc::clone(text),
            number => number.to_json().into(),
        };
        if text.is_empty() || is_mark(value, path) {
            return;
        }
        let escaped = Some(escaped(&text)).filter(|json| **json != *text).map(Arc::from);
        let known = if text.len() < MIN_SEARCHED_BYTES { &mut short.0 } else { &mut self.0 };
        if !known.iter().any(|secret| secret.text == text) {
            known.push(Secret { text, escaped, path: path.into() });
        }
    }

    /// Removes all known values, and the values at `paths`.
    pub(super) fn hide(&self, short: &Short, text: &mut Value, paths: &[KeyPath]) {
        places::visit(text, &mut |place| match place {
            Place::Context(context) => {
                for path in paths {
                    put(context, path, Some(mark(&path.to_string()).into()));
                }
            }
            Place::Appended { list, at, entry } => {
                for (path, within) in paths.iter().filter_map(|path| Some((path, appended_path(path, &list, at)?))) {
                    put(entry, &within, Some(mark(&path.to_string()).into()));
                }
            }
            Place::Key(value) => self.take_out(value, &[]),
            Place::Data(value) => self.take_out(value, &short.0),
        });
    }

    fn take_out(&self, value: &mut Value, short: &[Secret]) {
        let whole = |text: &str| self.0.iter().chain(short).find(|secret| *secret.text == *text).map(|secret| mark(&secret.path));
        match value {
            Value::Text(text) => {
                if let Some(other) = whole(text).or_else(|| self.without(text)) {
                    *value = other.into();
                }
            }
            Value::List(items) => items.iter_mut().for_each(|item| self.take_out(item, short)),
            Value::Map(entries) => {
                let taken = std::mem::take(entries);
                let taken = taken.iter().map(|(key, value)| {
                    let mut value = value.clone();
                    self.take_out(&mut value, short);
                    (self.without(key).map_or_else(|| Arc::clone(key), Arc::from), value)
                });
                *entries = taken.collect();
            }
            Value::Null | Value::Bool(_) => {}
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
                if let Some(mark) = whole(&value.to_json()) {
                    *value = mark.into();
                }
            }
        }
    }

    /// Returns a text without known values; `None` if it contains none. A mark contains none, for every path.
    fn without(&self, text: &str) -> Option<String> {
        let needles = || {
            let json = self.0.iter().filter_map(|secret| Some((secret.escaped.as_ref()?, mark(&format!("{JSON}{}", secret.path)))));
            json.chain(self.0.iter().map(|secret| (&secret.text, mark(&secret.path))))
        };
        if !needles().any(|(needle, _)| text.contains(&**needle)) {
            return None;
        }
        let mut pieces: Vec<(String, Option<String>)> =
            parts(text).into_iter().map(|(plain, path)| (plain.to_owned(), path.map(mark))).collect();
        for (needle, instead) in needles() {
            let mut split = Vec::with_capacity(pieces.len());
            for (plain, after) in pieces {
                let mut rest = plain.as_str();
                while let Some((before, after)) = rest.split_once(&**needle) {
                    split.push((before.to_owned(), Some(instead.clone())));
                    rest = after;
                }
                split.push((rest.to_owned(), after));
            }
            pieces = split;
        }
        Some(pieces.into_iter().flat_map(|(plain, mark)| [plain, mark.unwrap_or_default()]).collect())
    }
}

/// Removes the marks from contexts: redacted keys are absent.
pub(super) fn strip(text: &mut Value, paths: &[KeyPath]) {
    let take = |entries: &mut Mapping, path: &KeyPath, within: &KeyPath| {
        if found(entries, within).is_some_and(|value| is_mark(value, &path.to_string())) {
            put(entries, within, None);
        }
    };
    places::visit(text, &mut |place| match place {
        Place::Context(context) => paths.iter().for_each(|path| take(context, path, path)),
        Place::Appended { list, at, entry } => {
            let within = paths.iter().filter_map(|path| Some((path, appended_path(path, &list, at)?)));
            within.for_each(|(path, within)| take(entry, path, &within));
        }
        Place::Key(_) | Place::Data(_) => {}
    });
}

fn found<'m>(entries: &'m Mapping, path: &KeyPath) -> Option<&'m Value> {
    walk(entries.get(path.root())?, path.rest())
}

/// Writes `value` at a path, if there is a value.
pub(crate) fn put_at(context: &mut Mapping, path: &KeyPath, value: Value) {
    put(context, path, Some(value));
}

/// Writes `value` at a path, if there is a value; `None` removes it, and leaves null in a list.
fn put(context: &mut Mapping, path: &KeyPath, value: Option<Value>) -> Option<()> {
    let (last, parents) = path.segments().split_last()?;
    let Some((_, parents)) = parents.split_first() else {
        replace(context, path.root(), value);
        return Some(());
    };
    let mut here = context.get_mut(path.root())?;
    for segment in parents {
        here = match (segment, here) {
            (Segment::Key(key), Value::Map(entries)) => entries.get_mut(key)?,
            (Segment::Index(index), Value::List(items)) => items.get_mut(*index)?,
            _ => return None,
        };
    }
    match (last, here) {
        (Segment::Key(key), Value::Map(entries)) => replace(entries, key, value),
        (Segment::Index(index), Value::List(items)) => *items.get_mut(*index)? = value.unwrap_or_default(),
        _ => {}
    }
    Some(())
}

fn replace(entries: &mut Mapping, key: &str, value: Option<Value>) {
    match (entries.get_mut(key), value) {
        (Some(place), Some(value)) => *place = value,
        (Some(_), None) => {
            *entries = entries.iter().filter(|(other, _)| &***other != key).map(|(key, value)| (Arc::clone(key), value.clone())).collect()
        }
        (None, _) => {}
    }
}
