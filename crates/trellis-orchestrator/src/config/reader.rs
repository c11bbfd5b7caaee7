//! Reads the settings: every unknown key and every value of a wrong kind is a finding at its place.

use trellis_core::{Code, Diagnostic, Mapping, Value, diagnostic::did_you_mean, span::Span, syntax::project::HostConfig};

use super::PLANNED;
use crate::seal::{self, SecretKind};

/// Bytes that a setting may allow at most.
const MAX_ATTACHMENT: u64 = 100 << 20;

/// A file of settings, with its findings so far.
pub(super) struct Reader<'c> {
    pub(super) config: &'c HostConfig,
    pub(super) found: Vec<Diagnostic>,
}

impl<'c> Reader<'c> {
    pub(super) fn report(&mut self, place: &str, message: String, help: &str) {
        self.find(Code::WrongType, place, message, help.to_owned());
    }

    pub(super) fn find(&mut self, code: Code, place: &str, message: String, help: String) {
        let span = self.config.span(place).unwrap_or(Span::at(0));
        self.found.push(Diagnostic::new(code, &self.config.path, span, message).help(help));
    }

    /// Reports each key of a mapping that is none of these.
    pub(super) fn keys(&mut self, place: &str, mapping: &Mapping, known: &[&str]) {
        for key in mapping.keys().filter(|key| !known.contains(&&***key)) {
            let path = if place.is_empty() { key.to_string() } else { format!("{place}.{key}") };
            match PLANNED.iter().find(|(planned, _)| *planned == path) {
                Some((_, why)) => self.find(Code::UnknownKey, &path, format!("`{path}` does nothing yet"), format!("remove it: {why}")),
                None => {
                    let help = match known {
                        [] => "remove it: nothing is set here".to_owned(),
                        known => did_you_mean(key, known.iter().copied()).unwrap_or_else(|| {
                            format!("the keys here are {}", known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "))
                        }),
                    };
                    self.find(Code::UnknownKey, &path, format!("there is no key `{path}`"), help);
                }
            }
        }
    }

    pub(super) fn mapping(&mut self, place: &str, known: &[&str]) -> Option<&'c Mapping> {
        let keys: Vec<&str> = place.split('.').collect();
        match self.config.at(&keys)? {
            Value::Map(mapping) => {
                self.keys(place, mapping, known);
                Some(mapping)
            }
            // A key without a value says that it is there.
            Value::Null => None,
            other => {
                self.report(
                    place,
                    format!("`{place}` takes a mapping, not {}", with_article(other.kind())),
                    "write its keys below it, or `{}`",
                );
                None
            }
        }
    }

    pub(super) fn text(&mut self, place: &str, keys: &[&str]) -> Option<&'c str> {
        match self.config.at(keys)? {
            Value::Text(text) => Some(text),
            other => {
                self.report(place, format!("`{place}` takes a text, not {}", with_article(other.kind())), "put it in quotes");
                None
            }
        }
    }

    pub(super) fn name(&mut self, agent: &Mapping) -> Option<String> {
        agent.get("name")?;
        let name = self.text("agent.name", &["agent", "name"])?;
        let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_');
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            let message = format!("`{name}` is no name of an agent");
            self.report("agent.name", message, "it is the name of a file in `agents/`: letters, digits, `-` and `_`");
            return None;
        }
        Some(name.to_owned())
    }

    /// A list of texts; numbers count as texts, since some providers name people by numbers.
    pub(super) fn texts(&mut self, place: &str, value: Option<&Value>) -> Vec<String> {
        let items = match value {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::List(items)) => items,
            Some(other) => {
                let message = format!("`{place}` takes a list, not {}", with_article(other.kind()));
                self.report(place, message, "write it in brackets: `[ONE, OTHER]`");
                return Vec::new();
            }
        };
        let mut texts = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match item {
                Value::Text(text) if !text.trim().is_empty() => texts.push(text.trim().to_owned()),
                Value::Int(number) => texts.push(number.to_string()),
                other => {
                    let message = format!("`{place}` takes texts, not {}", with_article(other.kind()));
                    self.report(&format!("{place}.{at}"), message, "put it in quotes");
                }
            }
        }
        texts
    }

    pub(super) fn truth(&mut self, place: &str, value: Option<&Value>) -> bool {
        match value {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is)) => *is,
            Some(other) => {
                let message = format!("`{place}` takes `true` or `false`, not {}", with_article(other.kind()));
                self.report(place, message, "leave it out for `false`");
                false
            }
        }
    }

    pub(super) fn number(&mut self, place: &str, value: Option<&Value>, within: std::ops::RangeInclusive<i64>) -> Option<usize> {
        let value = value?;
        match value.as_i64().filter(|number| within.contains(number)).and_then(|number| usize::try_from(number).ok()) {
            Some(number) => Some(number),
            None => {
                let message = format!("`{place}` takes a whole number from {} to {}", within.start(), within.end());
                self.report(place, message, "leave it out for the default");
                None
            }
        }
    }

    /// A number of bytes: `500KiB`, `20MiB`, at most 100 MiB.
    pub(super) fn bytes(&mut self, place: &str, value: Option<&Value>) -> Option<u64> {
        let value = value?;
        let unit = |text: &str| {
            [("KiB", 10), ("MiB", 20), ("B", 0)]
                .into_iter()
                .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?.trim().parse::<u64>().ok()?, shift)))
        };
        let bytes = value.as_str().and_then(unit).and_then(|(number, shift)| number.checked_mul(1 << shift));
        let bytes = bytes.filter(|bytes| (1..=MAX_ATTACHMENT).contains(bytes));
        if bytes.is_none() {
            self.report(place, format!("`{place}` takes a size up to `100MiB`"), "write `500KiB` or `20MiB`");
        }
        bytes
    }

    /// Reports each text that looks like a token: a file of settings is no place for one.
    pub(super) fn secrets(&mut self, place: &str, value: &Value) {
        let below = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
        match value {
            // A token that stands here is reported whatever it looks like.
            Value::Text(_) if place.starts_with("channels.") && place.ends_with(".token") => {}
            Value::Text(_) if place.starts_with("providers.") && place.ends_with(".key") => {}
            Value::Text(text) if seal::find(text, None).iter().any(|found| !is_number(found.kind)) => {
                let help = "put it into `.env` of the workspace, or into its vault with `/secret set`".to_owned();
                self.find(Code::SecretExposed, place, format!("`{place}` looks like a secret"), help);
            }
            Value::Map(entries) => entries.iter().for_each(|(key, value)| self.secrets(&below(key), value)),
            Value::List(items) => items.iter().enumerate().for_each(|(at, item)| self.secrets(&below(&at.to_string()), item)),
            _ => {}
        }
    }
}

/// Returns whether a finding may also be the id of a person or a chat: long numbers, and words.
fn is_number(kind: SecretKind) -> bool {
    matches!(kind, SecretKind::Password | SecretKind::Card | SecretKind::Account)
}

/// A kind of value with its article.
pub(super) fn with_article(kind: &str) -> String {
    match kind {
        "null" => "nothing".to_owned(),
        kind if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}
