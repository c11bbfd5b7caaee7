//! The stamp of a file: its size, times and identity, which detect a change without reading the file.
//!
//! **Invariant:** a stamp that is trusted was taken when the file had been left alone for so long that a later write must change its times.

use std::{
    fs::{self, Metadata},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

/// Longer than the steps in which any file system counts time (FAT: two seconds).
const COARSEST: Duration = Duration::from_secs(3);

/// A file at one moment, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: SystemTime,
    system: System,
}

#[cfg(unix)]
#[derive(Clone, Debug, PartialEq, Eq)]
struct System {
    device: u64,
    inode: u64,
    /// The time of the last change of content or metadata; nobody can set this one.
    changed: (i64, i64),
    mode: u32,
}

#[cfg(not(unix))]
type System = bool;

impl Stamp {
    /// The file at `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        Ok(Self { size: about.len(), modified: about.modified()?, system: system(&about) })
    }

    /// Bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns its access rights.
    pub(super) fn mode(&self) -> u32 {
        mode(&self.system)
    }

    /// Returns whether a write after this moment must show in the next stamp. A time in the future never settles: then only the bytes show a change.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let old = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age > COARSEST);
        old(self.modified) && changed(&self.system).is_none_or(old)
    }
}

#[cfg(unix)]
fn system(about: &Metadata) -> System {
    use std::os::unix::fs::MetadataExt;
    System { device: about.dev(), inode: about.ino(), changed: (about.ctime(), about.ctime_nsec()), mode: about.mode() }
}

#[cfg(unix)]
fn changed(system: &System) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(system.changed.0).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(seconds + Duration::from_nanos(u64::try_from(system.changed.1).ok()?))
}

#[cfg(unix)]
fn mode(system: &System) -> u32 {
    system.mode
}

#[cfg(not(unix))]
fn system(about: &Metadata) -> System {
    about.permissions().readonly()
}

#[cfg(not(unix))]
fn changed(_: &System) -> Option<SystemTime> {
    None
}

#[cfg(not(unix))]
fn mode(system: &System) -> u32 {
    u32::from(*system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_just_written_is_not_trusted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(file.path()).unwrap();
        let now = SystemTime::now();
        assert!(!stamp.is_settled(now));
        assert!(!stamp.is_settled(now - Duration::from_hours(1)), "nor is one from the future");
        assert!(stamp.is_settled(now + Duration::from_hours(1)));
        fs::write(file.path(), "more").unwrap();
        assert_ne!(stamp, Stamp::of(file.path()).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_time_that_was_set_back_hides_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "one").unwrap();
        let stamp = Stamp::of(file.path()).unwrap();
        // Until the clock that files are stamped with has moved on.
        while Stamp::of(file.path()).unwrap() == stamp {
            fs::write(file.path(), "two").unwrap();
            file.as_file().set_modified(stamp.modified).unwrap();
        }
        let again = Stamp::of(file.path()).unwrap();
        assert_eq!((again.size, again.modified), (stamp.size, stamp.modified));
    }
}
