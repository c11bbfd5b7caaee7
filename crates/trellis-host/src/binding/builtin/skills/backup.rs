//! A copy of declared paths, and their restoration, byte for byte.
//!
//! Files, folders and links are recorded with their modes, files with their times, and absent paths as absent. The restoration writes different
//! files, removes paths that were absent, and may be interrupted anywhere and repeated.
//!
//! **Invariant:** nothing is written through a link, and a file is replaced as a whole.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

/// The name of a file that is written beside the one that it is to replace.
const RESTORE_SUFFIX: &str = ".trellis-restore";

/// The former content of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
pub(super) enum SavedEntry {
    /// A file; its bytes are the copy of this number.
    File {
        mode: u32,
        size: u64,
        crc: u32,
        copy: usize,
        /// The time at which it was written; backups of earlier versions do not say.
        #[serde(default)]
        modified: Option<SystemTime>,
    },
    /// A folder: with its whole content, or on the path to a declared one.
    Folder {
        mode: u32,
        whole: bool,
    },
    Link {
        target: PathBuf,
    },
    /// No entry. On the path to a declared one, a folder is removed only if nothing is left in it.
    Absent {
        on_the_way: bool,
    },
}

/// The former content of the declared paths, by their paths below the workspace: each folder before its content.
pub(super) type SavedTree = BTreeMap<PathBuf, SavedEntry>;

/// Copies these paths below a workspace into the folder `copies`.
///
/// # Errors
/// A path cannot be read, or not be written; the copies so far are left to the caller.
pub(super) fn save(workspace: &Path, paths: &[PathBuf], copies: &Path) -> io::Result<SavedTree> {
    fs::create_dir_all(copies)?;
    let mut saving = Saving { workspace, copies, found: SavedTree::new(), next: 0 };
    for path in paths {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            saving.folder(folder)?;
        }
        saving.whole(path)?;
    }
    Ok(saving.found)
}

struct Saving<'s> {
    workspace: &'s Path,
    copies: &'s Path,
    found: SavedTree,
    next: usize,
}

impl Saving<'_> {
    /// Notes a folder above a declared path.
    fn folder(&mut self, path: &Path) -> io::Result<()> {
        if !self.found.contains_key(path) {
            let entry = match about(&self.workspace.join(path))? {
                Some(about) => SavedEntry::Folder { mode: mode(&about), whole: false },
                None => SavedEntry::Absent { on_the_way: true },
            };
            self.found.insert(path.to_owned(), entry);
        }
        Ok(())
    }

    fn whole(&mut self, path: &Path) -> io::Result<()> {
        let real = self.workspace.join(path);
        let entry = match about(&real)? {
            None => SavedEntry::Absent { on_the_way: false },
            Some(about) if about.is_symlink() => SavedEntry::Link { target: fs::read_link(&real)? },
            Some(about) if about.is_dir() => {
                for entry in fs::read_dir(&real)? {
                    self.whole(&path.join(entry?.file_name()))?;
                }
                SavedEntry::Folder { mode: mode(&about), whole: true }
            }
            Some(about) if about.is_file() => {
                let (size, crc) = copy(&real, &self.copies.join(self.next.to_string()))?;
                self.next += 1;
                SavedEntry::File { mode: mode(&about), size, crc, copy: self.next - 1, modified: about.modified().ok() }
            }
            Some(_) => return Err(io::Error::other(format!("`{}` is neither file, folder nor link", path.display()))),
        };
        self.found.insert(path.to_owned(), entry);
        Ok(())
    }
}

/// Restores the former content. A file that has it already is not written.
///
/// # Errors
/// A copy is damaged, or something cannot be written or removed; it may be tried again.
pub(super) fn restore(workspace: &Path, saved: &SavedTree, copies: &Path) -> io::Result<()> {
    // Paths that were absent are removed first: a full disk has space again.
    for (path, _) in saved.iter().filter(|(_, entry)| matches!(entry, SavedEntry::Absent { on_the_way: false })) {
        if reaches(workspace, path)? {
            remove(&workspace.join(path))?;
        }
    }
    for (path, entry) in saved {
        let real = workspace.join(path);
        match entry {
            SavedEntry::Folder { whole, .. } => {
                make_folder(&real)?;
                if *whole {
                    prune(path, &real, saved)?;
                }
            }
            SavedEntry::File { mode, size, crc, copy, modified } => {
                write(&real, &copies.join(copy.to_string()), (*size, *crc), *modified)?;
                set_mode(&real, *mode)?;
            }
            SavedEntry::Link { target } if fs::read_link(&real).is_ok_and(|found| found == *target) => {}
            SavedEntry::Link { target } => {
                remove(&real)?;
                link(target, &real)?;
            }
            SavedEntry::Absent { .. } => {}
        }
    }
    // From the inside out: a folder that may not be written gets its mode back when all in it is done.
    for (path, entry) in saved.iter().rev() {
        match entry {
            SavedEntry::Folder { mode, .. } => set_mode(&workspace.join(path), *mode)?,
            SavedEntry::Absent { on_the_way: true } => drop(fs::remove_dir(workspace.join(path))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether every folder above a path is one, and no link: only then the path is one below the workspace.
fn reaches(workspace: &Path, path: &Path) -> io::Result<bool> {
    for folder in path.ancestors().skip(1) {
        if !about(&workspace.join(folder))?.is_some_and(|about| about.is_dir()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes entries that a folder did not hold.
fn prune(path: &Path, real: &Path, saved: &SavedTree) -> io::Result<()> {
    for entry in fs::read_dir(real)? {
        let name = entry?.file_name();
        if !saved.contains_key(&path.join(&name)) {
            remove(&real.join(name))?;
        }
    }
    Ok(())
}

/// Makes a folder that can be written, in place of any other entry.
fn make_folder(path: &Path) -> io::Result<()> {
    match about(path)? {
        Some(about) if about.is_dir() => open_up(path, &about),
        found => {
            if found.is_some() {
                remove(path)?;
            }
            fs::create_dir(path)
        }
    }
}

/// Replaces a file by a copy, unless it has the same bytes, and restores its time.
fn write(path: &Path, copy: &Path, (size, crc): (u64, u32), modified: Option<SystemTime>) -> io::Result<()> {
    let draft = path.with_file_name(RESTORE_SUFFIX);
    remove(&draft)?;
    let about = about(path)?;
    let is_same = about.as_ref().is_some_and(|about| about.is_file() && about.len() == size) && {
        // A file that may not be read is rewritten.
        measure(path, &mut io::sink()).is_ok_and(|found| found == (size, crc)) && is_equal(path, copy)?
    };
    if is_same {
        if let Some(modified) = modified.filter(|modified| about.is_some_and(|about| about.modified().ok() != Some(*modified))) {
            // Only its owner may; the bytes are written.
            let _ = File::open(path).and_then(|file| file.set_modified(modified));
        }
    } else {
        let mut file = File::create(&draft)?;
        if measure(copy, &mut file)? != (size, crc) {
            drop(file);
            remove(&draft)?;
            return Err(io::Error::other(format!("the copy `{}` is damaged", copy.display())));
        }
        modified.map_or(Ok(()), |modified| file.set_modified(modified))?;
        file.sync_all()?;
        if about.is_some_and(|about| about.is_dir()) {
            remove(path)?;
        }
        fs::rename(&draft, path)?;
    }
    Ok(())
}

fn is_equal(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (io::BufReader::new(File::open(one)?), io::BufReader::new(File::open(other)?));
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let length = one.read(&mut a)?;
        if length == 0 {
            return Ok(other.read(&mut b)? == 0);
        }
        if other.read_exact(&mut b[..length]).is_err() || a[..length] != b[..length] {
            return Ok(false);
        }
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<(u64, u32)> {
    let mut file = File::create(to)?;
    let measured = measure(from, &mut file)?;
    file.sync_all()?;
    Ok(measured)
}

/// Writes a file on, and gives its size and its hash.
fn measure(from: &Path, to: &mut impl Write) -> io::Result<(u64, u32)> {
    let mut from = File::open(from)?;
    let (mut hash, mut size, mut chunk) = (crc32fast::Hasher::new(), 0_u64, vec![0; 64 << 10]);
    loop {
        let length = from.read(&mut chunk)?;
        if length == 0 {
            return Ok((size, hash.finalize()));
        }
        hash.update(&chunk[..length]);
        size += length as u64;
        to.write_all(&chunk[..length])?;
    }
}

/// Removes the entry at a path, also folders that may not be written.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let Some(about) = about(path)? else { return Ok(()) };
    if !about.is_dir() {
        return fs::remove_file(path);
    }
    open_up(path, &about)?;
    for entry in fs::read_dir(path)? {
        remove(&path.join(entry?.file_name()))?;
    }
    fs::remove_dir(path)
}

/// Returns the metadata of a path, links not followed; `None` if it does not exist.
fn about(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match path.symlink_metadata() {
        Ok(about) => Ok(Some(about)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn mode(about: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Lets the owner do everything with a folder.
#[cfg(unix)]
fn open_up(path: &Path, about: &fs::Metadata) -> io::Result<()> {
    if mode(about) & 0o700 == 0o700 { Ok(()) } else { set_mode(path, mode(about) | 0o700) }
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn mode(about: &fs::Metadata) -> u32 {
    u32::from(about.permissions().readonly())
}

#[cfg(not(unix))]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = path.metadata()?.permissions();
    permissions.set_readonly(mode == 1);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn open_up(path: &Path, _: &fs::Metadata) -> io::Result<()> {
    set_mode(path, 0)
}

#[cfg(not(unix))]
fn link(_: &Path, path: &Path) -> io::Result<()> {
    Err(io::Error::other(format!("the link `{}` cannot be made on this system", path.display())))
}
