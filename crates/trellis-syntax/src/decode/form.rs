//! The keys that one kind of mapping knows, and reading a mapping by them: other spellings, unknown keys, keys without a value.
//!
//! Uses of these tables: decoding, the order in which the formatter puts keys, and the JSON Schemas for editors.

use super::Decoder;
use crate::{
    removal::removal,
    text::shown,
    tree::{YamlData, YamlEntry},
};
use trellis_base::{diagnostic::Code, span::Span};

/// The keys that a mapping may have.
pub(crate) struct Form {
    /// Its name, for messages: "a call".
    pub(crate) name: &'static str,
    /// Its keys, in the order in which a formatted file has them.
    pub(crate) keys: &'static [&'static str],
    /// Other spellings that are accepted, and the key each means.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
    /// Keys that authors know from elsewhere: the key that replaces it, if any, and the advice.
    pub(crate) elsewhere: &'static [(&'static str, Option<&'static str>, &'static str)],
    /// The remedy for any other key, where most mean one thing.
    pub(crate) otherwise: Option<&'static str>,
    /// Keys whose values have forms themselves.
    pub(crate) inside: &'static [(&'static str, Inside)],
    /// The form of the items, where a list may take the mapping's place.
    pub(crate) items: Option<&'static Form>,
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Form").field(&self.name).finish()
    }
}

/// The places of forms in the value of a key.
#[derive(Clone, Copy)]
pub(crate) enum Inside {
    /// The value is a mapping of this form.
    One(&'static Form),
    /// The items of a list, or the values of a mapping, are.
    Each(&'static Form),
}

impl Inside {
    /// The form.
    #[cfg(test)]
    pub(crate) fn form(self) -> &'static Form {
        match self {
            Self::One(form) | Self::Each(form) => form,
        }
    }

    /// Returns the forms in a named value.
    pub(crate) fn of_named(self) -> Option<Self> {
        match self {
            Self::Each(form) => Some(Self::One(form)),
            Self::One(_) => None,
        }
    }

    /// Returns the forms in an item.
    pub(crate) fn of_item(self) -> Option<Self> {
        match self {
            Self::Each(form) => Some(Self::One(form)),
            Self::One(form) => form.items.map(Self::One),
        }
    }
}

impl Form {
    /// A form of these keys.
    pub(crate) const fn new(name: &'static str, keys: &'static [&'static str]) -> Self {
        Self { name, keys, aliases: &[], elsewhere: &[], otherwise: None, inside: &[], items: None }
    }

    /// The key that `written` means.
    pub(crate) fn canonical(&self, written: &str) -> Option<&'static str> {
        let known = self.keys.iter().find(|key| **key == written).copied();
        known.or_else(|| self.aliases.iter().find(|(alias, _)| *alias == written).map(|(_, key)| *key))
    }

    /// Returns the name of `written` in a formatted mapping of these `keys`: its successor replaces an old name, unless both are present.
    pub(crate) fn meant<'k>(&self, written: &'k str, keys: impl Iterator<Item = &'k str> + Clone) -> &'k str {
        if self.keys.contains(&written) {
            return written;
        }
        let successor = |name: &str| {
            let elsewhere = self.elsewhere.iter().find(|(key, ..)| *key == name).and_then(|(_, successor, _)| *successor);
            self.canonical(name).or(elsewhere)
        };
        let Some(meant) = successor(written) else { return written };
        let alone = keys.filter(|key| successor(key) == Some(meant)).count() == 1;
        if alone { meant } else { written }
    }

    /// Returns the rank of each of these keys, in ascending order; an unknown key stays after the key before it.
    pub(crate) fn ranks<'k>(&self, names: impl Iterator<Item = &'k str>) -> Vec<usize> {
        let rank = |name: &str| self.keys.iter().position(|key| *key == name);
        let ranks = names.scan(0, |last, name| {
            *last = rank(name).map_or(*last, |rank| rank + 1);
            Some(*last)
        });
        ranks.collect()
    }

    /// Returns whether a mapping of this form may have the key `written`, or once could.
    pub(crate) fn knows(&self, written: &str) -> bool {
        written.starts_with("x-") || self.canonical(written).is_some() || self.elsewhere.iter().any(|(key, ..)| *key == written)
    }

    /// Returns the forms in the value of `key`.
    pub(crate) fn of_value(&self, key: &str) -> Option<Inside> {
        self.inside.iter().find(|(name, _)| *name == key).map(|(_, inside)| *inside)
    }

    fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().copied().chain(self.aliases.iter().map(|(alias, _)| *alias))
    }
}

/// The keys that one mapping has, by their canonical name, in file order.
#[derive(Debug, Default)]
pub(super) struct SeenKeys {
    pub(super) keys: Vec<(&'static str, Span)>,
    /// True if there was a key that could mean anything: then no key can be reported as missing.
    pub(super) unknown: bool,
}

impl SeenKeys {
    /// Returns the place of `key`, with a value or without.
    pub(super) fn get(&self, key: &str) -> Option<Span> {
        self.keys.iter().find(|(seen, _)| *seen == key).map(|(_, span)| *span)
    }

    /// Returns whether `key` is present, or a slip that was taken for it.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns whether none of `keys` is present, nor a key that might mean one of them.
    pub(super) fn lacks(&self, keys: &[&str]) -> bool {
        !self.unknown && !keys.iter().any(|key| self.has(key))
    }
}

impl<'t> Decoder<'t, '_> {
    /// Hands each entry of a mapping to `take` under its canonical key; unknown keys, keys written twice in two spellings and keys without
    /// a value are reported and left out. An unknown key that can only mean one other is taken for it, silently.
    pub(super) fn each<'n>(
        &mut self,
        entries: &'n [YamlEntry<'t>],
        form: &Form,
        mut take: impl FnMut(&mut Self, &'static str, &'n YamlEntry<'t>),
    ) -> SeenKeys {
        let mut seen = SeenKeys { keys: Vec::with_capacity(entries.len()), unknown: false };
        let mut left = entries;
        while let Some((entry, after)) = left.split_first() {
            left = after;
            let Some(key) = form.canonical(&entry.key) else {
                if entry.key.starts_with("x-") {
                    continue;
                }
                match self.unknown_key(entry, entries, form, &seen) {
                    Some(meant) if is_free(meant, entries, form, &seen) => {
                        seen.keys.push((meant, entry.span));
                        self.silently(|decoder| take(decoder, meant, entry));
                    }
                    meant => seen.unknown |= meant.is_none(),
                }
                continue;
            };
            if let Some(first) = seen.get(key) {
                self.said_twice(entry, first, entries);
                continue;
            }
            seen.keys.push((key, entry.span));
            if entry.value.is_null() {
                let message = format!("`{}` has no value", shown(&entry.key));
                let is_foreign = |other: &&YamlEntry<'t>| !form.knows(&other.key) && self.near(&other.key, form.spellings()).is_none();
                let foreign = after.iter().take_while(is_foreign).count();
                let help = match after.first().filter(|_| foreign > 0) {
                    Some(first) => format!("indent what belongs to it, from `{}` on", shown(&first.key)),
                    None => "give it one, or remove the key".to_owned(),
                };
                self.find_with(Code::MissingValue, entry.span, message, help);
                left = &after[foreign..];
                seen.unknown |= foreign > 0;
            } else if !matches!(entry.value.data, YamlData::Reported) {
                take(self, key, entry);
            }
        }
        seen
    }

    fn said_twice(&mut self, entry: &YamlEntry<'t>, first: Span, entries: &[YamlEntry<'t>]) {
        let message = format!("`{}` says the same as `{}`", entry.key, &self.text[first.range()]);
        let found = self.finding(Code::DuplicateKey, entry.span, message);
        let path = self.report.path.clone();
        let found = found.label(&path, first, "first here").help("keep one of them");
        let written = |entry: &YamlEntry<'t>| &self.text[entry.value.span.range()];
        let is_same = entries.iter().any(|other| other.span == first && written(other) == written(entry));
        let second = is_same.then(|| removal(self.text, entry.span.to(entry.value.span))).flatten();
        self.report.push(second.into_iter().fold(found, |found, second| found.fix("remove the second, which says the same", second, "")));
    }

    /// Reports an unknown key and returns the one it must mean, if there is one.
    fn unknown_key(&mut self, entry: &YamlEntry<'t>, entries: &[YamlEntry<'t>], form: &Form, seen: &SeenKeys) -> Option<&'static str> {
        let is_free = |key: &str| is_free(key, entries, form, seen);
        let written = &*entry.key;
        let message = format!("`{}` is no key of {}", shown(written), form.name);
        let found = self.finding(Code::UnknownKey, entry.span, message);
        if let Some((_, successor, help)) = form.elsewhere.iter().find(|(key, ..)| *key == written) {
            let found = found.help(*help);
            self.report.push(match successor {
                Some(key) if is_free(key) => found.fix(format!("rename to `{key}`"), entry.span, *key),
                _ => found,
            });
            return *successor;
        }
        if written == "<<" {
            self.report.push(found.help("merge keys are not part of YAML 1.2: write the keys out"));
            return None;
        }
        let elsewhere = || form.elsewhere.iter().map(|(key, ..)| *key);
        let slip = self.near(written, form.spellings().chain(elsewhere())).filter(|near| near.is_only);
        if let Some((near, (.., help))) = slip.and_then(|near| Some((near, form.elsewhere.iter().find(|(key, ..)| *key == near.name)?))) {
            self.report.push(found.help(format!("{} {help}", near.question())));
            return None;
        }
        let near = self.near(written, form.spellings());
        let Some(near) = near else {
            let known = || format!("there are `{}`", form.keys.join("`, `"));
            let help = form.otherwise.map(str::to_owned).or_else(|| (form.keys.len() <= 12).then(known));
            self.report.push(found.help_maybe(help));
            return None;
        };
        self.report.push(found.help(near.question()).rename_if(near.is_only && is_free(near.name), entry.span, near.name));
        form.canonical(near.name).filter(|_| near.is_only)
    }
}

/// Returns whether no entry has `key`, and no slip was taken for it: a second key of the same meaning would only be the next mistake.
fn is_free(key: &str, entries: &[YamlEntry<'_>], form: &Form, seen: &SeenKeys) -> bool {
    let Some(key) = form.canonical(key) else { return true };
    !seen.has(key) && !entries.iter().any(|other| form.canonical(&other.key) == Some(key))
}
