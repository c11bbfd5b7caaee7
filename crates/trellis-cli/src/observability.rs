//! Observers of the sessions of one run: the collector that the environment names, and a file with metrics.
//!
//! **Invariant:** a collector that is slow, unavailable or refuses data costs a run one warning, and at most [`FLUSH_TIMEOUT`] at its end.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use trellis_host::{
    Sessions,
    assembly::{self, OpenStore},
    metrics::Metrics,
};

use crate::{output::OutputFile, terminal};

/// Time that a run that is over waits for its last spans to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// Time between two writes of the metrics of a run that stays.
const EVERY: Duration = Duration::from_secs(15);

/// Those who see the sessions of one run.
#[derive(Clone, Default)]
pub(crate) struct Observers {
    observers: assembly::Observers,
    metrics_file: Option<PathBuf>,
    warned: Arc<AtomicBool>,
}

impl Observers {
    /// Of sessions of `graph`; metrics are written to `metrics`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(graph: &str, metrics: Option<&Path>) -> anyhow::Result<Self> {
        let mut observers = assembly::Observers::new(graph);
        if metrics.is_some() {
            observers = observers.with_metrics(Metrics::new());
        }
        let seeing = Self { observers, metrics_file: metrics.map(Path::to_owned), ..Self::default() };
        // Better now than after the work.
        seeing.write_file()?;
        Ok(seeing)
    }

    /// Adds the observers to sessions.
    pub(crate) fn over(&self, sessions: Sessions) -> Sessions {
        let (sessions, warnings) = self.observers.over(sessions);
        if !warnings.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            let lines = warnings.iter().map(|warning| format!("warning: {warning}\n"));
            terminal::print_error(&lines.collect::<String>());
        }
        sessions
    }

    /// Adds the observers to a store.
    pub(crate) fn observe_store(&self, store: OpenStore) -> OpenStore {
        self.observers.observe_store(store)
    }

    /// Writes the metrics now and then, for ever.
    pub(crate) async fn stay(&self) -> anyhow::Error {
        loop {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = self.write_file() {
                return error;
            }
        }
    }

    /// Flushes the exporters, and reports what was not sent. The sessions must have been dropped.
    ///
    /// # Errors
    /// The metrics cannot be written.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        if let Some(unsent) = self.observers.finish(FLUSH_TIMEOUT) {
            terminal::print_error(&format!("warning: {unsent}\n"));
        }
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        let (Some(metrics), Some(file)) = (self.observers.metrics(), &self.metrics_file) else { return Ok(()) };
        OutputFile::create(file)?.write_text(&metrics.render())
    }

    /// Writes the metrics during the run. A device or a pipe gets the last numbers only, since it is read once.
    fn write_file(&self) -> anyhow::Result<()> {
        match &self.metrics_file {
            Some(file) if OutputFile::is_stream(file) => Ok(()),
            _ => self.write(),
        }
    }
}
