//! Edits: the files of a graph are read, and read again when they are saved.

use std::{collections::BTreeMap, sync::Arc, thread};

use trellis_host::{
    assembly::{Assembled, LiveGraph},
    metrics::Metrics,
};
use trellis_project::{Live, Version};

use crate::{
    elsewhere,
    hub::Hub,
    served::{Served, ServedGraph},
    source::{BadGraph, GraphSource},
    trouble::Trouble,
};

/// Edits that wait to be taken up.
const MAX_WAITING_EDITS: usize = 4;

impl Served {
    /// Loads graphs and begins to resume the sessions in their stores. Each is watched from then on if `watch` is true.
    ///
    /// # Errors
    /// There is no graph at a path, two have one name, or a function does not belong to any.
    pub async fn open(sources: Vec<GraphSource>, watch: bool) -> Result<Self, BadGraph> {
        let (hub, metrics) = (Arc::new(Hub::new()), Metrics::new());
        let mut graphs = BTreeMap::<Arc<str>, Arc<ServedGraph>>::new();
        for mut source in sources {
            let name = Arc::clone(&source.store.graph);
            if let Some(other) = graphs.get(&name) {
                return Err(if other.source.path == source.path {
                    BadGraph::Again(source.path)
                } else {
                    BadGraph::Twice { name, one: other.source.path.clone(), other: source.path }
                });
            }
            source.store.store = metrics.store(Arc::clone(&source.store.store));
            let (counted, inner) = (metrics.clone(), Arc::clone(&source.over));
            let source = source.over(move |sessions| counted.over(inner(sessions)));
            let graph = Arc::new(ServedGraph::new(source, Arc::clone(&hub)));
            begin(&graph, watch).await?;
            elsewhere::watch(&graph, &hub);
            graphs.insert(name, graph);
        }
        Ok(Self::new(graphs.into_values(), hub, metrics))
    }
}

/// Loads a graph, and watches it from then on.
///
/// # Errors
/// There is no graph, or a function does not belong to it.
async fn begin(graph: &Arc<ServedGraph>, watch: bool) -> Result<(), BadGraph> {
    if !watch {
        let (version, assembled) = read(graph)?;
        // Mistakes in the graph are among its findings.
        drop(graph.take(&version, assembled).await);
        return Ok(());
    }
    let mut live = LiveGraph::open(&graph.source.path, graph.source.assembly.clone())?;
    drop(graph.take(live.live().version(), live.assemble()).await);
    let (sender, mut edits) = tokio::sync::mpsc::channel::<(Arc<Version>, Assembled)>(MAX_WAITING_EDITS);
    let taker = Arc::downgrade(graph);
    tokio::spawn(async move {
        while let Some((version, assembled)) = edits.recv().await {
            let Some(graph) = taker.upgrade() else { return };
            drop(graph.take(&version, assembled).await);
        }
    });
    // A thread that cannot be had leaves a graph that is read on request only.
    let _ = thread::Builder::new().name(format!("edits of {}", graph.name)).spawn(move || {
        while let Some(reload) = live.next() {
            let Some(assembled) = reload.assembled else { continue };
            if sender.blocking_send((reload.edit.version, assembled)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Reads a graph again, now.
///
/// # Errors
/// It is gone, or a hook objects.
pub(crate) async fn reload(graph: &Arc<ServedGraph>) -> Result<(), Trouble> {
    let reading = Arc::clone(graph);
    let read = tokio::task::spawn_blocking(move || read(&reading)).await;
    let (version, assembled) = match read {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => return Err(Trouble::new(crate::Code::NoProgram, "the graph cannot be read").logged(error.to_string())),
        Err(error) => return Err(Trouble::new(crate::Code::Internal, crate::Code::Internal.title()).logged(error.to_string())),
    };
    graph.take(&version, assembled).await
}

fn read(graph: &ServedGraph) -> Result<(Arc<Version>, Assembled), BadGraph> {
    let live = Live::open(&graph.source.path)?;
    let version = Arc::clone(live.version());
    let assembled = graph.source.assembly.assemble(version.program.as_ref(), &version.documents, &live.root());
    Ok((version, assembled))
}
