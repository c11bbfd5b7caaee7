//! The lock of a workspace: one process uses it at a time (orchestrator 1.2). The system releases the lock however the process ends.

use std::{
    fmt,
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    process,
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{Workspace, WorkspaceError};

/// The holder of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Held {
    /// The process.
    pub pid: u32,
    /// Its machine.
    pub machine: String,
    /// The time of the lock, as RFC 3339.
    pub since: String,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => f.write_str("another process"),
            pid => write!(f, "process {pid} on {}, since {}", self.machine, self.since),
        }
    }
}

/// A workspace that this process holds.
#[derive(Debug)]
pub struct WorkspaceLock {
    _file: File,
}

impl WorkspaceLock {
    pub(super) fn take(workspace: &Workspace) -> Result<Self, WorkspaceError> {
        let path = workspace.path("runtime/lock");
        let options = || fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = options().map_err(WorkspaceError::io(&path, "opened"))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let holder = serde_json::from_str(&text).unwrap_or_default();
            return Err(WorkspaceError::Held { folder: workspace.folder().to_owned(), holder });
        }
        let uname = rustix::system::uname();
        let machine = uname.nodename().to_string_lossy().into_owned();
        let held = Held { pid: process::id(), machine, since: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string() };
        let text = serde_json::to_string(&held).unwrap_or_default();
        let written = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(WorkspaceError::io(&path, "written"))?;
        Ok(Self { _file: file })
    }
}
