//! The workspace: the folder with everything but the graph (orchestrator 1.2, 1.3, 9).

mod consolidate;
mod env_file;
mod heartbeat;
mod history;
mod lock;
mod memory;
mod object_file;
mod skills;

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

pub use self::{
    consolidate::{ConsolidationError, OldDays},
    env_file::{BadLine, variables},
    heartbeat::HeartbeatError,
    history::{History, Said, Speaker},
    lock::{Held, WorkspaceLock},
    memory::{Memory, MemoryLine},
    object_file::ObjectFileError,
};
pub(crate) use self::{
    heartbeat::MAX_HEARTBEAT,
    object_file::{MaybeRead, copy_corrupt, read_object, read_projection, write_object},
};
use crate::texts::Language;

/// The file of settings that a new workspace gets.
pub const DEFAULT_SETTINGS: &str = include_str!("../../defaults/orchestrator.yaml");

/// A file of `defaults/` in both languages.
macro_rules! both {
    ($name:literal) => {
        [include_str!(concat!("../../defaults/", $name)), include_str!(concat!("../../defaults/ko/", $name))]
    };
}

/// A file that a workspace begins with, in English and in Korean.
type DefaultFile = (&'static str, [&'static str; 2]);

/// The files that a workspace begins with; existing ones are never touched.
const DEFAULTS: &[DefaultFile] = &[
    ("orchestrator.yaml", [DEFAULT_SETTINGS, include_str!("../../defaults/ko/orchestrator.yaml")]),
    ("templates/SYSTEM.md", both!("templates/SYSTEM.md")),
    ("templates/SOUL.md", both!("templates/SOUL.md")),
    ("templates/TOOLS.md", both!("templates/TOOLS.md")),
    ("templates/USER.md", both!("templates/USER.md")),
    ("agents/main.md", both!("agents/main.md")),
    ("memory/MEMORY.md", ["", ""]),
    ("HEARTBEAT.md", both!("HEARTBEAT.md")),
    // The ignored files are private, or can be rebuilt.
    (".gitignore", [".env\nfiles/\nruntime/\n"; 2]),
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
        /// Its path.
        path: PathBuf,
        /// The attempted action: `made`, `read` …
        what: &'static str,
        /// The reason.
        why: io::Error,
    },
    /// Another process holds it.
    #[error("the workspace `{}` is in use by {holder}", folder.display())]
    Held {
        /// The workspace.
        folder: PathBuf,
        /// Its holder.
        holder: Held,
    },
}

impl WorkspaceError {
    fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |why| Self::Io { path, what, why }
    }
}

/// An existing workspace.
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
        Self::open_in(folder, graph, Language::English)
    }

    /// Opens a workspace like [`Workspace::open`], with a language for the files that a new one begins with.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open_in(folder: &Path, graph: &Path, language: Language) -> Result<Self, WorkspaceError> {
        let is_within = |graph: &Path| whole(folder).starts_with(graph);
        if graph.is_dir() && graph.canonicalize().is_ok_and(|graph| is_within(&graph)) {
            return Err(WorkspaceError::InGraph { folder: folder.to_owned(), graph: graph.to_owned() });
        }
        let workspace = Self { folder: folder.to_owned() };
        workspace.make_missing(language)?;
        Ok(workspace)
    }

    fn make_missing(&self, language: Language) -> Result<(), WorkspaceError> {
        for folder in std::iter::once("").chain(FOLDERS.iter().copied()) {
            let path = self.folder.join(folder);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(WorkspaceError::io(&path, "made"))?;
        }
        for (name, texts) in DEFAULTS {
            let text = texts[language as usize];
            let path = self.folder.join(name);
            if !path.is_symlink() && !path.exists() {
                write_whole(&path, text.as_bytes()).map_err(WorkspaceError::io(&path, "written"))?;
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

    /// Returns the text of one of its files; `None` if there is none.
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

    /// Locks it for this process, until the guard is dropped.
    ///
    /// # Errors
    /// Another process holds it.
    pub fn lock(&self) -> Result<WorkspaceLock, WorkspaceError> {
        WorkspaceLock::take(self)
    }
}

/// A path with its links resolved, as far as it exists.
fn whole(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    there.map_or_else(|| path.clone(), |(above, rest)| above.join(rest))
}

/// Writes a file as a whole: readers see the old one or the new one, also after a crash.
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
    append_lines(path, &[line]).map(drop)
}

/// Adds lines to a file and forces them to the disk together; the folder is made if it is missing. A last line that was cut off is closed first.
/// Returns the offset of the first one.
pub(crate) fn append_lines(path: &Path, lines: &[impl AsRef<str>]) -> io::Result<u64> {
    append(path, lines).map_err(|error| io::Error::new(error.kind(), format!("`{}` cannot be written: {error}", path.display())))
}

fn append(path: &Path, lines: &[impl AsRef<str>]) -> io::Result<u64> {
    use std::io::{Read as _, Seek as _, Write as _};
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(io::SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    let is_closed = last == [b'\n'];
    let mut text = if is_closed { String::new() } else { "\n".to_owned() };
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    Ok(if is_closed { length } else { length + 1 })
}

/// The name of a rotated file: `.1` is the newest.
pub(crate) fn rotated_path(file: &Path, number: u32) -> PathBuf {
    let mut name = file.to_owned().into_os_string();
    name.push(format!(".{number}"));
    name.into()
}

/// Rotates a file: each older one gets the next number, and none is lost.
pub(crate) fn rotate(file: &Path) -> io::Result<()> {
    let count = (1..).take_while(|number| rotated_path(file, *number).exists()).count();
    for number in (1..=u32::try_from(count).unwrap_or(u32::MAX)).rev() {
        fs::rename(rotated_path(file, number), rotated_path(file, number + 1))?;
    }
    fs::rename(file, rotated_path(file, 1))
}

#[cfg(test)]
mod tests;
