//! Who else sees what sessions do: the collector that the environment names, and a file with metrics.
//!
//! **Invariant:** a collector that is slow, refuses or is not there costs a run a warning, and [`FLUSH_TIMEOUT`] at its end.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use trellis_host::{
    Sessions,
    metrics::Metrics,
    telemetry::{Export, Otlp},
};

use crate::{output::OutputFile, store_config::OpenStore, terminal};

/// How long a run that is over waits for its last spans to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// How often the metrics of a run that stays are written.
const EVERY: Duration = Duration::from_secs(15);

/// Those who see the sessions of one run.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<ObserverSet>);

#[derive(Default)]
struct ObserverSet {
    graph: String,
    metrics: Option<(Metrics, PathBuf)>,
    exports: Mutex<Vec<Export>>,
    warned: AtomicBool,
}

impl Observers {
    /// Of sessions of `graph`; metrics are written to `metrics`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(graph: &str, metrics: Option<&Path>) -> anyhow::Result<Self> {
        let metrics = metrics.map(|file| (Metrics::new(), file.to_owned()));
        let seeing = Self(Arc::new(ObserverSet { graph: graph.to_owned(), metrics, ..ObserverSet::default() }));
        // Better now than after the work.
        seeing.write_file()?;
        Ok(seeing)
    }

    /// The same sessions, seen.
    pub(crate) fn over(&self, sessions: Sessions) -> Sessions {
        let sessions = match &self.0.metrics {
            Some((metrics, _)) => metrics.over(sessions),
            None => sessions,
        };
        match Otlp::from_env(&self.0.graph) {
            Ok(None) => sessions,
            Ok(Some((spans, export))) => {
                if !export.ignored().is_empty() && !self.0.warned.swap(true, Ordering::Relaxed) {
                    let lines = export.ignored().iter().map(|setting| format!("warning: {setting}; it counts as not set\n"));
                    terminal::print_error(&lines.collect::<String>());
                }
                self.exports().push(export);
                sessions.hooks(spans)
            }
            Err(error) => {
                if !self.0.warned.swap(true, Ordering::Relaxed) {
                    terminal::print_error(&format!("warning: no spans are sent: {error}\n"));
                }
                sessions
            }
        }
    }

    /// The same store, seen.
    pub(crate) fn kept(&self, kept: OpenStore) -> OpenStore {
        match &self.0.metrics {
            Some((metrics, _)) => OpenStore { store: metrics.store(kept.store), ..kept },
            None => kept,
        }
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

    /// Waits for what is still to be sent, and says what was not. The sessions must be gone.
    ///
    /// # Errors
    /// The metrics cannot be written.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        let until = Instant::now() + FLUSH_TIMEOUT;
        let left = || until.saturating_duration_since(Instant::now());
        let unsent: Vec<_> = self.exports().drain(..).filter_map(|export| export.finish(left())).collect();
        let spans = unsent.iter().map(|unsent| unsent.spans).sum();
        if let Some(mut last) = unsent.into_iter().next_back() {
            last.spans = spans;
            terminal::print_error(&format!("warning: {}\n", last));
        }
        if let Some((metrics, _)) = &self.0.metrics {
            metrics.finish(left());
        }
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        let Some((metrics, file)) = &self.0.metrics else { return Ok(()) };
        OutputFile::create(file)?.write_text(&metrics.render())
    }

    /// The same while the run goes on: a device or a pipe gets the last numbers only, since whoever reads it reads once.
    fn write_file(&self) -> anyhow::Result<()> {
        match &self.0.metrics {
            Some((_, file)) if OutputFile::is_passage(file) => Ok(()),
            _ => self.write(),
        }
    }

    fn exports(&self) -> std::sync::MutexGuard<'_, Vec<Export>> {
        self.0.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
