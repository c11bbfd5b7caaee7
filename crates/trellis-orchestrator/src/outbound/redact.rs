//! Redacts values of the vault in outgoing messages (orchestrator 7.1).

use std::{fmt, sync::Arc};

use trellis_host::secrets::Vault;

use crate::seal::VaultValues;

/// Bytes of the shortest value that is redacted.
const MIN_SECRET_LENGTH: usize = 4;

/// Redacts the values of a vault. Clones share the values that were read.
#[derive(Clone)]
pub struct SecretMask(VaultValues);

impl SecretMask {
    /// Redacts the values of this vault, also those that are added later.
    pub fn new(vault: Arc<Vault>) -> Self {
        Self(VaultValues::new(vault))
    }

    /// Returns the text with `***` for each value. If the vault cannot be read, the values that were read before are redacted. It waits for a disk.
    pub fn masked(&self, text: &str) -> String {
        let values = self.0.all();
        let values = values.iter().map(|secret| secret.value.as_str()).filter(|value| value.len() >= MIN_SECRET_LENGTH);
        values.fold(text.to_owned(), |text, value| match text.contains(value) {
            true => text.replace(value, "***"),
            false => text,
        })
    }
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretMask").field("vault", &self.0.vault().file()).finish_non_exhaustive()
    }
}
