//! Waiting until files below some paths change.
//!
//! In: paths of graphs and collections, and single files. Out: [`Wake`]s, one for a burst of saves, and for each its [`Extent`]. The caller
//! determines the actual changes: events of file systems are hints, come late, twice or not at all.
//!
//! **Invariant:** a folder is watched before it is listed; a folder that replaces a watched one is watched in its place; folders that the
//! system cannot watch are polled.

mod error;
mod scope;
mod signal;
mod symlinks;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

pub use self::error::WatchError;
use self::{
    scope::{Concern, Scope},
    signal::{Burst, ChangeSignal, Heard},
};
use crate::Extent;

/// The time in which nothing more may happen before a burst of saves is over: longer than editors pause between the steps of one.
const QUIET: Duration = Duration::from_millis(40);
/// The longest burst: after it a waiting caller is woken.
const BURST: Duration = Duration::from_secs(1);
/// The time between two looks for a root: changes of the folders above it raise no event.
const HEARTBEAT: Duration = Duration::from_secs(1);
const HEARTBEAT_WITHOUT_ROOT: Duration = Duration::from_millis(200);
/// The time between two looks at everything where the system does not watch; and the least ratio of a pause to the duration of a look.
const POLL: Duration = Duration::from_millis(500);
const POLL_SHARE: u32 = 20;
/// The number of times that new folders may turn up while others are being watched.
const MAX_WALKS: usize = 16;

/// Watches files below some paths.
#[derive(Debug)]
pub struct Watch {
    roots: Vec<PathBuf>,
    files: BTreeSet<PathBuf>,
    identity: Vec<Option<Identity>>,
    signal: Arc<ChangeSignal>,
    /// The extent of the last wake.
    extent: Extent,
    means: Means,
    trouble: Option<WatchError>,
    /// The time of the last wake: the time since then was spent looking.
    woke: Option<Instant>,
    /// The time of the next look without an event.
    due: Instant,
}

/// The outcome of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something may have changed: look.
    Changed,
    /// The time is over without a change.
    Elapsed,
    /// The watch was closed.
    Closed,
}

/// Ends or wakes a wait from another thread.
#[derive(Clone, Debug)]
pub struct WatchHandle(Arc<ChangeSignal>);

#[derive(Debug)]
enum Means {
    /// The folders that are watched, whether with all that is below them, and which they were.
    System {
        watcher: RecommendedWatcher,
        watched: BTreeMap<(PathBuf, bool), Option<Identity>>,
    },
    Polling,
}

/// The folder or file that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    real: PathBuf,
    #[cfg(unix)]
    inode: (u64, u64),
}

impl Watch {
    /// Watches the graphs and collections at `paths`: folders with all that counts below them, and single files. They need not exist yet.
    ///
    /// If the system cannot watch, [`Watch::trouble`] has the reason, and everything is polled twice a second, or less often if a look takes long.
    pub fn new<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut watch = Self::polling(paths);
        watch.begin();
        watch.rest(Duration::ZERO);
        watch
    }

    /// Watches by polling, without the system's help: for folders whose changes the system does not report, as on a network or in a virtual machine.
    pub fn polling<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        let roots: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        let identity = roots.iter().map(|root| Identity::of(root)).collect();
        Self {
            roots,
            files: BTreeSet::new(),
            identity,
            signal: Arc::default(),
            extent: Extent::Anything,
            means: Means::Polling,
            trouble: None,
            woke: None,
            due: Instant::now(),
        }
    }

    /// Watches these single files too, besides the paths; those of an earlier call no longer. They need not exist.
    pub fn also<'f>(&mut self, files: impl IntoIterator<Item = &'f Path>) {
        let files = files.into_iter().map(Path::to_owned).collect();
        if self.files != files {
            self.files = files;
            // A save before the watch began would be missed.
            self.signal.ring(Concern::Folder);
        }
    }

    /// Returns the reason why the system does not watch, if it does not.
    pub fn trouble(&self) -> Option<&WatchError> {
        self.trouble.as_ref()
    }

    /// Returns the extent of the last wake. A caller that skips files outside of it must have looked after each wake before.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// Returns the handle that ends or wakes a wait from another thread.
    pub fn handle(&self) -> WatchHandle {
        WatchHandle(Arc::clone(&self.signal))
    }

    /// Waits until something may have changed and the files have been left alone for a moment; at most `timeout`.
    pub fn next(&mut self, timeout: Option<Duration>) -> Wake {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if let Some(woke) = self.woke.take() {
            self.rest(woke.elapsed());
        }
        self.extent = Extent::Anything;
        let wake = loop {
            let until = deadline.map_or(self.due, |deadline| deadline.min(self.due));
            match self.signal.wait(until.saturating_duration_since(Instant::now())) {
                Heard::Closed => break Wake::Closed,
                Heard::Stir => break self.settle(),
                Heard::Nothing if deadline.is_some_and(|deadline| Instant::now() >= deadline) => break Wake::Elapsed,
                Heard::Nothing => {}
            }
            match self.means {
                _ if Instant::now() < self.due => {}
                Means::Polling => break Wake::Changed,
                Means::System { .. } if self.has_moved() => self.signal.ring(Concern::Replaced),
                Means::System { .. } => self.rest(Duration::ZERO),
            }
        };
        self.woke = (wake == Wake::Changed).then(Instant::now);
        wake
    }

    /// Waits for the end of a burst, and then updates the watched folders.
    fn settle(&mut self) -> Wake {
        let Some(Burst { concern, extent, .. }) = self.signal.settle(QUIET, BURST) else { return Wake::Closed };
        self.extent = extent;
        match concern {
            Concern::File => {}
            Concern::Folder => self.extend(),
            // A new watch would have to wait until the writer of so many events pauses.
            Concern::Lost if !self.means.is_replaced() => self.extend(),
            Concern::Lost | Concern::Replaced => self.begin(),
        }
        Wake::Changed
    }

    /// Schedules the next look without an event: the longer a look takes, the later.
    fn rest(&mut self, looking: Duration) {
        let rest = match self.means {
            Means::Polling => POLL.max(looking * POLL_SHARE),
            Means::System { .. } if self.identity.iter().all(Option::is_some) => HEARTBEAT,
            Means::System { .. } => HEARTBEAT_WITHOUT_ROOT,
        };
        self.due = Instant::now().checked_add(rest).unwrap_or(self.due);
    }

    /// Returns whether a root came, went, or is another folder now.
    fn has_moved(&self) -> bool {
        !self.roots.iter().map(|root| Identity::of(root)).eq(self.identity.iter().cloned())
    }

    /// Begins to watch, with nothing that came before.
    fn begin(&mut self) {
        if self.trouble.is_some() {
            return;
        }
        // The old one ends first: a system has few of them to give.
        self.means = Means::Polling;
        let signal = Arc::clone(&self.signal);
        match notify::recommended_watcher(move |event| signal.event(&event)) {
            Ok(watcher) => {
                self.means = Means::System { watcher, watched: BTreeMap::new() };
                self.extend();
            }
            Err(error) => self.give_up(error),
        }
    }

    /// Watches folders that are new, until there are no more of them: each may have been filled before it was watched.
    fn extend(&mut self) {
        for _ in 0..MAX_WALKS {
            self.identity = self.roots.iter().map(|root| Identity::of(root)).collect();
            let scope = Scope::of(&self.roots, &self.files);
            let wanted = scope.watched();
            self.signal.listen_for(Arc::new(scope));
            let Means::System { watcher, watched } = &mut self.means else { return };
            let mut news = false;
            let mut failed = None;
            for (folder, deep) in wanted.into_iter().filter(|folder| !watched.contains_key(folder)).collect::<Vec<_>>() {
                let mode = if deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
                // Before it is watched: a folder that takes its place in between is then another one.
                let identity = Identity::of(&folder);
                match watcher.watch(&folder, mode) {
                    Ok(()) => news |= watched.insert((folder, deep), identity).is_none(),
                    Err(error) if is_of_folder(&error) => {}
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(error) = failed {
                return self.give_up(error);
            }
            if !news {
                return;
            }
        }
    }

    fn give_up(&mut self, error: notify::Error) {
        self.means = Means::Polling;
        self.trouble = Some(WatchError::from_system(error));
    }
}

/// Returns whether the error is about one folder that cannot be watched, because it is gone or access to it is denied: the folder above
/// reports when that changes.
fn is_of_folder(error: &notify::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(cause) => matches!(cause.kind(), NotFound | NotADirectory | PermissionDenied),
        _ => false,
    }
}

impl Means {
    /// Returns whether a folder that is watched is gone, or another one.
    fn is_replaced(&self) -> bool {
        match self {
            Self::System { watched, .. } => watched.iter().any(|((folder, _), identity)| Identity::of(folder) != *identity),
            Self::Polling => false,
        }
    }
}

impl WatchHandle {
    /// Ends the current wait, and every later one.
    pub fn close(&self) {
        self.0.close();
    }

    /// Wakes the current wait, or the next one, as a change does.
    pub fn wake(&self) {
        self.0.ring(Concern::File);
    }
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let real = fs::canonicalize(path).ok()?;
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt;
            let about = fs::metadata(&real).ok()?;
            (about.dev(), about.ino())
        };
        Some(Self {
            real,
            #[cfg(unix)]
            inode,
        })
    }
}
