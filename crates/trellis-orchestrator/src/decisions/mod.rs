//! Decisions that were made in conversations: `runtime/decisions/index.json` (orchestrator 5.5, 9).
//!
//! **Invariant:** for one key in one scope only the newest decision is in force; older ones stay in the file and name it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    message::ChatPlace,
    seal::sha256,
    workspace::{MaybeRead, ObjectFileError, copy_corrupt, read_object, write_object},
};

/// The newest form of the file.
const DECISIONS_VERSION: u32 = 1;
/// Percent of equal words from which on two decisions say the same.
const SIMILAR: usize = 90;

/// The scope of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionScope {
    /// In its chat.
    Chat,
    /// In all chats.
    Global,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredDecision {
    /// Its id, by the call that made it.
    pub id: String,
    /// The matter.
    pub key: String,
    /// The outcome.
    pub value: String,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its scope.
    pub scope: DecisionScope,
    /// Its chat, `provider:chat`, if its scope is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The hash of key and value, normalised.
    pub fingerprint: String,
    /// The number of times that it was made.
    pub count: u64,
    /// The time at which it was made first, in milliseconds since 1970.
    pub first_at: i64,
    /// The time at which it was made last, in milliseconds since 1970.
    pub last_at: i64,
    /// The call that made it last: repeated after a crash, it counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// The id of the decision that replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// A new decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDecision {
    /// The matter.
    pub key: String,
    /// The outcome.
    pub value: String,
    /// The reason.
    pub why: Option<String>,
    /// Its scope.
    pub scope: DecisionScope,
}

#[derive(Serialize)]
struct DecisionFile {
    version: u32,
    decisions: Vec<StoredDecision>,
}

/// The contents of the file as they are read.
#[derive(Default, Deserialize)]
struct ReadDecisions {
    decisions: Vec<MaybeRead<StoredDecision>>,
}

/// The decisions of a workspace. Clones share them.
#[derive(Clone, Debug)]
pub struct Decisions {
    file: PathBuf,
    decisions: Arc<Mutex<Vec<StoredDecision>>>,
}

impl Decisions {
    /// Opens the decisions in a file. A file that cannot be understood is moved aside, as the warning says.
    ///
    /// # Errors
    /// The file cannot be read, or a newer program wrote it.
    pub fn open(file: &Path) -> Result<(Self, Option<String>), ObjectFileError> {
        let (contents, mut warning) = read_object::<ReadDecisions>(file, DECISIONS_VERSION)?;
        let (decisions, lost) = MaybeRead::part(contents.decisions);
        if lost > 0 {
            warning = Some(copy_corrupt(file, lost)?);
        }
        Ok((Self { file: file.to_owned(), decisions: Arc::new(Mutex::new(decisions)) }, warning))
    }

    /// Stores a decision that a call made in a chat, and returns it as it is in force now. The same call makes it once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&self, new: NewDecision, place: &ChatPlace, call: &str, now: Timestamp) -> Result<StoredDecision, ObjectFileError> {
        let NewDecision { key, value, why, scope } = new;
        let (call, at) = (&sha256(call)[..16], now.as_millisecond());
        let chat = (scope == DecisionScope::Chat).then(|| chat_of(place));
        let fingerprint = sha256(&format!("{}\0{}", normalise(&key), normalise(&value)));
        self.change(|decisions| {
            if let Some(known) = decisions.iter().find(|known| known.last_call.as_deref() == Some(call)) {
                return known.clone();
            }
            let is_same = |known: &&mut StoredDecision| known.counts_in(scope, chat.as_deref()) && known.fingerprint == fingerprint;
            if let Some(known) = decisions.iter_mut().find(is_same) {
                (known.count, known.last_at, known.last_call) = (known.count + 1, at, Some(call.to_owned()));
                known.why = why.or_else(|| known.why.take());
                return known.clone();
            }
            let id = call.to_owned();
            let (count, last_call) = (1, Some(id.clone()));
            let mut made = StoredDecision {
                id,
                key,
                value,
                why,
                scope,
                chat,
                fingerprint,
                count,
                first_at: at,
                last_at: at,
                last_call,
                superseded_by: None,
            };
            let chat = made.chat.clone();
            decisions.iter_mut().filter(|known| known.counts_in(scope, chat.as_deref())).for_each(|known| made.supersede(known));
            decisions.push(made.clone());
            made
        })
    }

    /// Merges equal decisions and lets the newest of a key win, also after edits of the file while nothing ran. Returns whether that changed the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tidy(&self) -> Result<bool, ObjectFileError> {
        let tidied = |decisions: &mut Vec<StoredDecision>| {
            let before = decisions.clone();
            decisions.sort_by_key(|decision| decision.last_at);
            for at in 1..decisions.len() {
                let (earlier, rest) = decisions.split_at_mut(at);
                let Some(newer) = rest.first_mut().filter(|newer| newer.superseded_by.is_none()) else { continue };
                let (scope, chat) = (newer.scope, newer.chat.clone());
                earlier.iter_mut().filter(|known| known.counts_in(scope, chat.as_deref())).for_each(|known| newer.supersede(known));
            }
            *decisions != before
        };
        if !tidied(&mut self.decisions.lock().unwrap_or_else(PoisonError::into_inner).clone()) {
            return Ok(false);
        }
        self.change(tidied)
    }

    /// The number of decisions in force, over all chats.
    pub fn count(&self) -> usize {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.iter().filter(|known| known.superseded_by.is_none()).count()
    }

    /// The newest decisions in force in a chat, at most `count`, oldest first.
    pub fn newest(&self, place: &ChatPlace, count: usize) -> Vec<StoredDecision> {
        let chat = chat_of(place);
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |known: &&StoredDecision| known.superseded_by.is_none() && known.chat.as_ref().is_none_or(|of| *of == chat);
        let mut newest: Vec<StoredDecision> = decisions.iter().filter(counts).cloned().collect();
        newest.sort_by_key(|decision| decision.last_at);
        newest.drain(..newest.len().saturating_sub(count));
        newest
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<StoredDecision>) -> T) -> Result<T, ObjectFileError> {
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = decisions.clone();
        let done = change(&mut changed);
        if changed != *decisions {
            let contents = DecisionFile { version: DECISIONS_VERSION, decisions: changed };
            write_object(&self.file, &contents)?;
            *decisions = contents.decisions;
        }
        Ok(done)
    }
}

impl StoredDecision {
    /// Returns whether it is in force, in this scope.
    fn counts_in(&self, scope: DecisionScope, chat: Option<&str>) -> bool {
        self.superseded_by.is_none() && self.scope == scope && self.chat.as_deref() == chat
    }

    /// Replaces an older one on the same matter or with the same words; the count of one with the same words is added.
    fn supersede(&mut self, older: &mut Self) {
        let is_merged = older.fingerprint == self.fingerprint || self.is_similar(older);
        if is_merged {
            self.count += older.count;
            self.first_at = self.first_at.min(older.first_at);
        }
        if is_merged || normalise(&self.key) == normalise(&older.key) {
            older.superseded_by = Some(self.id.clone());
        }
    }

    /// Returns whether most words of both are the same, by the Jaccard index.
    fn is_similar(&self, other: &Self) -> bool {
        let words = |decision: &Self| -> BTreeSet<String> {
            normalise(&format!("{} {}", decision.key, decision.value)).split(' ').map(str::to_owned).collect()
        };
        let (one, two) = (words(self), words(other));
        one.intersection(&two).count() * 100 >= one.union(&two).count() * SIMILAR
    }

    /// The decision in one line.
    pub fn line(&self) -> String {
        let why = self.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let line = format!("- {}: {}{why}", self.key, self.value);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn chat_of(place: &ChatPlace) -> String {
    format!("{}:{}", place.provider, place.chat)
}

/// A text as it is compared: letters of one form, in lower case, words with one blank between them and without the marks that end a sentence. All other
/// signs count: `C++` is not `C`.
fn normalise(text: &str) -> String {
    let folded = text.nfkc().collect::<String>().to_lowercase();
    let bare = |word| match str::trim_end_matches(word, ['.', ',', ';', ':', '!', '?']) {
        "" => word,
        bare => bare,
    };
    let words: Vec<&str> = folded.split_whitespace().map(bare).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
