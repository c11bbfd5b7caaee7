//! Decisions that conversations came to: `runtime/decisions/index.json` (orchestrator 5.5, 9).
//!
//! **Invariant:** of one key in one scope at most one decision counts, the newest; those before it stay in the file and name it.

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
    workspace::{ObjectFileError, read_object, write_object},
};

/// The newest form of the file.
const VERSION: u32 = 1;
/// Percent of the words of two decisions that are the same where both say the same.
const SIMILAR: usize = 90;

/// Where a decision counts.
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
pub struct KeptDecision {
    /// Its id, by the call that made it.
    pub id: String,
    /// The matter.
    pub key: String,
    /// The outcome.
    pub value: String,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where it counts.
    pub scope: DecisionScope,
    /// Its chat, `provider:chat`, where it counts only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The hash of key and value, normalised.
    pub fingerprint: String,
    /// How often it was made.
    pub count: u64,
    /// When it was made first, in milliseconds since 1970.
    pub first_at: i64,
    /// When it was made last, in milliseconds since 1970.
    pub last_at: i64,
    /// The call that made it last: made again after a crash, it counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// The id of the decision that counts instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// A decision to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDecision {
    /// The matter.
    pub key: String,
    /// The outcome.
    pub value: String,
    /// The reason.
    pub why: Option<String>,
    /// Where it counts.
    pub scope: DecisionScope,
}

#[derive(Default, Serialize, Deserialize)]
struct DecisionFile {
    version: u32,
    decisions: Vec<KeptDecision>,
}

/// The decisions of a workspace. Clones share them.
#[derive(Clone, Debug)]
pub struct Decisions {
    file: PathBuf,
    kept: Arc<Mutex<Vec<KeptDecision>>>,
}

impl Decisions {
    /// Opens the decisions in a file. A file that cannot be understood is moved aside, as the warning says.
    ///
    /// # Errors
    /// The file cannot be read, or a newer program wrote it.
    pub fn open(file: &Path) -> Result<(Self, Option<String>), ObjectFileError> {
        let (contents, warning) = read_object::<DecisionFile>(file, VERSION)?;
        Ok((Self { file: file.to_owned(), kept: Arc::new(Mutex::new(contents.decisions)) }, warning))
    }

    /// Keeps a decision that a call made in a chat, and returns it as it counts now. The same call makes it once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&self, new: NewDecision, place: &ChatPlace, call: &str, now: Timestamp) -> Result<KeptDecision, ObjectFileError> {
        let NewDecision { key, value, why, scope } = new;
        let (call, at) = (&sha256(call)[..16], now.as_millisecond());
        let chat = (scope == DecisionScope::Chat).then(|| chat_of(place));
        let fingerprint = sha256(&format!("{}\0{}", normalised(&key), normalised(&value)));
        self.change(|kept| {
            if let Some(known) = kept.iter().find(|known| known.last_call.as_deref() == Some(call)) {
                return known.clone();
            }
            let is_same = |known: &&mut KeptDecision| known.counts_in(scope, chat.as_deref()) && known.fingerprint == fingerprint;
            if let Some(known) = kept.iter_mut().find(is_same) {
                (known.count, known.last_at, known.last_call) = (known.count + 1, at, Some(call.to_owned()));
                known.why = why.or_else(|| known.why.take());
                return known.clone();
            }
            let id = call.to_owned();
            let (count, last_call) = (1, Some(id.clone()));
            let mut made = KeptDecision {
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
            kept.iter_mut().filter(|known| known.counts_in(scope, chat.as_deref())).for_each(|known| made.supersede(known));
            kept.push(made.clone());
            made
        })
    }

    /// Merges what says the same, and lets the newest of a key count: also where somebody wrote into the file while nothing ran. Whether that changed it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tidy(&self) -> Result<bool, ObjectFileError> {
        let tidied = |kept: &mut Vec<KeptDecision>| {
            let before = kept.clone();
            kept.sort_by_key(|decision| decision.last_at);
            for at in 1..kept.len() {
                let (earlier, rest) = kept.split_at_mut(at);
                let Some(newer) = rest.first_mut().filter(|newer| newer.superseded_by.is_none()) else { continue };
                let (scope, chat) = (newer.scope, newer.chat.clone());
                earlier.iter_mut().filter(|known| known.counts_in(scope, chat.as_deref())).for_each(|known| newer.supersede(known));
            }
            *kept != before
        };
        if !tidied(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()) {
            return Ok(false);
        }
        self.change(tidied)
    }

    /// The newest decisions that count in a chat, at most so many, oldest first.
    pub fn newest(&self, place: &ChatPlace, count: usize) -> Vec<KeptDecision> {
        let chat = chat_of(place);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |known: &&KeptDecision| known.superseded_by.is_none() && known.chat.as_ref().is_none_or(|of| *of == chat);
        let mut newest: Vec<KeptDecision> = kept.iter().filter(counts).cloned().collect();
        newest.sort_by_key(|decision| decision.last_at);
        newest.drain(..newest.len().saturating_sub(count));
        newest
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<KeptDecision>) -> T) -> Result<T, ObjectFileError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = kept.clone();
        let done = change(&mut changed);
        if changed != *kept {
            let contents = DecisionFile { version: VERSION, decisions: changed };
            write_object(&self.file, &contents)?;
            *kept = contents.decisions;
        }
        Ok(done)
    }
}

impl KeptDecision {
    /// Whether it counts, in this scope.
    fn counts_in(&self, scope: DecisionScope, chat: Option<&str>) -> bool {
        self.superseded_by.is_none() && self.scope == scope && self.chat.as_deref() == chat
    }

    /// Takes the place of an older one that is about the same matter or says the same; one that says the same is counted on.
    fn supersede(&mut self, older: &mut Self) {
        let is_merged = older.fingerprint == self.fingerprint || self.is_similar(older);
        if is_merged {
            self.count += older.count;
            self.first_at = self.first_at.min(older.first_at);
        }
        if is_merged || normalised(&self.key) == normalised(&older.key) {
            older.superseded_by = Some(self.id.clone());
        }
    }

    /// Whether most words of both are the same, by the index of Jaccard.
    fn is_similar(&self, other: &Self) -> bool {
        let words = |decision: &Self| -> BTreeSet<String> {
            normalised(&format!("{} {}", decision.key, decision.value)).split(' ').map(str::to_owned).collect()
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

/// A text as it is compared: letters of one form, in lower case, words with one blank between them.
fn normalised(text: &str) -> String {
    let folded = text.nfkc().collect::<String>().to_lowercase();
    let words: Vec<&str> = folded.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
