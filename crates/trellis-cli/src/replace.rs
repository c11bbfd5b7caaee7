//! Files are replaced as a whole: readers see the old text or the new one, whatever happens in between.
//!
//! **Invariant:** a file keeps its bytes, or has all of the new ones; its permissions and links stay.

use std::{
    fs::{self, File, Metadata},
    io::{self, Write},
    path::Path,
};

/// What begins the names of files that are being written; graphs do not read hidden files.
const UNFINISHED: &str = ".trellis-";

/// Gives the file at `path` these bytes. A link is followed; what it leads to is replaced.
///
/// # Errors
/// What the system says; the file is as it was then.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    let target = if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    let about = fs::metadata(&target)?;
    if about.permissions().readonly() {
        // A rename would not ask.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let folder = target.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let mut unfinished = tempfile::Builder::new().prefix(UNFINISHED).permissions(about.permissions()).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    take_after(unfinished.as_file(), &about)?;
    unfinished.persist(&target)?;
    Ok(())
}

/// Gives a new file the owner and the permissions of the one whose place it takes.
#[cfg(unix)]
fn take_after(file: &File, about: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (about.uid(), about.gid()) {
        // Only some may give files away; for everyone else it becomes theirs.
        let _ = fchown(file, Some(about.uid()), Some(about.gid()));
    }
    if new.mode() != about.mode() {
        file.set_permissions(about.permissions())?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn take_after(file: &File, about: &Metadata) -> io::Result<()> {
    file.set_permissions(about.permissions())
}
