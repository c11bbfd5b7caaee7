//! The lock of a workspace: one skill at a time, also between processes (language 11.11).

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use trellis_core::ToolError;

use super::super::store_error;

/// Time between two attempts at a lock that another caller holds.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The right to change a workspace, until it is dropped.
#[derive(Debug)]
pub(super) struct WorkspaceLock {
    file: File,
}

/// A workspace, links resolved.
///
/// # Errors
/// It is not there.
pub(super) fn real(workspace: &Path) -> Result<PathBuf, ToolError> {
    let real = fs::canonicalize(workspace).and_then(|real| if real.is_dir() { Ok(real) } else { Err(io::Error::other("it is no folder")) });
    real.map_err(|error| store_error(format!("the workspace `{}` cannot be used: {error}", workspace.display())))
}

impl WorkspaceLock {
    /// Waits for its turn, for as long as the caller lets it.
    ///
    /// # Errors
    /// The workspace cannot be locked.
    pub(super) async fn acquire(workspace: &Path) -> Result<Self, ToolError> {
        let failed = |error: io::Error| store_error(format!("the workspace `{}` cannot be locked: {error}", workspace.display()));
        let file = open(workspace).map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_RETRY_PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // If it cannot be unlocked, closing the file unlocks it.
        let _ = self.file.unlock();
    }
}

/// The folder itself is locked, so that nothing is written into it and every name of it means the same lock.
#[cfg(unix)]
fn open(workspace: &Path) -> io::Result<File> {
    File::open(workspace)
}

#[cfg(not(unix))]
fn open(workspace: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).open(workspace.join(".trellis-lock"))
}
