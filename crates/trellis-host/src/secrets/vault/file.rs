//! The file of a vault as it is read: its rights first, then its form.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{super::is_name, VaultError};

/// The version that is written.
const VAULT_VERSION: u64 = 1;
/// Bytes of a vault at most.
const MAX_VAULT_FILE: u64 = 64 << 20;

/// All that a vault holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    version: u64,
    pub(super) secrets: BTreeMap<String, SealedSecret>,
}

/// One value, sealed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealedSecret {
    /// In milliseconds since 1970.
    pub(super) set: u64,
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub(super) nonce: Vec<u8>,
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub(super) data: Vec<u8>,
}

impl Default for Contents {
    fn default() -> Self {
        Self { version: VAULT_VERSION, secrets: BTreeMap::new() }
    }
}

/// Reads a vault; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Contents>, VaultError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut text = Vec::new();
    file.take(MAX_VAULT_FILE + 1).read_to_end(&mut text).map_err(VaultError::io(path, "read"))?;
    let damaged = |why: String| VaultError::Damaged { file: path.to_owned(), why };
    if text.len() as u64 > MAX_VAULT_FILE {
        return Err(damaged(format!("it has more than {MAX_VAULT_FILE} bytes")));
    }
    let contents: Contents = serde_json::from_slice(&text).map_err(|error| match version(&text) {
        Some(version) => VaultError::Newer { file: path.to_owned(), version },
        None => damaged(error.to_string()),
    })?;
    match contents.version {
        VAULT_VERSION => {}
        version if version > VAULT_VERSION => return Err(VaultError::Newer { file: path.to_owned(), version }),
        version => return Err(damaged(format!("there is no version {version}"))),
    }
    match contents.secrets.keys().find(|name| !is_name(name)) {
        Some(name) => Err(damaged(format!("{name:?} is no name of a secret"))),
        None => Ok(Some(contents)),
    }
}

/// The version of a file that this program does not read.
fn version(text: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    serde_json::from_slice::<Versioned>(text).ok().map(|versioned| versioned.version).filter(|version| *version > VAULT_VERSION)
}

/// Opens a file that its owner alone may read and write; `None` if there is none.
pub(super) fn open(path: &Path) -> Result<Option<File>, VaultError> {
    // Before it is opened: a pipe would wait for a writer.
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(VaultError::io(path, "read")(error)),
    };
    if !about.is_file() {
        return Err(VaultError::NoFile(path.to_owned()));
    }
    let file = File::open(path).map_err(VaultError::io(path, "read"))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().map_err(VaultError::io(path, "read"))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(VaultError::Rights(path.to_owned()));
        }
    }
    Ok(Some(file))
}

/// Lets the owner alone read and write a file that is made.
pub(super) fn for_owner(options: &mut fs::OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

fn to_base64<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    STANDARD.decode(text).map_err(|_| D::Error::custom("a value is no Base64"))
}
