//! The vault (language 11.2): secrets in a file, each under AES-256-GCM with a random nonce of 96 bits and its name as associated data.
//!
//! ```text
//! .trellis/vault.json   {"version": 1, "secrets": {"crm": {"set": 1795430000000, "nonce": "…", "data": "…"}}}     mode 0600, Base64
//! .trellis/vault.key    32 bytes                                                    mode 0600, or Base64 in TRELLIS_VAULT_KEY
//! ```
//!
//! **Invariant:** no existing file is replaced by a new one; readers see the file before a change or after it; of two writers none loses its changes.

mod cipher;
mod error;
mod file;
mod key;
mod write;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub use self::error::VaultError;
use self::{
    file::{Contents, SealedSecret},
    key::MasterKey,
    write::WriteLock,
};
use super::{SecretError, SecretName, SecretText, Secrets, is_name};

/// Bytes of a value at most.
pub const MAX_VALUE: usize = 64 << 10;

/// Secrets in an encrypted file.
///
/// ```
/// use trellis_host::{Secrets, secrets::Vault};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("vault.json");
/// let vault = Vault::open(&path)?;
/// vault.set("crm", "hunter2")?;
/// let secrets = Secrets::chain([Secrets::from_env(), vault.secrets()]);
/// assert_eq!(secrets.find("crm")?.as_str(), "hunter2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vault {
    file: PathBuf,
    key: MasterKey,
}

/// A name in a vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultEntry {
    /// The name of the secret.
    pub name: Arc<str>,
    /// The moment at which its value was set, in milliseconds since 1970.
    pub set: u64,
}

impl Vault {
    /// Opens the vault in this file, which need not exist yet. Its key is that of `TRELLIS_VAULT_KEY`, else in a file of the same name that ends
    /// in `.key`: `vault.key` beside `vault.json`.
    ///
    /// # Errors
    /// File or key can be read by others, have the wrong length or form, or cannot be read; or the file exists and its key does not.
    pub fn open(file: &Path) -> Result<Self, VaultError> {
        match env::var_os("TRELLIS_VAULT_KEY").filter(|key| !key.is_empty()) {
            Some(key) => Self::open_with_key(file, &SecretText::new(key.into_string().unwrap_or_default())),
            None => Self::checked(file, MasterKey::beside(file)),
        }
    }

    /// Opens a vault with this key: 32 bytes in Base64.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub fn open_with_key(file: &Path, key: &str) -> Result<Self, VaultError> {
        Self::checked(file, MasterKey::of_base64(key)?)
    }

    /// Opens a vault with the key in another file than the one beside it: 32 bytes.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub fn open_with_key_file(file: &Path, key: &Path) -> Result<Self, VaultError> {
        Self::checked(file, MasterKey::File(key.to_owned()))
    }

    fn checked(file: &Path, key: MasterKey) -> Result<Self, VaultError> {
        let vault = Self { file: file.to_owned(), key };
        if vault.contents()?.is_some() || vault.key.exists() {
            vault.key.read()?;
        }
        Ok(vault)
    }

    /// Returns its file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The names in it, sorted.
    ///
    /// # Errors
    /// The file cannot be read, or is no vault.
    pub fn list(&self) -> Result<Vec<VaultEntry>, VaultError> {
        let contents = self.contents()?.unwrap_or_default();
        Ok(contents.secrets.into_iter().map(|(name, secret)| VaultEntry { name: name.into(), set: secret.set }).collect())
    }

    /// Returns the value of a name; `None` if the vault does not have it.
    ///
    /// # Errors
    /// File or key cannot be read, or the value does not open: it was changed, moved there from another name, or sealed with another key.
    pub fn get(&self, name: &str) -> Result<Option<SecretText>, VaultError> {
        let Some(contents) = self.contents()? else { return Ok(None) };
        let Some(secret) = contents.secrets.get(name) else { return Ok(None) };
        let opened = cipher::open(&*self.key.read()?, name, &secret.nonce, &secret.data);
        opened.map(Some).ok_or_else(|| VaultError::Closed { name: name.into(), file: self.file.clone(), key: self.key.place() })
    }

    /// Gives a name a value. Where there is no vault yet, it is made, and so is its key unless there is one.
    ///
    /// # Errors
    /// The name is none, the value is empty or has more than [`MAX_VALUE`] bytes, file or key cannot be read or written, or a value of the vault does
    /// not open with this key. All is as it was then.
    pub fn set(&self, name: &str, value: &str) -> Result<(), VaultError> {
        if !is_name(name) {
            return Err(VaultError::Name(SecretError::Name(name.into())));
        }
        match value.len() {
            0 => return Err(VaultError::Empty),
            length if length > MAX_VALUE => return Err(VaultError::TooLong),
            _ => {}
        }
        let lock = WriteLock::acquire(&self.file)?;
        let contents = self.contents()?;
        let key = if contents.is_none() && !self.key.exists() { self.key.generate()? } else { self.key.read()? };
        let mut contents = contents.unwrap_or_default();
        // A vault has one key: a value under another one would leave the others closed for ever.
        if let Some((other, secret)) = contents.secrets.first_key_value()
            && cipher::open(&key, other, &secret.nonce, &secret.data).is_none()
        {
            return Err(VaultError::Closed { name: other.as_str().into(), file: self.file.clone(), key: self.key.place() });
        }
        let (nonce, data) = cipher::seal(&key, name, value).ok_or(VaultError::NoRandom)?;
        contents.secrets.insert(name.to_owned(), SealedSecret { set: now(), nonce, data });
        lock.replace(&contents)
    }

    /// Returns a name for a value from which the value cannot be guessed, unlike a bare hash: its HMAC-SHA-256 under the master key, in hexadecimal.
    /// The key is created if there is neither key nor vault.
    ///
    /// # Errors
    /// The key cannot be read or made.
    pub fn fingerprint(&self, value: &str) -> Result<String, VaultError> {
        let key = if self.key.exists() { self.key.read()? } else { self.made_key()? };
        let mut mac = Hmac::<Sha256>::new_from_slice(&*key).map_err(|_| VaultError::NoRandom)?;
        mac.update(value.as_bytes());
        Ok(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn made_key(&self) -> Result<zeroize::Zeroizing<[u8; 32]>, VaultError> {
        let _lock = WriteLock::acquire(&self.file)?;
        match self.contents()? {
            None if !self.key.exists() => self.key.generate(),
            _ => self.key.read(),
        }
    }

    /// Removes a name; returns whether it existed. No key is needed.
    ///
    /// # Errors
    /// The file cannot be read or written, or is no vault.
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        if self.contents()?.is_none_or(|contents| !contents.secrets.contains_key(name)) {
            return Ok(false);
        }
        let lock = WriteLock::acquire(&self.file)?;
        let mut contents = self.contents()?.unwrap_or_default();
        let was_there = contents.secrets.remove(name).is_some();
        lock.replace(&contents)?;
        Ok(was_there)
    }

    /// Its secrets, as they are in the file when they are asked for.
    pub fn secrets(self) -> Secrets {
        let listed = self.clone();
        let find =
            move |name: &str| self.get(name).map_err(|error| SecretError::Unreadable { name: name.into(), why: error.to_string().into() });
        Secrets::fallible(find).listed(move || names(listed.list()))
    }

    fn contents(&self) -> Result<Option<Contents>, VaultError> {
        file::read(&self.file)
    }
}

impl Secrets {
    /// Returns the secrets of the vault in this file, which is opened for each of them: if it cannot be opened, the secret is an error with
    /// the reason.
    pub fn from_vault(file: &Path) -> Self {
        let (file, listed) = (file.to_owned(), file.to_owned());
        let find = move |name: &str| {
            let found = Vault::open(&file).and_then(|vault| vault.get(name));
            found.map_err(|error| SecretError::Unreadable { name: name.into(), why: error.to_string().into() })
        };
        Self::fallible(find).listed(move || names(Vault::open(&listed).and_then(|vault| vault.list())))
    }
}

/// Converts the list of a vault to a list of secrets.
fn names(listed: Result<Vec<VaultEntry>, VaultError>) -> Result<Vec<SecretName>, SecretError> {
    let entries = listed.map_err(|error| SecretError::Unlisted(error.to_string().into()))?;
    Ok(entries.into_iter().map(|entry| SecretName { name: entry.name, set: entry.set }).collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
