//! Edits: the files of a graph are read, and read again when they are saved.

use std::{sync::Arc, thread};

use trellis_host::assembly::{Assembled, LiveGraph};
use trellis_project::{Live, Version};

use crate::{served::ServedGraph, source::BadGraph, trouble::Trouble};

/// Edits that wait to be taken up.
const MAX_WAITING_EDITS: usize = 4;

/// Loads a graph, and watches it from then on.
///
/// # Errors
/// There is no graph, or a function does not belong to it.
pub(crate) async fn begin(graph: &Arc<ServedGraph>, watch: bool) -> Result<(), BadGraph> {
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
