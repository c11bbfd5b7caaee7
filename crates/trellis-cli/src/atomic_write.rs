//! Atomic replacement of files: readers see the old text or the new one, even after a crash.
//!
//! An editor may save while a file is formatted. So the new file and the old one are exchanged in one step (`RENAME_EXCHANGE`), and only then the
//! old one is compared with the text that was read: if it differs, they are exchanged back. A save between these two steps is detected likewise.
//!
//! **Invariant:** a file has its old bytes or all of the new ones; it keeps its permissions and links; a concurrent save is never overwritten.

use std::{
    fs::{self, File, Metadata},
    io::{self, Write},
    path::Path,
    thread,
    time::Duration,
};

use tempfile::NamedTempFile;

/// The beginning of the names of files that are being written; graphs do not read hidden files.
const UNFINISHED: &str = ".trellis-";

/// Greatest number of exchanges; a program that saves faster wins.
const EXCHANGES: usize = 64;

/// Number of comparisons of an old file before the last one, and the pause after each.
const LOOKS: usize = 2;
const MOMENT: Duration = Duration::from_micros(100);

/// The reason why a file was not replaced. It has the text of its last save.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreplaced {
    #[error("it was changed meanwhile\nrun the command again")]
    Changed,
    #[error("nothing can be written beside it: {0}")]
    Folder(io::ErrorKind),
    #[error(transparent)]
    Failed(#[from] io::Error),
}

/// Gives the file at `path`, which had the bytes `before` when it was read, the bytes `after`. A link is followed; what it leads to is replaced.
///
/// # Errors
/// The file has changed, or the system refuses.
pub(crate) fn replace(path: &Path, before: &[u8], after: &[u8]) -> Result<(), Unreplaced> {
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    let target = if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    let about = fs::metadata(&target)?;
    if about.permissions().readonly() {
        // A rename would not ask.
        return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
    }
    let folder = target.parent().ok_or(io::Error::from(io::ErrorKind::IsADirectory))?;
    let unfinished = tempfile::Builder::new().prefix(UNFINISHED).permissions(about.permissions()).tempfile_in(folder);
    let mut unfinished = unfinished.map_err(|error| Unreplaced::Folder(error.kind()))?;
    unfinished.write_all(after)?;
    take_after(unfinished.as_file(), &about)?;
    put_in_place(unfinished, &target, before, after)
}

/// Creates a new file, completely or not at all.
///
/// # Errors
/// The path exists by now, or the system refuses.
pub(crate) fn create(path: &Path, text: &[u8]) -> Result<(), Unreplaced> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut unfinished = builder.tempfile_in(folder).map_err(|error| Unreplaced::Folder(error.kind()))?;
    unfinished.write_all(text)?;
    match unfinished.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(Unreplaced::Changed),
        Err(error) => Err(error.error.into()),
    }
}

/// Replaces the target by a finished file, unless the target differs from what was read.
fn put_in_place(unfinished: NamedTempFile, target: &Path, before: &[u8], after: &[u8]) -> Result<(), Unreplaced> {
    if fs::read(target)? != before {
        return Err(Unreplaced::Changed);
    }
    match exchange(target, unfinished.path()) {
        Ok(()) => {}
        // This file system cannot.
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => {
            return Ok(unfinished.persist(target).map(drop).map_err(io::Error::from)?);
        }
        Err(error) => return Err(error.into()),
    }
    if is_left_alone(unfinished.path(), before)? {
        return Ok(());
    }
    for _ in 0..EXCHANGES {
        exchange(target, unfinished.path())?;
        if fs::read(unfinished.path())? == after {
            return Err(Unreplaced::Changed);
        }
    }
    // The version that somebody saved lies beside the file: it is kept.
    let (_, copy) = unfinished.keep().map_err(|error| error.error)?;
    Err(io::Error::other(format!("somebody saves it all the time; a version of it is `{}`", copy.display())).into())
}

/// Returns whether the old file is still what was read. An editor that writes into the file may have opened it just before it was moved away, so it
/// gets a moment to begin.
fn is_left_alone(old: &Path, before: &[u8]) -> io::Result<bool> {
    for _ in 0..LOOKS {
        if fs::read(old)? != before {
            return Ok(false);
        }
        thread::sleep(MOMENT);
    }
    Ok(fs::read(old)? == before)
}

/// Lets a file and the one beside it change places. Who watches the folder hears of the first path last: that it has a new file. The other way
/// round it would be that the file went away.
fn exchange(target: &Path, beside: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, target, CWD, beside, RenameFlags::EXCHANGE)?)
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = (target, beside);
        Err(io::ErrorKind::Unsupported.into())
    }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Saves as editors do: beside the file and then in its place, or into the file itself.
    fn save(path: &Path, text: &str, in_place: bool) {
        if in_place {
            return fs::write(path, text).unwrap();
        }
        let beside = path.with_extension("saved");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, path).unwrap();
    }

    #[test]
    fn what_an_editor_saves_at_the_same_moment_is_there() {
        for in_place in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("node.md");
            save(&path, "draft 0", in_place);
            for round in 1..=300 {
                let draft = format!("draft {round}");
                let is_saved = AtomicBool::new(false);
                std::thread::scope(|threads| {
                    threads.spawn(|| {
                        save(&path, &draft, in_place);
                        is_saved.store(true, Ordering::Release);
                    });
                    // Like `fmt`, again and again until the editor is done.
                    while !is_saved.load(Ordering::Acquire) {
                        let before = fs::read(&path).unwrap();
                        // An editor that writes into the file empties it first, and an empty file has nothing to format.
                        if before.is_empty() {
                            continue;
                        }
                        let after = [&before[..], b" formatted"].concat();
                        match replace(&path, &before, &after) {
                            Ok(()) | Err(Unreplaced::Changed) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.starts_with(&draft), "round {round}: {text:?}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing lies beside it");
        }
    }

    #[test]
    fn a_file_that_is_another_one_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.md");
        fs::write(&path, "newer").unwrap();
        assert!(matches!(replace(&path, b"older", b"formatted"), Err(Unreplaced::Changed)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
    }

    /// Editors reload what is open by what a watched folder says of it last.
    #[cfg(target_os = "linux")]
    #[test]
    fn who_watches_the_folder_hears_that_the_file_is_there() {
        use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.md");
        fs::write(&path, "draft").unwrap();
        let watched = init(CreateFlags::NONBLOCK).unwrap();
        add_watch(&watched, folder.path(), WatchFlags::MOVE | WatchFlags::CREATE | WatchFlags::DELETE).unwrap();
        replace(&path, b"draft", b"formatted").unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); 4096];
        let mut heard = Reader::new(&watched, &mut space);
        let mut of_file = Vec::new();
        while let Ok(event) = heard.next() {
            if event.file_name() == Some(c"node.md") {
                of_file.push(event.events());
            }
        }
        assert!(of_file.last().is_some_and(|last| last.contains(ReadFlags::MOVED_TO)), "{of_file:?}");
    }
}
