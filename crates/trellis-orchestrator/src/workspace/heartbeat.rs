//! `HEARTBEAT.md`: the points that the agent checks at regular intervals (orchestrator 8.2).

use std::io;

use super::Workspace;

/// The name of the file.
const HEARTBEAT_FILE: &str = "HEARTBEAT.md";
/// Bytes of the file.
pub(crate) const MAX_HEARTBEAT: u64 = 64 << 10;

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeartbeatError {
    /// It is too large.
    #[error("`{HEARTBEAT_FILE}` has {bytes} bytes, and at most {MAX_HEARTBEAT} are read: take what is done out of it")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It cannot be read.
    #[error("`{HEARTBEAT_FILE}` cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl Workspace {
    /// The items of `HEARTBEAT.md` that are not checked, as they are written.
    ///
    /// # Errors
    /// The file is there, and is too large or cannot be read.
    pub fn heartbeat_items(&self) -> Result<Vec<String>, HeartbeatError> {
        let path = self.path(HEARTBEAT_FILE);
        let bytes = match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            metadata => metadata?.len(),
        };
        if bytes > MAX_HEARTBEAT {
            return Err(HeartbeatError::TooLarge { bytes });
        }
        let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
        let is_open = |line: &&str| ["- [ ] ", "* [ ] ", "+ [ ] "].iter().any(|mark| line.starts_with(mark)) && line.len() > 6;
        Ok(text.lines().map(str::trim).filter(is_open).map(str::to_owned).collect())
    }
}
