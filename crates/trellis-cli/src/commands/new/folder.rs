//! Creates a folder with files, or nothing at all.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use super::NewFile;

/// Creates a folder with `files`. An existing folder may contain only hidden files.
///
/// # Errors
/// It holds something, or the system refuses; then everything is as it was.
pub(super) fn make(path: &Path, files: &[NewFile]) -> anyhow::Result<()> {
    match fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.with_context(|| unreadable(path))?.file_name();
                if !name.to_string_lossy().starts_with('.') {
                    let there = name.display();
                    bail!(
                        "`{}` is not empty: it holds `{there}`\nname a new folder, or add a node with `trellis new node`",
                        path.display()
                    );
                }
            }
            fill(path, files)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => from_nothing(path, files),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => bail!("`{}` is a file\nname a new folder", path.display()),
        Err(error) => Err(error).with_context(|| unreadable(path)),
    }
}

/// Returns whether there is a folder that holds more than hidden files.
pub(super) fn holds_files(path: &Path) -> bool {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
}

fn unreadable(path: &Path) -> String {
    format!("`{}` cannot be read", path.display())
}

/// Fills a temporary folder beside the target, then moves it there.
fn from_nothing(path: &Path, files: &[NewFile]) -> anyhow::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritten = || format!("`{}` cannot be made", path.display());
    let above = missing(parent);
    fs::create_dir_all(parent).with_context(unwritten)?;
    let made = || -> anyhow::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".trellis-");
        // Those of any new folder: a temporary one would be its owner's alone.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let unfinished = builder.tempdir_in(parent).with_context(unwritten)?;
        fill(unfinished.path(), files).with_context(unwritten)?;
        fs::rename(unfinished.path(), path).with_context(unwritten)?;
        // It has another name now, so there is nothing to remove.
        let _ = unfinished.keep();
        Ok(())
    };
    made().inspect_err(|_| above.iter().for_each(|folder| drop(fs::remove_dir(folder))))
}

/// The folders that have to be made for `path`, the innermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).map(Path::to_owned).collect()
}

/// Writes one file, with the folders that it needs below `root`; takes these back when it cannot be.
///
/// # Errors
/// There is one of that name, a link leads out of the root, or the system refuses.
pub(super) fn add(root: &Path, file: &str, text: &str) -> io::Result<()> {
    let path = root.join(file);
    let folder = path.parent().unwrap_or(root);
    let folders = missing(folder);
    let there = folders.last().and_then(|outermost| outermost.parent()).unwrap_or(folder);
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    if !fs::canonicalize(there)?.starts_with(fs::canonicalize(root)?) {
        return Err(io::Error::other(format!("`{}` leads out of the graph", there.display())));
    }
    let written = fs::create_dir_all(folder).and_then(|()| create(&path, text, false));
    written.inspect_err(|_| folders.iter().for_each(|folder| drop(fs::remove_dir(folder))))
}

/// Writes the files into an existing folder; removes all of them if one cannot be written.
fn fill(folder: &Path, files: &[NewFile]) -> anyhow::Result<()> {
    let mut made: Vec<PathBuf> = Vec::new();
    for file in files {
        let path = folder.join(file.path);
        let folders = missing(path.parent().unwrap_or(folder));
        let written = fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| {
            made.extend(folders.into_iter().rev());
            create(&path, &file.text, file.is_program)
        });
        if let Err(error) = written {
            for made in made.iter().rev() {
                let _ = if made.is_dir() { fs::remove_dir(made) } else { fs::remove_file(made) };
            }
            return Err(error).with_context(|| format!("`{}` cannot be written", path.display()));
        }
        made.push(path);
    }
    Ok(())
}

/// Writes a new file; on failure, nothing of it remains.
///
/// # Errors
/// There is one of that name, or the system refuses.
fn create(path: &Path, text: &str, is_program: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_program { 0o777 } else { 0o666 });
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)))
}
