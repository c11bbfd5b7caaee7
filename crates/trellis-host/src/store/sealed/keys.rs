//! Keys, and their file.
//!
//! ```text
//! # a line each: a name and 32 bytes in Base64. The first seals, all of them open.
//! k-3fa90c1d q83vEiM0VniavN7wESIzRFVmd4iZqrvM3e7/ABEiM0Q=
//! ```
//!
//! **Invariant:** no key is printed, and the bytes of a key are overwritten when they are not needed any more.

use std::{
    fmt, fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, aead::Generate};
use zeroize::Zeroizing;

use crate::store::StoreError;

/// The keys of a key file.
pub struct Keys {
    /// At least one.
    keys: Vec<(Arc<str>, XChaCha20Poly1305)>,
    file: PathBuf,
    /// The time of the file's last change, and its length, before it was read.
    changed: Option<(SystemTime, u64)>,
}

impl Keys {
    /// Reads a key file, which only its owner may be able to read.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is no key file; the message holds nothing of it but names.
    pub fn read(file: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Key(format!("the key file {} cannot be read: {error}", file.display()));
        // Before reading: a write in between then counts as a change.
        let changed = changed(file);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(file).map_err(failed)?.permissions().mode();
            if mode & 0o077 != 0 {
                let file = file.display();
                return Err(StoreError::Key(format!("others may read the key file {file}: run `chmod 600 {file}`")));
            }
        }
        let text = Zeroizing::new(fs::read_to_string(file).map_err(failed)?);
        let mut keys: Vec<(Arc<str>, _)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: &str| StoreError::Key(format!("line {number} of the key file {} {what}", file.display()));
            let (name, key) = line.split_once(char::is_whitespace).ok_or_else(|| wrong("is no name and key"))?;
            if !is_name(name) {
                return Err(wrong("does not begin with a name: up to 64 letters, digits, `-`, `_` and `.`"));
            }
            if keys.iter().any(|(other, _)| &**other == name) {
                return Err(wrong(&format!("names the key `{name}` again")));
            }
            let bytes = STANDARD.decode(key.trim()).map(Zeroizing::new).map_err(|_| wrong("holds no Base64 after the name"))?;
            let key =
                XChaCha20Poly1305::new_from_slice(&bytes).map_err(|_| wrong(&format!("holds {} bytes; a key has 32", bytes.len())))?;
            keys.push((name.into(), key));
        }
        if keys.is_empty() {
            return Err(StoreError::Key(format!("the key file {} holds no key", file.display())));
        }
        Ok(Self { keys, file: file.to_owned(), changed })
    }

    /// Returns the present keys of the file, followed by earlier ones; `None` if it did not change, or cannot be read.
    pub(super) fn renewed(&self) -> Option<Self> {
        if changed(&self.file) == self.changed {
            return None;
        }
        let mut newer = Self::read(&self.file).ok()?;
        for (name, key) in &self.keys {
            if newer.find(name).is_none() {
                newer.keys.push((Arc::clone(name), key.clone()));
            }
        }
        Some(newer)
    }

    /// Puts a fresh key first in a key file, which only its owner may read, and returns the key's name. Older keys stay: they open the texts that
    /// they sealed. Open stores find the key when they read a text that it sealed.
    ///
    /// # Errors
    /// The file has other content, or cannot be written, or another process adds a key at this moment; it is unchanged.
    pub fn generate(file: &Path) -> Result<String, StoreError> {
        let failed = |error: String| StoreError::Key(format!("the key file {} cannot be written: {error}", file.display()));
        // Before reading: of two at a time, the one that writes last would take the other's key out again.
        let next = Next::beside(file).map_err(failed)?;
        let before = if file.exists() {
            Self::read(file)?;
            Zeroizing::new(fs::read_to_string(file).map_err(|error| failed(error.to_string()))?)
        } else {
            Zeroizing::default()
        };
        let key = Zeroizing::new(<[u8; 32]>::try_generate().map_err(|error| failed(error.to_string()))?);
        let name = <[u8; 4]>::try_generate().map_err(|error| failed(error.to_string()))?;
        let name = format!("k-{:08x}", u32::from_be_bytes(name));
        let text = Zeroizing::new(format!("{name} {}\n{}", *Zeroizing::new(STANDARD.encode(*key)), *before));
        next.replace(file, text.as_bytes()).map_err(|error| failed(error.to_string()))?;
        Ok(name)
    }

    /// The names of the keys; the first one seals.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|(name, _)| &**name)
    }

    /// The key that seals.
    pub(super) fn newest(&self) -> (&Arc<str>, &XChaCha20Poly1305) {
        let (name, key) = &self.keys[0];
        (name, key)
    }

    pub(super) fn find(&self, name: &str) -> Option<&XChaCha20Poly1305> {
        self.keys.iter().find(|(known, _)| &**known == name).map(|(_, key)| key)
    }

    /// Returns their file, for errors.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

fn changed(file: &Path) -> Option<(SystemTime, u64)> {
    let about = fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// The replacement of a key file: beside it, for its owner alone, and of one writer at a time. It is removed if it does not become the key file.
struct Next {
    path: PathBuf,
    file: fs::File,
    is_in_place: bool,
}

impl Next {
    fn beside(file: &Path) -> Result<Self, String> {
        let mut path = file.as_os_str().to_owned();
        path.push(".new");
        let path = PathBuf::from(path);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => Ok(Self { path, file, is_in_place: false }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(format!(
                "another process is changing it; if there is none, it was interrupted: remove {} and try again",
                path.display()
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Replaces `file` by it, with these bytes, whole or not at all.
    fn replace(mut self, file: &Path, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.file.sync_all()?;
        fs::rename(&self.path, file)?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        // Behind the rename the name is that of another writer's.
        if !self.is_in_place {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|(name, _)| name)).finish()
    }
}

/// A fresh key, and the cipher that it is of.
pub(super) fn fresh() -> Option<(Zeroizing<[u8; 32]>, XChaCha20Poly1305)> {
    let bytes = Zeroizing::new(<[u8; 32]>::try_generate().ok()?);
    let cipher = XChaCha20Poly1305::new_from_slice(&*bytes).ok()?;
    Some((bytes, cipher))
}
