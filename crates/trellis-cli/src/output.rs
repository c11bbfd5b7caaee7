//! `--output FILE`: the value that a session ends with, as JSON.
//!
//! **Invariant:** the file has the whole value or is as it was; what cannot be written is said before the session begins, where that can be known.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::NamedTempFile;
use trellis_core::Value;

/// A file that a value will be written to.
pub(crate) struct OutputFile {
    path: PathBuf,
    /// What takes its place; nothing for a device or a pipe, which is written to.
    unfinished: Option<NamedTempFile>,
}

impl OutputFile {
    /// Prepares to write to `path`.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let is_file = std::fs::metadata(path).map_or(true, |about| about.is_file());
        let unfinished = if is_file { Some(beside(path).map_err(|error| unprepared(path, &error))?) } else { None };
        if path.is_dir() {
            anyhow::bail!("{}: it is a folder", cannot(path));
        }
        Ok(Self { path: path.to_owned(), unfinished })
    }

    /// Writes the value; null where there is none.
    ///
    /// # Errors
    /// It cannot be written; the file is as it was.
    pub(crate) fn write(self, output: Option<&Value>) -> anyhow::Result<()> {
        self.write_text(&format!("{}\n", output.unwrap_or(&Value::Null).to_json()))
    }

    /// Writes a text.
    ///
    /// # Errors
    /// As [`OutputFile::write`].
    pub(crate) fn write_text(self, text: &str) -> anyhow::Result<()> {
        let written = match self.unfinished {
            Some(mut file) => file.write_all(text.as_bytes()).and_then(|()| Ok(file.persist(&self.path).map(drop)?)),
            None => OpenOptions::new().write(true).open(&self.path).and_then(|mut file| file.write_all(text.as_bytes())),
        };
        written.with_context(|| cannot(&self.path))
    }
}

fn cannot(path: &Path) -> String {
    format!("the output `{}` cannot be written", path.display())
}

/// Why nothing can be written there, without the name of the file that was to take its place.
fn unprepared(path: &Path, error: &io::Error) -> anyhow::Error {
    match (error.kind(), path.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => anyhow::anyhow!("{}: there is no folder `{}`; make it", cannot(path), folder.display()),
        (kind, _) => anyhow::anyhow!("{}: {kind}", cannot(path)),
    }
}

/// A file in the same folder, with the permissions of any new file.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".trellis-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
