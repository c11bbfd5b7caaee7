//! A graph that is edited while it runs: each save becomes a program that can be run here, or the reason why not.

use std::{path::Path, sync::Arc, time::SystemTime};

use trellis_project::{Edit, Live, LoadError, Status, Version, Waited, Watch, WatchError, WatchHandle};

use super::{Assembled, Assembly};

/// A graph on disk, the terms on which it runs, and its saves.
///
/// ```no_run
/// use trellis_host::assembly::{Assembly, LiveGraph};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut graph = LiveGraph::open("graphs/support", Assembly::new())?;
/// let sessions = graph.assembly().sessions(graph.assemble().runnable?, None)?;
/// while let Some(reload) = graph.next() {
///     if let Some(Ok(runnable)) = reload.assembled.map(|assembled| assembled.runnable) {
///         // The sessions go on with it: `sessions.swap(runnable.engine, runnable.bindings)`.
///     }
/// }
/// # drop(sessions);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LiveGraph {
    watch: Watch,
    live: Live,
    assembly: Assembly,
    /// The time at which the version that runs was loaded.
    taken: SystemTime,
}

/// One edit of a graph.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reload {
    /// The edit, with the resulting version.
    pub edit: Edit,
    /// The version as it is assembled here; `None` if the graph is gone.
    pub assembled: Option<Assembled>,
    /// The time at which the version was loaded that stays in use if this one cannot be run.
    pub since: SystemTime,
}

impl LiveGraph {
    /// Loads the graph at a path, and watches it from then on.
    ///
    /// # Errors
    /// There is no graph.
    pub fn open(path: impl AsRef<Path>, assembly: Assembly) -> Result<Self, LoadError> {
        let watch = Watch::new([path.as_ref()]);
        Self::watched(path.as_ref(), watch, assembly)
    }

    /// Opens a graph without the system's events: files are looked at twice a second, which folders of networks and virtual machines need.
    ///
    /// # Errors
    /// There is no graph.
    pub fn polling(path: impl AsRef<Path>, assembly: Assembly) -> Result<Self, LoadError> {
        let watch = Watch::polling([path.as_ref()]);
        Self::watched(path.as_ref(), watch, assembly)
    }

    /// The watch is created before the files are read: it sees a save in between.
    fn watched(path: &Path, watch: Watch, assembly: Assembly) -> Result<Self, LoadError> {
        let live = Live::open(path)?;
        Ok(Self { watch, live, assembly, taken: SystemTime::now() })
    }

    /// Returns the terms on which it is run.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The files as they were read last.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Returns the reason why the system does not help to watch, if it does not.
    pub fn trouble(&self) -> Option<&WatchError> {
        self.watch.trouble()
    }

    /// Returns the handle that ends [`LiveGraph::next`] from another thread.
    pub fn handle(&self) -> WatchHandle {
        self.watch.handle()
    }

    /// The version that was read last, made ready.
    pub fn assemble(&self) -> Assembled {
        self.assembled(self.live.version())
    }

    /// Waits for the next edit: it blocks its thread. Nothing comes after the watch was closed, by [`LiveGraph::handle`].
    #[expect(clippy::should_implement_trait, reason = "an iterator would promise that it can be asked again after the end")]
    pub fn next(&mut self) -> Option<Reload> {
        let Waited::Edit(edit) = self.live.next(&mut self.watch, None) else { return None };
        let is_gone = matches!(edit.status, Status::Gone { .. });
        let assembled = (!is_gone).then(|| self.assembled(&edit.version));
        let since = self.taken;
        if assembled.as_ref().is_some_and(|assembled| assembled.runnable.is_ok()) {
            self.taken = edit.version.at;
        }
        Some(Reload { edit, assembled, since })
    }

    fn assembled(&self, version: &Arc<Version>) -> Assembled {
        self.assembly.assemble(version.program.as_ref(), &version.documents, &self.live.root())
    }
}
