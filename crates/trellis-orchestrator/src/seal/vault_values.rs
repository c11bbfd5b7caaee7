//! The values of a vault, each read once and again when it has changed.

use std::sync::{Arc, Mutex, PoisonError};

use trellis_host::secrets::{SecretText, Vault, VaultEntry};

/// A secret of a vault, with its value.
pub(crate) struct VaultValue {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its value.
    pub(crate) value: SecretText,
    set: u64,
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
    values: Arc<Vec<Arc<VaultValue>>>,
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
    pub(crate) fn all(&self) -> Arc<Vec<Arc<VaultValue>>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(entries) = self.vault.list()
            && entries != read.entries
        {
            // The vault reads its whole file for each value.
            let known = |entry: &VaultEntry| read.values.iter().find(|value| value.set == entry.set && value.name == entry.name).cloned();
            let value = |entry: &VaultEntry| known(entry).or_else(|| self.value(entry));
            let mut values: Vec<_> = entries.iter().filter_map(value).collect();
            values.sort_by_key(|value| std::cmp::Reverse(value.value.as_str().len()));
            *read = Read { entries, values: Arc::new(values) };
        }
        Arc::clone(&read.values)
    }

    fn value(&self, entry: &VaultEntry) -> Option<Arc<VaultValue>> {
        let value = self.vault.get(&entry.name).ok()??;
        Some(Arc::new(VaultValue { name: Arc::clone(&entry.name), value, set: entry.set }))
    }
}
