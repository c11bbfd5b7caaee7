//! The workspace: the folder that holds everything which is not the graph (orchestrator 1.2, 1.3, 9).

mod consolidate;
mod env_file;
mod heartbeat;
mod history;
mod lock;
mod memory;
mod object_file;

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

pub(crate) use self::object_file::{read_object, write_object};
pub use self::{
    consolidate::{ConsolidationError, OldDays},
    env_file::{BadLine, variables},
    heartbeat::HeartbeatError,
    history::{History, Said, Speaker},
    lock::{Held, WorkspaceLock},
    memory::Memory,
    object_file::ObjectFileError,
};

/// The file of settings that a new workspace gets.
pub const DEFAULT_SETTINGS: &str = include_str!("../../defaults/orchestrator.yaml");

/// The files that a workspace begins with; what is there is never touched.
const DEFAULTS: &[(&str, &str)] = &[
    ("orchestrator.yaml", DEFAULT_SETTINGS),
    ("templates/SYSTEM.md", include_str!("../../defaults/templates/SYSTEM.md")),
    ("templates/SOUL.md", include_str!("../../defaults/templates/SOUL.md")),
    ("templates/TOOLS.md", include_str!("../../defaults/templates/TOOLS.md")),
    ("templates/USER.md", include_str!("../../defaults/templates/USER.md")),
    ("agents/main.md", include_str!("../../defaults/agents/main.md")),
    ("memory/MEMORY.md", ""),
    ("HEARTBEAT.md", include_str!("../../defaults/HEARTBEAT.md")),
    // What is kept here is nobody else's, and what can be made again is no source.
    (".gitignore", ".env\nfiles/\nruntime/\n"),
];

/// The folders of a workspace.
const FOLDERS: &[&str] = &["templates", "agents", "memory", "files", "runtime", "runtime/security", "runtime/sessions"];

/// A workspace cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// Its files would be nodes of the graph.
    #[error("the workspace `{}` lies in the folder of the graph `{}`, so its files would be nodes: name another with `--workspace DIR`", folder.display(), graph.display())]
    InGraph {
        /// The workspace.
        folder: PathBuf,
        /// The graph.
        graph: PathBuf,
    },
    /// A file or folder cannot be used.
    #[error("`{}` cannot be {what}: {why}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What was tried: `made`, `read` …
        what: &'static str,
        /// The reason.
        why: io::Error,
    },
    /// Another process has it.
    #[error("the workspace `{}` is in use by {holder}", folder.display())]
    Held {
        /// The workspace.
        folder: PathBuf,
        /// Who has it.
        holder: Held,
    },
}

impl WorkspaceError {
    fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |why| Self::Io { path, what, why }
    }
}

/// A workspace that is there.
#[derive(Clone, Debug)]
pub struct Workspace {
    folder: PathBuf,
}

impl Workspace {
    /// The workspace in a folder, which is made where it is missing, with the files that a new one begins with. `graph` is the folder of the graph.
    ///
    /// # Errors
    /// It lies within the graph, or cannot be made.
    pub fn open(folder: &Path, graph: &Path) -> Result<Self, WorkspaceError> {
        let is_within = |graph: &Path| whole(folder).starts_with(graph);
        if graph.is_dir() && graph.canonicalize().is_ok_and(|graph| is_within(&graph)) {
            return Err(WorkspaceError::InGraph { folder: folder.to_owned(), graph: graph.to_owned() });
        }
        let workspace = Self { folder: folder.to_owned() };
        workspace.make_missing()?;
        Ok(workspace)
    }

    fn make_missing(&self) -> Result<(), WorkspaceError> {
        for folder in std::iter::once("").chain(FOLDERS.iter().copied()) {
            let path = self.folder.join(folder);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(WorkspaceError::io(&path, "made"))?;
        }
        for (name, text) in DEFAULTS {
            let path = self.folder.join(name);
            match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes()).map_err(WorkspaceError::io(&path, "written"))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(WorkspaceError::io(&path, "made")(error)),
            }
        }
        Ok(())
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file or folder of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The text of one of its files; nothing where there is none.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        let path = self.path(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkspaceError::io(&path, "read")(error)),
        }
    }

    /// Takes it for this process, until what is returned is dropped.
    ///
    /// # Errors
    /// Another process has it.
    pub fn lock(&self) -> Result<WorkspaceLock, WorkspaceError> {
        WorkspaceLock::take(self)
    }
}

/// A path with its links followed as far as it is there.
fn whole(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    there.map_or_else(|| path.clone(), |(above, rest)| above.join(rest))
}

/// Writes a file as a whole: who reads sees the old one or the new one, also after a crash.
pub(crate) fn write_whole(file: &Path, contents: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut draft = file.to_owned().into_os_string();
    draft.push(".new");
    let mut written = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    io::Write::write_all(&mut written, contents)?;
    written.sync_all()?;
    fs::rename(&draft, file)
}

/// Adds a line to a file and forces it to the disk. A last line that was cut off is closed first.
pub(crate) fn append_line(path: &Path, line: &str) -> io::Result<()> {
    use std::io::{Read as _, Seek as _, Write as _};
    let mut file = fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(io::SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    let before = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{before}{line}\n").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests;
