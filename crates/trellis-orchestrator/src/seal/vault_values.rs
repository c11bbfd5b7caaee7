//! The values of a vault, read once and again when one of them has changed.

use std::sync::{Arc, Mutex, PoisonError};

use trellis_host::secrets::{SecretText, Vault, VaultEntry};

/// A secret of a vault, with its value.
pub(crate) struct VaultValue {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its value.
    pub(crate) value: SecretText,
}

/// The values of a vault. Clones share what was read.
#[derive(Clone)]
pub(crate) struct VaultValues {
    vault: Arc<Vault>,
    read: Arc<Mutex<Read>>,
}

#[derive(Default)]
struct Read {
    entries: Vec<VaultEntry>,
    values: Arc<Vec<VaultValue>>,
}

impl VaultValues {
    /// The values of this vault, also those that are added later.
    pub(crate) fn new(vault: Arc<Vault>) -> Self {
        Self { vault, read: Arc::default() }
    }

    /// The vault.
    pub(crate) fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Returns all values, the longest first, so that a value comes before its own parts. If the vault cannot be read, it returns those that were
    /// read before. It waits for a disk.
    pub(crate) fn all(&self) -> Arc<Vec<VaultValue>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(entries) = self.vault.list()
            && entries != read.entries
        {
            let value = |entry: &VaultEntry| Some(VaultValue { name: Arc::clone(&entry.name), value: self.vault.get(&entry.name).ok()?? });
            let mut values: Vec<VaultValue> = entries.iter().filter_map(value).collect();
            values.sort_by_key(|value| std::cmp::Reverse(value.value.as_str().len()));
            *read = Read { entries, values: Arc::new(values) };
        }
        Arc::clone(&read.values)
    }
}
