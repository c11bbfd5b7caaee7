//! The patterns of secrets, which `patterns.yaml` holds as data: forms of keys, passwords in addresses and commands, and values that the text around them
//! declares secret.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, LazyLock, OnceLock},
};

use regex::{Captures, Regex};
use serde::Deserialize;

use super::{
    SecretKind,
    value::{Likeness, is_value, value_in},
};

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternFile {
    parts: BTreeMap<String, String>,
    announced: String,
    announces_password: String,
    spared_ends: Vec<String>,
    ordinary: Vec<String>,
    patterns: Vec<PatternLine>,
}

/// One pattern, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternLine {
    kind: SecretKind,
    is: String,
    #[serde(default)]
    by: Likeness,
    unless: Option<String>,
    near: Option<String>,
    finds: String,
    spares: String,
}

/// The patterns, compiled.
pub(super) struct Patterns {
    list: Vec<Pattern>,
    announced: LazyRegex,
    announces_password: LazyRegex,
    spared_ends: Vec<String>,
    /// Words that people say about secrets.
    pub(super) ordinary: Vec<String>,
}

/// A pattern.
pub(super) struct Pattern {
    kind: SecretKind,
    likeness: Likeness,
    regex: LazyRegex,
    unless: Option<LazyRegex>,
    /// Words without which it finds nothing. Patterns with the same words share them.
    near: Option<Arc<LazyRegex>>,
    /// A line in which it finds the value between ⟦ and ⟧.
    #[cfg_attr(not(test), expect(dead_code, reason = "an example for the tests"))]
    pub(super) finds: String,
    /// A similar line in which nothing is a secret.
    #[cfg_attr(not(test), expect(dead_code, reason = "an example for the tests"))]
    pub(super) spares: String,
}

/// A regular expression that is compiled when it is needed first: most texts have nothing near a secret.
struct LazyRegex(String, OnceLock<Regex>);

impl LazyRegex {
    fn get(&self) -> &Regex {
        self.1.get_or_init(|| Regex::new(&self.0).unwrap_or_else(|error| unreachable!("the patterns are tested: {error}")))
    }
}

/// Parts that are words; one of those that a pattern uses stands in each of its matches.
const WORDS: [&str; 7] = ["password", "han", "code", "codes", "user", "secret", "account"];

/// All patterns.
pub(super) static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let file = serde_yaml::from_str(include_str!("patterns.yaml"));
    Patterns::of(file.unwrap_or_else(|error| unreachable!("the patterns are tested: {error}")))
});

impl Patterns {
    fn of(file: PatternFile) -> Self {
        let regex = |text: &str| {
            let whole = file.parts.iter().fold(text.to_owned(), |text, (name, part)| text.replace(&format!("{{{name}}}"), part));
            LazyRegex(whole, OnceLock::new())
        };
        let mut words: BTreeMap<String, Arc<LazyRegex>> = BTreeMap::new();
        let mut near = |line: &PatternLine| {
            let used = WORDS.iter().map(|name| format!("{{{name}}}")).filter(|part| line.is.contains(part));
            let used = line.near.clone().or_else(|| used.reduce(|one, other| format!("{one}|{other}")))?;
            Some(Arc::clone(words.entry(used).or_insert_with_key(|words| Arc::new(regex(&format!("(?i){words}"))))))
        };
        let pattern = |line: &PatternLine| Pattern {
            kind: line.kind,
            likeness: line.by,
            regex: regex(&line.is),
            unless: line.unless.as_deref().map(regex),
            near: near(line),
            finds: line.finds.replace('¦', ""),
            spares: line.spares.replace('¦', ""),
        };
        Self {
            list: file.patterns.iter().map(pattern).collect(),
            announced: regex(&file.announced),
            announces_password: regex(&file.announces_password),
            spared_ends: file.spared_ends,
            ordinary: file.ordinary,
        }
    }

    /// The secrets of a text that a pattern finds.
    pub(super) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (SecretKind, Range<usize>)> + 't {
        let mut known: BTreeMap<*const LazyRegex, bool> = BTreeMap::new();
        let mut is_near = move |near: &Arc<LazyRegex>| *known.entry(Arc::as_ptr(near)).or_insert_with(|| near.get().is_match(text));
        self.list.iter().filter(move |pattern| pattern.near.as_ref().is_none_or(&mut is_near)).flat_map(move |pattern| pattern.find(text))
    }

    /// The patterns in the order of the file.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pattern> {
        self.list.iter()
    }

    /// The value of a message whose predecessor announced it.
    pub(super) fn announced_value(&self, text: &str, before: &str) -> Option<(SecretKind, Range<usize>)> {
        let announcement = self.announced.get().find(before.trim_end())?.as_str();
        let is_password = self.announces_password.get().is_match(announcement);
        let kind = if is_password { SecretKind::Password } else { SecretKind::Secret };
        // Several words are a value as they would be in one message.
        let start = announcement.len() + 1;
        let joined = format!("{announcement} {text}");
        let values = self.find(&joined).map(|(_, range)| range);
        let phrase = values.filter(|range| range.start >= start).find(|range| joined[range.clone()].contains(' '));
        if let Some(phrase) = phrase {
            return Some((kind, phrase.start - start..phrase.end - start));
        }
        let word = text.split_whitespace().next()?;
        let is_alone = text.trim() == word;
        let start = text.find(word)?;
        let range = value_in(text, start..start + word.len());
        let value = &text[range.clone()];
        let fits = if is_alone { value.len() >= 3 && !self.is_ordinary(value) } else { is_value(text, &range, kind, Likeness::Words) };
        fits.then_some((kind, range))
    }

    /// Returns whether a word is one that people say about secrets.
    pub(super) fn is_ordinary(&self, value: &str) -> bool {
        let word = value.trim_end_matches(['?', ':', '!']);
        super::value::is_placeholder(value) || self.ordinary.iter().any(|ordinary| ordinary.to_lowercase() == word.to_lowercase())
    }

    /// Returns whether a word names a password, alone or as a part of a name: `passwords`, `db_password`; not `pines`.
    pub(super) fn is_about_passwords(&self, word: &str) -> bool {
        let is_letter = |char: &char| char.is_ascii_alphabetic();
        self.announces_password.get().find_iter(word).any(|found| {
            let (before, after) = (&word[..found.start()], &word[found.end()..]);
            let after = after.strip_prefix("'s").or_else(|| after.strip_prefix('s')).unwrap_or(after);
            !before.chars().next_back().is_some_and(|char| is_letter(&char)) && !after.chars().next().is_some_and(|char| is_letter(&char))
        })
    }

    /// Returns whether the end of a name says that it holds no secret: `_limit`.
    fn spares_end(&self, more: &str) -> bool {
        more.split(['_', '-', '.', ' ']).any(|end| self.spared_ends.iter().any(|spared| spared.eq_ignore_ascii_case(end)))
    }
}

impl Pattern {
    /// The secrets of a text that have this form.
    pub(super) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (SecretKind, Range<usize>)> + 't {
        let mut at = 0;
        std::iter::from_fn(move || {
            // Where a match ends is found quickly, and its parts in so much of the text only.
            while let Some(found) = self.regex.get().find_at(text, at) {
                let captures = self.regex.get().captures_at(&text[..found.end()], found.start())?;
                let (whole, range) = (found.range(), value(&captures)?);
                let is_form = self.likeness == Likeness::Form;
                let inner = if is_form { unquote(text, range) } else { value_in(text, range) };
                let is_spared = ["more", "gap"].iter().filter_map(|name| captures.name(name)).any(|end| PATTERNS.spares_end(end.as_str()))
                    || self.unless.as_ref().is_some_and(|unless| unless.get().is_match(found.as_str()));
                let is_secret = !is_spared && (is_form || is_value(text, &inner, self.kind, self.likeness));
                // What was no value may be the word of the next.
                at = if is_secret || is_form { whole.end.max(at + 1) } else { inner.start.max(whole.start + 1) };
                while !text.is_char_boundary(at) {
                    at += 1;
                }
                if is_secret {
                    return Some((self.kind, inner));
                }
                if at > text.len() {
                    return None;
                }
            }
            at = text.len();
            None
        })
    }
}

/// The value of a match.
fn value(captures: &Captures<'_>) -> Option<Range<usize>> {
    let named = ["v", "v2", "v3"].into_iter().find_map(|name| captures.name(name));
    named.or_else(|| captures.get(0)).map(|found| found.range())
}

/// A range without the quotes around it.
fn unquote(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    let is_quoted = value.len() > 2 && ['"', '\''].iter().any(|quote| value.starts_with(*quote) && value.ends_with(*quote));
    if is_quoted { range.start + 1..range.end - 1 } else { range }
}
