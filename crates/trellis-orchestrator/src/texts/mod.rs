//! The fixed texts of the orchestrator, one file per language.
//!
//! **Invariant:** every language has every text, with the same placeholders.

use std::{collections::BTreeMap, sync::LazyLock};

/// A language of the fixed texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Korean.
    Korean,
}

type Texts = BTreeMap<String, String>;

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| read(include_str!("en.yaml")));
static KOREAN: LazyLock<Texts> = LazyLock::new(|| read(include_str!("ko.yaml")));

fn read(file: &str) -> Texts {
    serde_yaml::from_str(file).unwrap_or_else(|error| unreachable!("the texts are tested: {error}"))
}

impl Language {
    /// The language of a locale, `en` or `ko`.
    pub fn named(locale: &str) -> Option<Self> {
        match locale {
            "en" => Some(Self::English),
            "ko" => Some(Self::Korean),
            _ => None,
        }
    }

    /// The language that the variables of an environment ask for.
    pub fn of_environment() -> Self {
        let set = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
        let is_korean = set.is_some_and(|value| value.to_string_lossy().starts_with("ko"));
        if is_korean { Self::Korean } else { Self::English }
    }

    /// Its locale.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Korean => "ko",
        }
    }

    fn texts(self) -> &'static Texts {
        match self {
            Self::English => &ENGLISH,
            Self::Korean => &KOREAN,
        }
    }

    /// The text of this name.
    pub fn text(self, name: &str) -> &'static str {
        self.texts().get(name).map_or_else(|| unreachable!("there is no text `{name}`"), String::as_str)
    }

    /// The text of this name with values for its placeholders `{NAME}`. Placeholders within values are not replaced.
    pub fn fill(self, name: &str, values: &[(&str, &str)]) -> String {
        let (mut filled, mut rest) = (String::new(), self.text(name));
        while let Some((before, (value, after))) = next_place(rest, values) {
            filled += before;
            filled += value;
            rest = after;
        }
        filled + rest
    }

    /// The text for a code of an error, or the one for every other code.
    pub fn of_code(self, code: &str) -> String {
        let known = self.texts().get(&format!("code_{code}"));
        known.cloned().unwrap_or_else(|| self.fill("code_other", &[("code", code)]))
    }
}

/// Finds the first placeholder with a value; returns the text before it, the value, and the text after it.
fn next_place<'t, 'v>(text: &'t str, values: &[(&str, &'v str)]) -> Option<(&'t str, (&'v str, &'t str))> {
    let found = values.iter().filter_map(|(name, value)| {
        let place = format!("{{{name}}}");
        text.find(&place).map(|at| (at, at + place.len(), *value))
    });
    found.min_by_key(|(at, ..)| *at).map(|(at, end, value)| (&text[..at], (value, &text[end..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<&str> {
        let mut places: Vec<_> = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn every_language_has_every_text_with_the_same_places() {
        let names = |language: Language| language.texts().keys().collect::<Vec<_>>();
        assert_eq!(names(Language::English), names(Language::Korean));
        for (name, text) in Language::English.texts() {
            assert_eq!(places(text), places(Language::Korean.text(name)), "{name}");
        }
    }

    // Code is the same in every language, and so is what a model answers exactly.
    #[test]
    fn no_english_is_left_in_korean() {
        for name in Language::English.texts().keys() {
            let text = Language::Korean.text(name).replace("HEARTBEAT_OK", "");
            let said: String = text
                .split('`')
                .step_by(2)
                .flat_map(|part| part.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest)))
                .collect();
            assert!(!said.contains(|char: char| char.is_ascii_alphabetic()), "{name}: {said}");
        }
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let said = Language::English.fill("unknown_command", &[("name", "{list}"), ("list", "L")]);
        assert!(said.contains("{list}") && said.contains('L'), "{said}");
        assert_eq!(Language::English.of_code("no such"), Language::English.fill("code_other", &[("code", "no such")]));
    }
}
