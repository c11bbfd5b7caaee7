//! Sealing: moves secrets that people paste into a chat to the vault before anything else reads them (orchestrator 3.3).
//!
//! ```text
//! text ──find──▶ [Finding { kind, range }] ──Sealer──▶ "my key is {{secret:inbound.terminal.c….token.v…}}"
//! ```
//!
//! A value that the vault has under a name of its own, or that was found in the chat before, is replaced first, whatever it looks like.
//!
//! **Invariant:** a sealed text has no byte of a secret that was found; if the vault fails, `[redacted:kind]` takes its place.

mod find;
mod numbers;
mod patterns;
mod value;
mod vault_values;

use std::{fmt, ops::Range, sync::Arc};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use trellis_host::secrets::Vault;

pub use self::find::{Finding, find};
pub(crate) use self::vault_values::VaultValues;

/// The beginning of the keys of secrets that were found in chats.
const FOUND: &str = "inbound.";

/// Bytes of the shortest known value that is looked for: a shorter one is also a word.
const MIN_NAMED_LENGTH: usize = 8;

/// The kind of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretKind {
    /// A word that opens something.
    Password,
    /// A key of a service, by its form.
    Token,
    /// The number of a payment card.
    Card,
    /// The number of a bank account.
    Account,
    /// A private key.
    PrivateKey,
    /// Another value that the text declares secret.
    Secret,
}

impl SecretKind {
    /// Its name in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Token => "token",
            Self::Card => "card",
            Self::Account => "account",
            Self::PrivateKey => "private_key",
            Self::Secret => "secret",
        }
    }

    /// Returns whether values of this kind can be guessed from a bare hash: all that no machine made, and codes of a few digits.
    fn is_guessable(self) -> bool {
        !matches!(self, Self::Token | Self::PrivateKey)
    }
}

/// Seals texts into a vault.
#[derive(Clone)]
pub struct Sealer(VaultValues);

impl Sealer {
    /// A sealer into this vault.
    pub fn new(vault: Arc<Vault>) -> Self {
        Self(VaultValues::new(vault))
    }

    /// Replaces each secret of a text by its reference; `before` is the previous message of the same person. It blocks on the disk.
    pub fn seal(&self, provider: &str, chat: &str, text: &str, before: Option<&str>) -> String {
        let text = &*self.without_known(provider, chat, text);
        let cut = self.cut_references(text);
        let findings = find(text, before).into_iter().filter(|finding| !find::touches(&cut, &finding.range));
        let (mut sealed, mut end) = (String::with_capacity(text.len()), 0);
        for Finding { kind, range } in findings {
            sealed += &text[end..range.start];
            sealed += &self.reference(provider, chat, kind, &text[range.clone()]);
            end = range.end;
        }
        sealed + &text[end..]
    }

    /// Replaces each value that has a name in the vault, or was found in this chat before, by its reference.
    fn without_known(&self, provider: &str, chat: &str, text: &str) -> String {
        let of_chat = chat_prefix(provider, chat);
        let is_known =
            |name: &str, value: &str| (!name.starts_with(FOUND) || name.starts_with(&of_chat)) && value.len() >= MIN_NAMED_LENGTH;
        let values = self.0.all();
        values.iter().filter(|secret| is_known(&secret.name, secret.value.as_str())).fold(text.to_owned(), |text, secret| {
            let references: Vec<Range<usize>> = find::references(&text).map(|(range, _)| range).collect();
            let is_free = |start: &usize| !references.iter().any(|range| range.contains(start));
            let value = secret.value.as_str();
            let starts: Vec<usize> = text.match_indices(value).map(|(start, _)| start).filter(is_free).collect();
            let (mut sealed, mut end) = (String::with_capacity(text.len()), 0);
            for start in starts {
                sealed += &text[end..start];
                sealed += &reference_to(&secret.name);
                end = start + value.len();
            }
            sealed + &text[end..]
        })
    }

    /// References that were cut off within their names, as a model does that has no room left: the names are no values.
    fn cut_references(&self, text: &str) -> Vec<Range<usize>> {
        let places: Vec<(Range<usize>, &str)> = find::cut_references(text).collect();
        let values = if places.is_empty() { Arc::default() } else { self.0.all() };
        let is_known = |beginning: &str| values.iter().any(|secret| secret.name.starts_with(beginning));
        places.into_iter().filter(|(_, beginning)| is_known(beginning)).map(|(place, _)| place).collect()
    }

    /// Stores a value in the vault and returns its reference.
    pub fn reference(&self, provider: &str, chat: &str, kind: SecretKind, value: &str) -> String {
        let sealed = self.key(provider, chat, kind, value).and_then(|key| {
            // The same value has the same key: it need not be written again.
            match self.0.vault().get(&key) {
                Ok(Some(known)) if known.as_str() == value => {}
                _ => self.0.vault().set(&key, value)?,
            }
            Ok(key)
        });
        sealed.map_or_else(|_| format!("[redacted:{}]", kind.as_str()), |key| reference_to(&key))
    }

    /// `inbound.<provider>.c<chat>.<kind>.v<value>`.
    fn key(&self, provider: &str, chat: &str, kind: SecretKind, value: &str) -> Result<String, trellis_host::secrets::VaultError> {
        let of_value = if kind.is_guessable() { self.0.vault().fingerprint(value)? } else { sha256(value) };
        Ok(format!("{}{}.v{}", chat_prefix(provider, chat), kind.as_str(), &of_value[..16]))
    }
}

/// The beginning of the keys of all secrets that were sealed in a chat.
pub fn chat_prefix(provider: &str, chat: &str) -> String {
    format!("{FOUND}{provider}.c{}.", &sha256(chat)[..10])
}

fn reference_to(name: &str) -> String {
    format!("{{{{secret:{name}}}}}")
}

/// The SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The names that a text refers to as `{{secret:NAME}}`, in order, each once.
pub fn references(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, name) in find::references(text) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sealer").field(&self.0.vault().file()).finish()
    }
}

#[cfg(test)]
mod tests;
