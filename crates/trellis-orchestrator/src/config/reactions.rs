//! The requests that reactions to messages stand for (orchestrator 3.5).

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trellis_core::Mapping;

use super::reader::Reader;

/// The request of a reaction, the strongest first: several at once are acted on in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// All runs of the chat are interrupted.
    Stop,
    /// The call may run.
    Approve,
    /// The call may not run.
    Deny,
    /// The call stays held, and its chat is asked again later.
    Defer,
    /// The call may not run, and the session that asked for it is stopped.
    Cancel,
}

impl Sign {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Stop, Self::Approve, Self::Deny, Self::Defer, Self::Cancel];

    /// Its name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Defer => "defer",
            Self::Cancel => "cancel",
        }
    }

    /// The sign of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sign| sign.as_str() == name)
    }

    /// The reactions that ask for it if nothing else is set: emoji, and the names that Slack has for them.
    fn defaults(self) -> &'static [&'static str] {
        match self {
            Self::Stop => &["🛑", "octagonal_sign"],
            Self::Approve => &["👍", "✅", "+1", "thumbsup", "white_check_mark"],
            Self::Deny => &["👎", "❌", "-1", "thumbsdown", "x"],
            Self::Defer => &["⏳", "hourglass_flowing_sand"],
            Self::Cancel => &["🚫", "no_entry_sign"],
        }
    }
}

/// The reactions that stand for requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reactions(BTreeMap<String, Sign>);

impl Default for Reactions {
    fn default() -> Self {
        let all = Sign::ALL.into_iter().flat_map(|sign| sign.defaults().iter().map(move |name| (plain(name), sign)));
        Self(all.collect())
    }
}

impl Reactions {
    /// Returns the request of a reaction: an emoji in any tone of skin, or the name that a provider has for it.
    pub fn sign(&self, reaction: &str) -> Option<Sign> {
        self.0.get(&plain(reaction)).copied()
    }
}

/// A reaction without its skin tone and without the variation selector for colour.
fn plain(reaction: &str) -> String {
    let name = reaction.trim_matches(':').split("::").next().unwrap_or_default();
    let is_variation = |char: &char| matches!(char, '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    name.chars().filter(|char| !is_variation(char)).collect()
}

impl Reader<'_> {
    /// The reactions of the settings. Those that are set for a sign replace its defaults.
    pub(super) fn reactions(&mut self) -> Reactions {
        let names = Sign::ALL.map(Sign::as_str);
        let empty = Mapping::default();
        let set = self.mapping("reactions", &names).unwrap_or(&empty);
        let mut reactions = BTreeMap::new();
        for sign in Sign::ALL {
            let place = format!("reactions.{}", sign.as_str());
            let listed = self.texts(&place, set.get(sign.as_str()));
            let listed = if set.contains(sign.as_str()) { listed } else { sign.defaults().iter().map(|name| (*name).to_owned()).collect() };
            for name in listed {
                match reactions.insert(plain(&name), sign) {
                    Some(other) if other != sign => {
                        let message = format!("`{name}` asks for `{}` and for `{}`", sign.as_str(), other.as_str());
                        self.report(&place, message, "one reaction asks for one thing: remove it from one of the two");
                    }
                    _ => {}
                }
            }
        }
        Reactions(reactions)
    }
}

/// The schema of the section.
pub(super) fn reactions_schema() -> Json {
    let sign = |sign: Sign| {
        let list =
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 }, "uniqueItems": true, "default": sign.defaults() });
        (sign.as_str().to_owned(), list)
    };
    json!({
        "type": ["object", "null"],
        "description": "The reactions that decide about a call which waits, or stop a chat: emoji, or the names that Slack has for them",
        "additionalProperties": false,
        "properties": Sign::ALL.into_iter().map(sign).collect::<serde_json::Map<_, _>>()
    })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CONFIG_FILE, read},
        *,
    };

    // orchestrator 3.5: emoji in any tone of skin, and the names of Slack
    #[test]
    fn reactions_are_known_in_all_their_forms() {
        let reactions = Reactions::default();
        for (names, sign) in [
            (&["👍", "👍🏽", "✅", "✅\u{fe0f}", "+1", "+1::skin-tone-3", ":white_check_mark:"][..], Some(Sign::Approve)),
            (&["👎", "❌", "-1", "x"], Some(Sign::Deny)),
            (&["⏳", "hourglass_flowing_sand"], Some(Sign::Defer)),
            (&["🚫", "no_entry_sign"], Some(Sign::Cancel)),
            (&["🛑", "octagonal_sign"], Some(Sign::Stop)),
            (&["👀", "eyes", "", "tada", "++1"], None),
        ] {
            for name in names {
                assert_eq!(reactions.sign(name), sign, "{name}");
            }
        }
    }

    // orchestrator 3.5: they are set in the settings
    #[test]
    fn reactions_are_set_in_the_settings() {
        let (settings, found) = read(CONFIG_FILE, "reactions: { approve: [🚀, ship], stop: [] }\n");
        assert!(found.is_empty(), "{found:?}");
        let sign = |name| settings.reactions.sign(name);
        assert_eq!(
            [sign("🚀"), sign("ship"), sign("👍"), sign("🛑"), sign("x")],
            [Some(Sign::Approve), Some(Sign::Approve), None, None, Some(Sign::Deny)]
        );
        let (_, found) = read(CONFIG_FILE, "reactions: { approve: [x], agree: [], cancel: 🚫 }\n");
        let found: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
        assert_eq!(
            found,
            ["`x` asks for `deny` and for `approve`", "there is no key `reactions.agree`", "`reactions.cancel` takes a list, not a text"]
        );
    }
}
