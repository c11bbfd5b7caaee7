//! Output files: `--output`, `--metrics`.
//!
//! **Invariant:** a file has the whole new text or its old one; a device, a pipe or a link is written to and never replaced; a file that cannot be
//! written is reported before the session begins, if that is known by then.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::NamedTempFile;
use trellis_core::Value;
use trellis_host::controls::escaped;
use trellis_project::is_graph_file;

use crate::open::Place;

/// Greatest number of links that are followed.
const LINKS: usize = 40;

/// A file that a text will be written to.
pub(crate) struct OutputFile {
    path: PathBuf,
    /// The new file, and the one whose place it takes; nothing for a device or a pipe, which is written to.
    unfinished: Option<(NamedTempFile, PathBuf)>,
}

impl OutputFile {
    /// Prepares to write to `path`.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        if path.is_dir() {
            anyhow::bail!("{}: it is a folder", cannot(path));
        }
        let unfinished = match replaced(path) {
            Some(target) => Some((beside(&target).map_err(|error| unprepared(path, &error))?, target)),
            None => None,
        };
        Ok(Self { path: path.to_owned(), unfinished })
    }

    /// Returns whether the path is a device, a pipe or a socket.
    pub(crate) fn is_stream(path: &Path) -> bool {
        replaced(path).is_none()
    }

    /// Writes the value, or null if there is none.
    ///
    /// # Errors
    /// It cannot be written; the file is as it was.
    pub(crate) fn write(self, output: Option<&Value>) -> anyhow::Result<()> {
        self.write_text(&format!("{}\n", output.unwrap_or(&Value::Null).to_json()))
    }

    /// Writes a text, as [`crate::terminal::print`] does.
    ///
    /// # Errors
    /// As [`OutputFile::write`].
    pub(crate) fn write_text(self, text: &str) -> anyhow::Result<()> {
        let text = escaped(text);
        let written = match self.unfinished {
            Some((mut file, target)) => file.write_all(text.as_bytes()).and_then(|()| Ok(file.persist(target).map(drop)?)),
            // Earlier contents stay: `/dev/stdout` may be a file.
            None => OpenOptions::new().append(true).open(&self.path).and_then(|mut file| file.write_all(text.as_bytes())),
        };
        written.with_context(|| cannot(&self.path))
    }
}

/// Sees to it that an output is not read as a part of the graph.
///
/// # Errors
/// It would be.
pub(crate) fn keep_out_of(place: &Place, output: &Path) -> anyhow::Result<()> {
    let target = followed(output);
    let Some(name) = target.file_name().and_then(|name| name.to_str()).filter(|name| is_graph_file(name)) else { return Ok(()) };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(folder), Ok(graph)) = (folder.canonicalize(), place.path.canonicalize()) else { return Ok(()) };
    if !folder.join(name).starts_with(&graph) {
        return Ok(());
    }
    let beside = place.folder().join("..").join(name);
    anyhow::bail!("{}: it would be a file of the graph; write it beside the graph: `--output {}`", cannot(output), beside.display())
}

/// Returns the file to replace, after following links; `None` for a device, a pipe or a socket.
fn replaced(path: &Path) -> Option<PathBuf> {
    let followed = followed(path);
    // A descriptor of a process leads to a file that others write to.
    let is_descriptor = path.starts_with("/dev") || path.starts_with("/proc");
    let is_file = fs::metadata(&followed).map_or(true, |about| about.is_file());
    (is_file && !is_descriptor).then_some(followed)
}

/// Returns the target of a link, even if that does not exist yet.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}

fn cannot(path: &Path) -> String {
    format!("the output `{}` cannot be written", path.display())
}

/// Returns the reason why nothing can be written there, without the name of the file that was to take its place.
fn unprepared(path: &Path, error: &io::Error) -> anyhow::Error {
    match (error.kind(), path.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => anyhow::anyhow!("{}: there is no folder `{}`; make it", cannot(path), folder.display()),
        (kind, _) => anyhow::anyhow!("{}: {kind}", cannot(path)),
    }
}

/// A file in the same folder, with the permissions of the one that it replaces, or of any new file.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".trellis-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let unfinished = builder.tempfile_in(folder)?;
    if let Ok(about) = fs::metadata(path) {
        unfinished.as_file().set_permissions(about.permissions())?;
    }
    Ok(unfinished)
}
