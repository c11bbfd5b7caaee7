//! Reasons why a watch falls back to looking.

/// The reason why the system does not watch folders; they are then polled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// It watches the largest number that it may.
    #[error("the system watches no more folders: the limit `fs.inotify.max_user_watches` is reached")]
    TooMany,
    /// It cannot begin to.
    #[error("the system watches no folders: {cause}")]
    System {
        /// The message of the system.
        cause: String,
    },
}

impl WatchError {
    pub(super) fn from_system(error: notify::Error) -> Self {
        match error.kind {
            notify::ErrorKind::MaxFilesWatch => Self::TooMany,
            notify::ErrorKind::Io(cause) => Self::System { cause: cause.to_string() },
            _ => Self::System { cause: error.to_string() },
        }
    }

    /// Returns the remedy, in one line.
    pub fn help(&self) -> &'static str {
        match self {
            Self::TooMany => "raise it: `sudo sysctl fs.inotify.max_user_watches=524288`",
            Self::System { .. } if cfg!(target_os = "linux") => "other programs may hold them all: see `fs.inotify.max_user_instances`",
            Self::System { .. } => "changes are still noticed, a little later",
        }
    }
}
