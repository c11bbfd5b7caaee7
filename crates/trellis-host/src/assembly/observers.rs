//! Observers of sessions: the collector that the environment names, and metrics.

#[cfg(feature = "telemetry")]
use std::sync::{Mutex, PoisonError};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::OpenStore;
use crate::Sessions;
#[cfg(feature = "metrics")]
use crate::metrics::Metrics;
#[cfg(feature = "telemetry")]
use crate::telemetry::{Export, Otlp, Unsent};

/// Observers of the sessions of one graph. Clones are the same observers.
#[derive(Clone, Debug, Default)]
pub struct Observers(Arc<ObserverSet>);

#[derive(Debug, Default)]
struct ObserverSet {
    graph: String,
    #[cfg(feature = "metrics")]
    metrics: Option<Metrics>,
    #[cfg(feature = "telemetry")]
    exports: Mutex<Vec<Export>>,
}

impl Observers {
    /// Observers of sessions of `graph`: spans go to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names, if it names one.
    pub fn new(graph: &str) -> Self {
        Self(Arc::new(ObserverSet { graph: graph.to_owned(), ..ObserverSet::default() }))
    }

    /// Adds metrics.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self(Arc::new(ObserverSet {
            graph: self.0.graph.clone(),
            metrics: Some(metrics),
            #[cfg(feature = "telemetry")]
            exports: Mutex::default(),
        }))
    }

    /// The metrics, if there are any.
    #[cfg(feature = "metrics")]
    pub fn metrics(&self) -> Option<&Metrics> {
        self.0.metrics.as_ref()
    }

    /// Returns the sessions, observed; with warnings about settings of the environment that are ignored.
    pub fn over(&self, sessions: Sessions) -> (Sessions, Vec<String>) {
        #[cfg(feature = "metrics")]
        let sessions = match &self.0.metrics {
            Some(metrics) => metrics.over(sessions),
            None => sessions,
        };
        #[cfg(feature = "telemetry")]
        return match Otlp::from_env(&self.0.graph) {
            Ok(None) => (sessions, Vec::new()),
            Ok(Some((spans, export))) => {
                let warnings = export.ignored().iter().map(|setting| format!("{setting}; it counts as not set")).collect();
                self.exports().push(export);
                (sessions.hooks(spans), warnings)
            }
            Err(error) => (sessions, vec![format!("no spans are sent: {error}")]),
        };
        #[cfg(not(feature = "telemetry"))]
        (sessions, Vec::new())
    }

    /// Returns the store, observed.
    pub fn observe_store(&self, store: OpenStore) -> OpenStore {
        #[cfg(feature = "metrics")]
        if let Some(metrics) = &self.0.metrics {
            return OpenStore { store: metrics.store(store.store), ..store };
        }
        store
    }

    /// Waits until everything is sent, for `patience` at most, and describes the rest. The sessions must be gone.
    pub fn finish(&self, patience: Duration) -> Option<String> {
        let began = Instant::now();
        let left = || patience.saturating_sub(began.elapsed());
        #[cfg(feature = "telemetry")]
        let unsent = {
            let unsent: Vec<Unsent> = self.exports().drain(..).filter_map(|export| export.finish(left())).collect();
            let spans = unsent.iter().map(|unsent| unsent.spans).sum();
            unsent.into_iter().next_back().map(|last| Unsent { spans, ..last }.to_string())
        };
        #[cfg(not(feature = "telemetry"))]
        let unsent = None;
        #[cfg(feature = "metrics")]
        if let Some(metrics) = &self.0.metrics {
            metrics.finish(left());
        }
        unsent
    }

    #[cfg(feature = "telemetry")]
    fn exports(&self) -> std::sync::MutexGuard<'_, Vec<Export>> {
        self.0.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
