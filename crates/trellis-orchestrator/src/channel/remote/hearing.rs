//! Decides which senders are allowed and which messages address the agent (orchestrator 3.1).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Time for which a thread addresses the agent after a message to it, in milliseconds: one day.
const ACTIVE: u64 = 24 * 3600 * 1000;
/// Such threads at most.
const THREADS: usize = 50;

/// Decides which messages the agent gets.
#[derive(Clone, Debug)]
pub(super) struct Hearing {
    allow: BTreeSet<String>,
    aliases: Vec<String>,
    auto_reply: bool,
}

impl Hearing {
    pub(super) fn new(allow: &[String], aliases: &[String], auto_reply: bool) -> Self {
        Self { allow: allow.iter().cloned().collect(), aliases: aliases.to_vec(), auto_reply }
    }

    /// Returns whether a sender is allowed in a chat.
    pub(super) fn allows(&self, chat: &str, user: &str) -> bool {
        ["*", chat, user].iter().any(|id| self.allow.contains(*id))
    }

    /// Returns the places at which a text calls the agent, by one of these mentions or by an alias, with the names.
    fn calls<'n>(&'n self, text: &str, mentions: &[&'n str]) -> Vec<(usize, &'n str)> {
        let names = mentions.iter().copied().chain(self.aliases.iter().map(String::as_str));
        let mut calls: Vec<(usize, &str)> = names.filter_map(|name| Some((find(text, name)?, name))).collect();
        calls.sort_by_key(|(at, name)| (*at, name.len()));
        calls
    }

    /// The names by which a text calls the agent, in their order.
    pub(super) fn names(&self, text: &str, mentions: &[&str]) -> Vec<String> {
        self.calls(text, mentions).into_iter().map(|(_, name)| name.to_owned()).collect()
    }

    /// A text as the agent gets it, if it is for the agent: because `is_direct`, or because it calls the agent by a mention or an alias. The call
    /// itself is left out at the beginning and at the end.
    pub(super) fn text_for_agent(&self, text: &str, mentions: &[&str], is_direct: bool) -> Option<String> {
        match self.calls(text, mentions).first().map(|(at, name)| (*at, name.len())) {
            Some((at, length)) => {
                let (before, after) = (text[..at].trim(), text[at + length..].trim_start_matches([',', ':', ' ']).trim());
                Some(match (before.is_empty(), after.is_empty()) {
                    (true, _) => after.to_owned(),
                    (_, true) => before.to_owned(),
                    (false, false) => text.trim().to_owned(),
                })
            }
            None => (is_direct || self.auto_reply).then(|| text.trim().to_owned()),
        }
    }
}

/// Finds a name in a text as a whole word, ignoring case.
fn find(text: &str, name: &str) -> Option<usize> {
    let is_inner = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    let is_open = name.ends_with(|char: char| char.is_alphanumeric());
    let is_word = |at: usize| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        !(is_inner(before) || is_open && is_inner(after))
    };
    let is_here = |at: usize| text.get(at..at + name.len()).is_some_and(|here| here.eq_ignore_ascii_case(name));
    let mut places = text.char_indices().map(|(at, _)| at).filter(|_| !name.is_empty());
    places.find(|at| is_here(*at) && is_word(*at))
}

/// The threads that address the agent, as stored in a cursor: the last message that was read of each, and its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ActiveThreads(BTreeMap<String, ActiveThread>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ActiveThread {
    seen: String,
    at: u64,
}

impl ActiveThreads {
    /// Notes a message in a thread.
    pub(super) fn note(&mut self, thread: &str, seen: &str, at: u64) {
        let known = self.0.entry(thread.to_owned()).or_default();
        if known.at <= at {
            *known = ActiveThread { seen: seen.to_owned(), at };
        }
    }

    /// Forgets the oldest threads, and those that are silent for long.
    pub(super) fn forget(&mut self, now: u64) {
        self.0.retain(|_, thread| now.saturating_sub(thread.at) < ACTIVE);
        while self.0.len() > THREADS {
            let oldest = self.0.iter().min_by_key(|(_, thread)| thread.at).map(|(name, _)| name.clone());
            oldest.map(|oldest| self.0.remove(&oldest));
        }
    }

    pub(super) fn has(&self, thread: &str) -> bool {
        self.0.contains_key(thread)
    }

    pub(super) fn remove(&mut self, thread: &str) {
        self.0.remove(thread);
    }

    /// The threads, with the last message that was read of each.
    pub(super) fn all(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, thread)| (name.clone(), thread.seen.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 3.1: `allow` names chats and people
    #[test]
    fn who_is_not_allowed_is_not_heard() {
        let hearing = |allow: &[&str]| Hearing::new(&allow.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), &[], false);
        assert!(hearing(&["*"]).allows("C1", "U1") && hearing(&["C1"]).allows("C1", "U9") && hearing(&["U1"]).allows("C9", "U1"));
        assert!(!hearing(&["C1", "U1"]).allows("C2", "U2") && !hearing(&[]).allows("", "U1"));
    }

    // orchestrator 3.1: a mention, an alias; 3.7: a command after a mention
    #[test]
    fn the_agent_is_called_by_its_names() {
        let hearing = Hearing::new(&[], &["@agent".to_owned(), "도우미".to_owned()], false);
        let addressed = |text: &str| hearing.text_for_agent(text, &["<@U1>", "@my_bot"], false);
        for (text, expected) in [
            ("<@U1> hello", Some("hello")),
            ("<@U1>: /help", Some("/help")),
            ("hello @My_Bot", Some("hello")),
            ("ask <@U1> about it", Some("ask <@U1> about it")),
            ("@agent, hi", Some("hi")),
            ("도우미 안녕", Some("안녕")),
            ("hello", None),
            ("@my_bots hello", None),
            ("me@agent hello", None),
            ("@agents", None),
            ("<@U12> hello", None),
        ] {
            assert_eq!(addressed(text).as_deref(), expected, "{text}");
        }
        assert_eq!(hearing.text_for_agent(" hello ", &[], true).as_deref(), Some("hello"));
        assert_eq!(Hearing::new(&[], &[], true).text_for_agent("hello", &[], false).as_deref(), Some("hello"));
    }

    #[test]
    fn silent_threads_are_forgotten() {
        let mut threads = ActiveThreads::default();
        (0..60).for_each(|number| threads.note(&number.to_string(), "1", 1000 + number));
        threads.forget(2000);
        assert!(threads.all().len() == THREADS && !threads.has("9") && threads.has("10"));
        threads.note("59", "2", 5000);
        threads.note("59", "1", 1);
        threads.forget(4000 + ACTIVE);
        assert_eq!(threads.all(), [("59".to_owned(), "2".to_owned())]);
    }
}
