//! Mappings of project files, read into types of the host.

use std::{borrow::Cow, collections::BTreeMap, fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, Visitor},
};
use serde_path_to_error::Segment;
use trellis_core::{
    Code, Diagnostic, Mapping,
    diagnostic::{FilePath, Severity, did_you_mean},
    span::{Span, Spanned},
    syntax::{duration, project::HostConfig},
    template::Shape,
};

/// Reads a mapping of a project file into a type of the host; each mistake is a finding at its place.
pub(super) struct ConfigReader<'s> {
    pub(super) config: &'s Mapping,
    pub(super) spans: &'s BTreeMap<String, Span>,
    pub(super) shapes: &'s BTreeMap<String, Spanned<Shape>>,
    /// The path of the mapping in the file, the prefix of the paths in `spans`: `servers.files`; empty for a binding.
    pub(super) prefix: &'s str,
    /// The place of parts without a span.
    pub(super) around: Span,
    pub(super) path: &'s FilePath,
    pub(super) found: Vec<Diagnostic>,
}

impl<'s> ConfigReader<'s> {
    /// Creates a reader of a mapping at a path of a project file; `around` is the place of parts without a span.
    pub(super) fn new(config: &'s HostConfig, mapping: &'s Mapping, prefix: &'s str, around: Span) -> Self {
        let HostConfig { spans, shapes, path, .. } = config;
        Self { config: mapping, spans, shapes, prefix, around, path, found: Vec::new() }
    }

    /// The keys that `C` names. Decoding ends at the first mistake, so a key with one is reported, with the help that `help_of` has for it and its
    /// value, and left out; the others are decoded again.
    pub(super) fn read<C: DeserializeOwned + Default>(&mut self, help_of: impl Fn(&str, &str) -> Option<String>) -> C {
        let Ok(serde_yaml::Value::Mapping(mut keys)) = serde_yaml::to_value(self.config) else { return C::default() };
        loop {
            let error = match serde_path_to_error::deserialize(serde_yaml::Value::from(keys.clone())) {
                Ok(decoded) => return decoded,
                Err(error) => error,
            };
            let segments = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Map { key } | Segment::Enum { variant: key } => Some(key.clone()),
                Segment::Unknown => None,
            });
            let segments: Vec<String> = segments.collect();
            let why = error.inner().to_string();
            if let Some((unknown, known)) = unknown_key(&why)
                && leave_out(&mut keys, &segments, unknown)
            {
                let around = segments.join(".").trim_end_matches(unknown).trim_end_matches('.').to_owned();
                let help = did_you_mean(unknown, known.iter().copied()).unwrap_or_else(|| format!("it takes {}", listed(&known)));
                let place = if around.is_empty() { unknown.to_owned() } else { format!("{around}.{unknown}") };
                let whole = if around.is_empty() { self.prefix } else { &around };
                self.report(&place, format!("`{whole}` has no key `{unknown}`"), Some(help));
                continue;
            }
            let Some(key) = segments.first().filter(|key| keys.remove(key.as_str()).is_some()) else {
                self.report("", format!("the binding cannot be read: {why}"), None);
                return C::default();
            };
            let place = segments.join(".");
            let value = self.config.get(key).map(ToString::to_string).unwrap_or_default();
            let nearest = unknown_word(&why).and_then(|(word, known)| did_you_mean(word, known));
            self.report(&place, unfit_value(&place, &why), nearest.or_else(|| help_of(key, &value)));
        }
    }

    /// Returns the shape at a path, whose holes are filled when a call is made.
    pub(super) fn shape(&self, place: &str) -> Option<&Spanned<Shape>> {
        self.shapes.get(place)
    }

    /// Adds a finding at a place of the file.
    pub(super) fn report_at(&mut self, span: Span, message: String, help: &str) {
        self.found.push(Diagnostic::new(Code::WrongType, self.path, span, message).help(help));
    }

    /// Adds a warning at a path of the mapping.
    pub(super) fn warn(&mut self, place: &str, message: String, help: &str) {
        self.report(place, message, Some(help.to_owned()));
        if let Some(found) = self.found.last_mut() {
            found.severity = Severity::Warning;
        }
    }

    /// Adds a finding at a path of the mapping, such as `process.0`.
    pub(super) fn report(&mut self, place: &str, message: String, help: Option<String>) {
        let place = if self.prefix.is_empty() { Cow::Borrowed(place) } else { Cow::Owned(format!("{}.{place}", self.prefix)) };
        let span = span_of(self.spans, &place).unwrap_or(self.around);
        self.found.push(Diagnostic::new(Code::WrongType, self.path, span, message).help_maybe(help));
    }
}

/// The place of a path of a mapping: the nearest around it that is known.
pub(super) fn span_of(spans: &BTreeMap<String, Span>, place: &str) -> Option<Span> {
    let mut places = std::iter::successors(Some(place), |place| Some(place.rsplit_once('.')?.0));
    places.find_map(|path| spans.get(path).copied())
}

/// The key that a type does not know, and those that it knows.
fn unknown_key(why: &str) -> Option<(&str, Vec<&str>)> {
    in_backticks(why.strip_prefix("unknown field `")?)
}

/// The word that an enumeration does not know, and those that it knows.
fn unknown_word(why: &str) -> Option<(&str, Vec<&str>)> {
    in_backticks(why.strip_prefix("unknown variant `")?)
}

/// The text before the first backtick, and those that the others enclose.
fn in_backticks(text: &str) -> Option<(&str, Vec<&str>)> {
    let (first, others) = text.split_once('`')?;
    Some((first, others.split('`').skip(1).step_by(2).collect()))
}

/// Says in our words why serde refuses the value at a place.
fn unfit_value(place: &str, why: &str) -> String {
    if let Some((word, known)) = unknown_word(why) {
        return format!("`{place}` takes {}, not `{word}`", alternatives(&known));
    }
    let unfit = why.strip_prefix("invalid type: ").or(why.strip_prefix("invalid value: "));
    match (unfit.and_then(|why| why.rsplit_once(", expected ")), why.strip_prefix("missing field ")) {
        (Some((met, wanted)), _) => format!("`{place}` takes {}, not {}", wanted_words(wanted), met_words(met)),
        (None, Some(missing)) => format!("`{place}` has no {missing}"),
        (None, None) => unfit.unwrap_or(why).to_owned(),
    }
}

/// Takes a key out of the mapping at a path, or at the path around it where that ends with the key.
fn leave_out(keys: &mut serde_yaml::Mapping, path: &[String], key: &str) -> bool {
    let path = path.strip_suffix(&[key.to_owned()][..]).unwrap_or(path);
    let mut here = keys;
    for segment in path {
        match here.get_mut(segment.as_str()).and_then(serde_yaml::Value::as_mapping_mut) {
            Some(inner) => here = inner,
            None => return false,
        }
    }
    here.remove(key).is_some()
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The words of an enumeration, for a sentence.
fn alternatives(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or `{last}`", listed(most)),
        _ => listed(words),
    }
}

/// Reads the value of a present key: null is none.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Returns our words for the kind that serde expects.
fn wanted_words(wanted: &str) -> &str {
    match wanted {
        "a sequence" => "a list of texts",
        "a string" => "a text",
        "path string" => "a path",
        "f64" => "a number",
        "u64" => "a whole number from 0 on",
        "a map" => "a mapping",
        structure if structure.starts_with("struct ") => "a mapping",
        wanted => wanted,
    }
}

/// Returns our words for the kind that serde met instead.
fn met_words(met: &str) -> &str {
    match met.split(' ').next() {
        Some("string") => "a text",
        Some("integer") if met.contains("`-") => "a negative number",
        Some("integer") => "an integer",
        Some("floating") => "a decimal",
        Some("boolean") => "a boolean",
        Some("sequence") => "a list",
        Some("map") => "a mapping",
        Some("unit" | "null" | "Option") => "null",
        _ => met,
    }
}

/// A value of the environment: text, or the YAML form of an unquoted number or truth.
pub(super) struct Plain(pub(super) String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Plain;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, text: &str) -> Result<Plain, E> {
                Ok(Plain(text.to_owned()))
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Plain, E> {
                Ok(Plain(truth.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Plain, E> {
                Ok(Plain(number.to_string()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// A duration as graphs have them.
pub(super) struct Wait(pub(super) Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Plain(text) = Plain::deserialize(deserializer)?;
        duration::parse(&text).map(Self).ok_or_else(|| D::Error::custom(format!("`{text}` is no duration")))
    }
}

#[cfg(test)]
pub(super) mod testing {
    use trellis_core::Value;

    use super::*;

    /// Hands a reader of a mapping, written as JSON, to a test.
    pub(in crate::binding) fn reader<T>(config: &str, read: impl FnOnce(&mut ConfigReader<'_>) -> T) -> T {
        let Value::Map(config) = Value::from_json(config).unwrap() else { panic!("{config} is no mapping") };
        let path = FilePath::from("trellis.yaml");
        read(&mut ConfigReader {
            config: &config,
            spans: &BTreeMap::new(),
            prefix: "",
            shapes: &BTreeMap::new(),
            around: Span::at(0),
            path: &path,
            found: Vec::new(),
        })
    }
}
