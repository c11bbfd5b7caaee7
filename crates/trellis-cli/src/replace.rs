//! Files are replaced as a whole: readers see the old text or the new one, whatever happens in between.
//!
//! **Invariant:** a file keeps its bytes, or has all of the new ones; its permissions and links stay.

use std::{
    fs,
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
    let target = fs::canonicalize(path)?;
    let about = fs::metadata(&target)?;
    if about.permissions().readonly() {
        // A rename would not ask.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let folder = target.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let mut unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    let file = unfinished.as_file();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only for those who may give files away; for everyone else it is theirs already, or becomes theirs.
        let _ = fchown(file, Some(about.uid()), Some(about.gid()));
    }
    file.set_permissions(about.permissions())?;
    unfinished.persist(&target)?;
    Ok(())
}
