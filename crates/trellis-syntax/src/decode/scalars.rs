//! Texts, numbers, durations, paths and words out of a few.

use std::{sync::Arc, time::Duration};

use super::Decoder;
use crate::{
    condition::Condition,
    duration,
    scalar::{Plain, Style},
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Near},
    path::{KeyPath, Segment, is_name},
    scope::RESERVED,
    span::{Span, Spanned},
    template::forbid_secrets,
    value::Key,
};

/// Words that authors know from elsewhere, with the words that replace them.
const ELSEWHERE: [(&str, &str); 9] = [
    ("integer", "int"),
    ("string", "text"),
    ("str", "text"),
    ("boolean", "confirm"),
    ("bool", "confirm"),
    ("select", "choice"),
    ("password", "secret"),
    ("true", "finished"),
    ("success", "finished"),
];

impl<'t> Decoder<'t, '_> {
    /// A text; numbers are taken as they are spelled, since names and titles may look like numbers.
    pub(super) fn str<'n>(&mut self, key: &str, node: &'n YamlNode<'t>) -> Option<&'n str> {
        match &node.data {
            YamlData::Scalar(text, style) => {
                if text.is_empty() && *style == Style::Plain {
                    self.find(Code::MissingValue, node.span, format!("a value of `{}` is missing", shown(key)));
                    return None;
                }
                if *style == Style::Plain && matches!(Plain::of(text), Plain::Bool(_) | Plain::Null) {
                    let found = self.finding(Code::WrongType, node.span, format!("`{}` takes a text, not {}", shown(key), node.kind()));
                    let found = if text.is_empty() {
                        found
                    } else {
                        found.help("put it in quotes").fix("put it in quotes", node.span, format!("\"{text}\""))
                    };
                    self.report.push(found);
                    return None;
                }
                Some(text)
            }
            _ => {
                self.wrong_type(key, "a text", node);
                None
            }
        }
    }

    /// A shared text.
    pub(super) fn text(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<Arc<str>>> {
        self.str(key, node).map(|text| Spanned::new(text.into(), node.span))
    }

    /// One line that is not blank, without the blanks around it: names, targets, option texts.
    pub(super) fn name(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<Arc<str>>> {
        let text = self.str(key, node)?.trim();
        if text.is_empty() {
            self.find(Code::MissingValue, node.span, format!("`{}` is empty", shown(key)));
            return None;
        }
        if text.contains(char::is_control) {
            self.find(Code::WrongType, self.head(node), format!("`{}` takes a single line", shown(key)));
            return None;
        }
        Some(Spanned::new(text.into(), node.span))
    }

    /// A whole number of at least `least`.
    pub(super) fn integer(&mut self, key: &str, least: u64, most: u64, node: &YamlNode<'t>) -> Option<Spanned<u64>> {
        let number = match node.plain() {
            Plain::Int(number) => u64::try_from(number).ok(),
            Plain::UInt(number) => Some(number),
            Plain::TooLarge => None,
            _ => {
                self.wrong_type(key, "a whole number", node);
                return None;
            }
        };
        let fits = number.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            let message = format!("`{key}` takes a whole number from {least} to {most}");
            self.find(Code::WrongType, node.span, message);
        }
        fits.map(|number| Spanned::new(number, node.span))
    }

    /// A whole number from 1 on that counts something.
    pub(super) fn count(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<u32>> {
        let number = self.integer(key, 1, u64::from(u32::MAX), node)?;
        Some(number.map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// A duration; `zero` allows a zero one.
    pub(super) fn duration(&mut self, key: &str, zero: bool, node: &YamlNode<'t>) -> Option<Spanned<Duration>> {
        let Some(text) = Self::spelled(node).filter(|text| !text.is_empty()) else {
            self.wrong_type_with(key, "a duration", node, duration::FORM);
            return None;
        };
        let Some(length) = duration::parse(text) else {
            let found = self.finding(Code::WrongType, self.head(node), format!("`{}` is no duration", shown(text)));
            self.report.push(match duration::meant(text) {
                Some(meant) => found.help(format!("write `{meant}`")).fix(format!("write `{meant}`"), node.span, meant),
                None => found.help(duration::help(text)),
            });
            return None;
        };
        if length.is_zero() && !zero {
            self.find(Code::WrongType, node.span, format!("`{key}` must be longer than nothing"));
            return None;
        }
        Some(Spanned::new(length, node.span))
    }

    /// One word out of a few.
    pub(super) fn one_of<T: Copy>(&mut self, key: &str, words: &[(&'static str, T)], node: &YamlNode<'t>) -> Option<Spanned<T>> {
        let Some(text) = Self::spelled(node) else {
            self.wrong_type(key, &among(words), node);
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| word == text) {
            return Some(Spanned::new(*value, node.span));
        }
        let found =
            self.finding(Code::WrongType, self.head(node), format!("`{}` takes {}, not `{}`", shown(key), among(words), shown(text)));
        let meant = ELSEWHERE.iter().find(|(known, meant)| known == text && words.iter().any(|(word, _)| word == meant));
        let near = meant
            .map(|(_, name)| Near { name, is_only: true })
            .or_else(|| trellis_base::diagnostic::near(shown(text), words.iter().map(|(word, _)| *word)));
        self.report.push(match near {
            Some(near) if near.is_only => found.help(near.question()).fix(format!("write `{}`", near.name), node.span, near.name),
            _ if text == "number" && words.iter().any(|(word, _)| *word == "float") => {
                found.help("write `int` for whole numbers, `float` for any")
            }
            Some(near) => found.help(near.question()),
            None => found,
        });
        None
    }

    /// A path that is read.
    pub(super) fn path(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<KeyPath>> {
        let text = self.str(key, node)?;
        self.path_of(text, node.span)
    }

    /// The path that `text` spells.
    pub(super) fn path_of(&mut self, text: &str, span: Span) -> Option<Spanned<KeyPath>> {
        match KeyPath::parse(text) {
            Some(path) => Some(Spanned::new(path, span)),
            None => {
                let help = match text.strip_prefix(['.', '$']) {
                    Some(rest) => format!("write `{}`", rest.trim_start_matches('.')),
                    None => "names of letters, digits, `_` and `-`, joined by dots".to_owned(),
                };
                self.find_with(Code::WrongType, span, format!("`{}` is no path", shown(text)), help);
                None
            }
        }
    }

    /// A path that is written: no reserved name (language 4.1), no list index.
    pub(super) fn written_path(&mut self, text: &str, span: Span) -> Option<Spanned<KeyPath>> {
        let path = self.path_of(text, span)?;
        if self.is_reserved(path.value.root(), span) {
            return None;
        }
        if path.value.segments().iter().any(|segment| matches!(segment, Segment::Index(_))) {
            self.find_with(
                Code::WrongType,
                span,
                format!("`{text}` writes to a list index"),
                "`append` adds to a list; an item cannot be replaced",
            );
            return None;
        }
        Some(path)
    }

    /// `reserved-namespace` for names that only the engine writes.
    pub(super) fn is_reserved(&mut self, name: &str, span: Span) -> bool {
        let reserved = RESERVED.contains(&name);
        if reserved {
            self.find_with(
                Code::ReservedNamespace,
                span,
                format!("`{name}` belongs to the engine and cannot be written"),
                "choose another name",
            );
        }
        reserved
    }

    /// One name of the context, without dots; `instead` returns the advice for a path.
    pub(super) fn key(&mut self, text: &str, span: Span, instead: impl Fn(&KeyPath) -> String) -> Option<Spanned<Key>> {
        if is_name(text) {
            return Some(Spanned::new(text.into(), span));
        }
        const FORM: &str = "letters, digits, `_` and `-`, beginning with a letter or `_`";
        let (message, help) = match KeyPath::parse(text) {
            Some(path) => (format!("`{}` is a path, not the name of one key", shown(text)), instead(&path)),
            None => (format!("`{}` cannot name a key", shown(text)), format!("rename it: a name is {FORM}")),
        };
        self.find_with(Code::WrongType, span, message, help);
        None
    }

    /// The paths of a list.
    pub(super) fn paths(&mut self, key: &str, node: &YamlNode<'t>) -> Vec<Spanned<KeyPath>> {
        let items = self.list(key, "a list of names", node).unwrap_or_default();
        items.iter().filter_map(|item| self.path(key, item)).collect()
    }

    /// The condition of a transition or a part; one that is empty, as Go Trellis writes it, can be removed.
    pub(super) fn condition_of(&mut self, entry: &YamlEntry<'t>, entries: &[YamlEntry<'t>]) -> Option<Spanned<Condition>> {
        let before = self.report.diagnostics.len();
        let condition = self.condition(&entry.key, &entry.value);
        let is_empty = Self::spelled(&entry.value).is_some_and(|text| text.trim().is_empty());
        if is_empty && let Some(gone) = self.taken_out(entry, entries).filter(|_| entries.len() > 1) {
            let empty = self.report.diagnostics.split_off(before);
            let fixed = empty.into_iter().map(|found| found.help("remove it: what has none always holds").fix("remove the key", gone, ""));
            self.report.diagnostics.extend(fixed);
        }
        condition
    }

    /// A condition.
    pub(super) fn condition(&mut self, key: &str, node: &YamlNode<'t>) -> Option<Spanned<Condition>> {
        if let Plain::Bool(_) = node.plain() {
            let help = "leave `condition` out: a transition without one is always taken";
            self.wrong_type_with(key, "a condition", node, help);
            return None;
        }
        let YamlData::Scalar(text, style) = &node.data else {
            self.wrong_type_with(key, "a condition, which is a text", node, "put it in quotes");
            return None;
        };
        let quote = if *style == Style::Double { '\'' } else { '"' };
        let before = self.report.diagnostics.len();
        let map = node.map(self.text);
        forbid_secrets(text, &map, self.dialect, self.report);
        if self.report.diagnostics.len() > before {
            return None;
        }
        let condition = Condition::parse(text, &map, quote, self.report)?;
        Some(Spanned::new(condition, node.span))
    }
}

fn among<T>(words: &[(&'static str, T)]) -> String {
    let names: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
