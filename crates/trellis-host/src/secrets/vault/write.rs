//! Writing a vault: one writer at a time, and the whole file at once.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    VaultError,
    file::{Contents, for_owner},
};

/// The time for which another writer is waited for.
const VAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// The right to write a vault, until it is dropped. The lock is a file of its own, since the vault is replaced.
pub(super) struct WriteLock {
    vault: PathBuf,
    lock: File,
}

impl WriteLock {
    /// Waits for other writers. A missing folder is created, with a `.gitignore` of `*`. A link is followed: its target is replaced.
    pub(super) fn acquire(vault: &Path) -> Result<Self, VaultError> {
        let vault = vault.canonicalize().unwrap_or_else(|_| vault.to_owned());
        let folder = folder_of(&vault);
        make_folder(folder).map_err(VaultError::io(folder, "made"))?;
        let path = beside(&vault, ".lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        for_owner(&mut options);
        let lock = options.open(&path).map_err(VaultError::io(&path, "made"))?;
        let give_up = Instant::now() + VAULT_LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { vault, lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < give_up => thread::sleep(LOCK_RETRY_INTERVAL),
                Err(TryLockError::WouldBlock) => return Err(VaultError::Busy(vault)),
                Err(TryLockError::Error(error)) => return Err(VaultError::io(path, "locked")(error)),
            }
        }
    }

    /// Replaces the file's contents.
    pub(super) fn replace(&self, contents: &Contents) -> Result<(), VaultError> {
        let next = beside(&self.vault, ".new");
        let written = write(&next, contents).and_then(|()| fs::rename(&next, &self.vault));
        if written.is_err() {
            let _ = fs::remove_file(&next);
        }
        written.map_err(VaultError::io(&self.vault, "written"))?;
        // The rename is on the disk with its folder; where folders cannot be opened, the system sees to that.
        if let Ok(folder) = File::open(folder_of(&self.vault)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // If it cannot be unlocked, closing the file unlocks it.
        let _ = self.lock.unlock();
    }
}

fn write(path: &Path, contents: &Contents) -> io::Result<()> {
    // A killed writer left it: the holder of the lock is the only writer.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    for_owner(&mut options);
    let mut file = options.open(path)?;
    let mut text = serde_json::to_vec_pretty(contents)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_all()
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(".gitignore"), "*\n")
}

fn folder_of(vault: &Path) -> &Path {
    vault.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(vault: &Path, suffix: &str) -> PathBuf {
    let mut path = vault.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
