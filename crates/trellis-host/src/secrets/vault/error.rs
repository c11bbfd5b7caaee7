//! Errors of a vault; none holds a value or a key.

use std::{io, path::PathBuf, sync::Arc};

use super::{super::SecretError, MAX_VALUE};

/// A vault that cannot be read or written; the message names the file, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// A name that no secret can have.
    #[error(transparent)]
    Name(SecretError),
    /// A value without bytes.
    #[error("the value is empty")]
    Empty,
    /// A value above the bound.
    #[error("the value has more than {MAX_VALUE} bytes")]
    TooLong,
    /// A file that others may read or write.
    #[error("others may read or write {file}: run `chmod 600 {file}`", file = .0.display())]
    Rights(PathBuf),
    /// A folder, or something else that is no file.
    #[error("{file} is no file", file = .0.display())]
    NoFile(PathBuf),
    /// A vault that has no key.
    #[error("the key {file} is not there: put it back, or set `TRELLIS_VAULT_KEY`; without it nobody can open the vault", file = .0.display())]
    NoKey(PathBuf),
    /// A key of the wrong length or form.
    #[error("the key {place} {what}; a key has 32 bytes")]
    Key {
        /// The file or variable.
        place: String,
        /// The content that it has instead.
        what: String,
    },
    /// A file that is no vault.
    #[error("{file} is no vault: {why}; put a copy of it back, or move it away and set the secrets anew", file = file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The first mistake.
        why: String,
    },
    /// A file of a newer version.
    #[error("{file} is of version {version}, which this program does not read: install a newer one", file = file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u64,
    },
    /// A value that does not open.
    #[error(
        "`{name}` of {file} does not open with the key {key}: it was changed, or sealed under another name or key; `trellis secret rm {name}` takes it out",
        file = file.display()
    )]
    Closed {
        /// The name.
        name: Arc<str>,
        /// The vault.
        file: PathBuf,
        /// The file or variable of the key.
        key: String,
    },
    /// Another process that writes for too long.
    #[error("another process has been writing {file} for ten seconds: try again", file = .0.display())]
    Busy(PathBuf),
    /// The system has no random bytes.
    #[error("the system gave no random bytes")]
    NoRandom,
    /// A refusal of the system.
    #[error("{file} cannot be {verb}: {error}", file = file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The action that was tried.
        verb: &'static str,
        /// The error of the system.
        error: io::Error,
    },
}

impl VaultError {
    /// Returns the error of the system about a file.
    pub(super) fn io(file: impl Into<PathBuf>, verb: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |error| Self::Io { file, verb, error }
    }
}
