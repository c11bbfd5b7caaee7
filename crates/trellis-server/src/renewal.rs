//! Sessions that wait while their graph is edited: they take the program up, and tell their listeners what they ask now.

use std::sync::Arc;

use futures_util::StreamExt as _;
use trellis_host::Sessions;

use crate::hub::Hub;

/// The sessions that take a program up at once.
const ABREAST: usize = 16;

/// Begins to let the sessions of a graph that wait in memory take its program up.
pub(crate) fn begin(graph: &Arc<str>, sessions: Arc<Sessions>, hub: &Arc<Hub>) {
    let (graph, hub) = (Arc::clone(graph), Arc::clone(hub));
    tokio::spawn(async move {
        let renewed = futures_util::stream::iter(sessions.outdated()).for_each_concurrent(ABREAST, |id| {
            let (graph, sessions, hub) = (&graph, &sessions, &hub);
            async move {
                // It may have been paused meanwhile.
                if !sessions.is_paused(&id) {
                    let turn = sessions.resume(&id).await;
                    hub.turn(graph, &id, turn);
                }
            }
        });
        renewed.await;
    });
}
