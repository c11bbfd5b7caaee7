//! Redacts values of the vault in outgoing messages (orchestrator 7.1).

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use trellis_host::secrets::{SecretText, Vault, VaultEntry};

/// Bytes of the shortest value that is looked for.
const MIN_SECRET_LENGTH: usize = 4;

/// Redacts the values of a vault. Clones share the values that were read.
#[derive(Clone)]
pub struct SecretMask {
    vault: Arc<Vault>,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    entries: Vec<VaultEntry>,
    values: Vec<SecretText>,
}

impl SecretMask {
    /// Redacts the values of this vault, also those that are added later.
    pub fn new(vault: Arc<Vault>) -> Self {
        Self { vault, known: Arc::default() }
    }

    /// The text with `***` for each value. Where the vault cannot be read, the values that were read before are hidden. It waits for a disk.
    pub fn masked(&self, text: &str) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(entries) = self.vault.list()
            && entries != known.entries
        {
            let values = entries.iter().filter_map(|entry| self.vault.get(&entry.name).ok().flatten());
            let mut values: Vec<SecretText> = values.filter(|value| value.as_str().len() >= MIN_SECRET_LENGTH).collect();
            // A value that holds another one goes first.
            values.sort_by_key(|value| std::cmp::Reverse(value.as_str().len()));
            *known = Known { entries, values };
        }
        known.values.iter().fold(text.to_owned(), |text, value| match text.contains(value.as_str()) {
            true => text.replace(value.as_str(), "***"),
            false => text,
        })
    }
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretMask").field("vault", &self.vault.file()).finish_non_exhaustive()
    }
}
