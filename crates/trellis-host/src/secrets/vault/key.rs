//! The master key: 32 bytes in a file that only its owner may read, or in Base64 in a variable.

use std::{
    fmt, fs,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{
    VaultError,
    cipher::{KEY, fresh_key},
    file,
};

/// The place of the master key.
#[derive(Clone)]
pub(super) enum MasterKey {
    File(PathBuf),
    Given(Zeroizing<[u8; KEY]>),
}

/// The bytes of a master key.
type KeyBytes = Zeroizing<[u8; KEY]>;

impl MasterKey {
    /// The key file of a vault.
    pub(super) fn beside(vault: &Path) -> Self {
        Self::File(vault.with_extension("key"))
    }

    pub(super) fn of_base64(text: &str) -> Result<Self, VaultError> {
        let wrong = |what: String| VaultError::Key { place: "in `TRELLIS_VAULT_KEY`".to_owned(), what };
        let bytes = STANDARD.decode(text.trim()).map(Zeroizing::new).map_err(|_| wrong("is no Base64".to_owned()))?;
        let key = <[u8; KEY]>::try_from(bytes.as_slice()).map_err(|_| wrong(format!("has {} bytes", bytes.len())))?;
        Ok(Self::Given(Zeroizing::new(key)))
    }

    /// Returns whether the path of the key exists.
    pub(super) fn exists(&self) -> bool {
        match self {
            Self::File(path) => path.symlink_metadata().is_ok(),
            Self::Given(_) => true,
        }
    }

    /// The file or variable, for messages.
    pub(super) fn place(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Given(_) => "in `TRELLIS_VAULT_KEY`".to_owned(),
        }
    }

    pub(super) fn read(&self) -> Result<KeyBytes, VaultError> {
        let path = match self {
            Self::Given(key) => return Ok(key.clone()),
            Self::File(path) => path,
        };
        let Some(file) = file::open(path)? else { return Err(VaultError::NoKey(path.clone())) };
        let mut bytes = Zeroizing::new(Vec::with_capacity(2 * KEY));
        file.take(2 * KEY as u64).read_to_end(&mut bytes).map_err(VaultError::io(path, "read"))?;
        let wrong = |_| {
            let what = if bytes.len() < KEY { format!("has {} bytes", bytes.len()) } else { format!("has more than {KEY} bytes") };
            VaultError::Key { place: path.display().to_string(), what }
        };
        <[u8; KEY]>::try_from(bytes.as_slice()).map(Zeroizing::new).map_err(wrong)
    }

    /// Creates a key if there is none. It appears as a whole or not at all: no reader sees a part of it. Only the holder of the vault's lock may
    /// call this.
    pub(super) fn generate(&self) -> Result<KeyBytes, VaultError> {
        let Self::File(path) = self else { return self.read() };
        let key = fresh_key().ok_or(VaultError::NoRandom)?;
        let draft = path.with_extension("key.new");
        let linked = write_draft(&draft, &key).and_then(|()| fs::hard_link(&draft, path));
        let _ = fs::remove_file(&draft);
        match linked {
            Ok(()) => Ok(key),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.read(),
            Err(error) => Err(VaultError::io(path, "made")(error)),
        }
    }
}

fn write_draft(draft: &Path, key: &KeyBytes) -> io::Result<()> {
    // One that a killed writer left behind opens nothing.
    let _ = fs::remove_file(draft);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    file::for_owner(&mut options);
    let mut file = options.open(draft)?;
    file.write_all(&**key)?;
    file.sync_all()
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}
