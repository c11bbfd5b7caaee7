//! Checks that every graph can be run.

use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::Instant;
use trellis_core::SessionId;
use trellis_host::store::{Append, Head, Removal, SessionStatus, SessionStore, StoreError};

use crate::{
    served::Served,
    trouble::{Code, Trouble},
};

/// The name of what is written to try a store, and of its graph. Neither a session nor a graph can be called so.
const PROBE: &str = ".readyz/probe";
/// The time for which an answer counts, so that nobody fills a disk by asking.
const FRESH: Duration = Duration::from_secs(1);
/// The longest time that a store may take.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks that every graph has a program and a store that can be written, and that the application around them works.
///
/// # Errors
/// One has not, or the server stops.
pub(crate) async fn ready(served: &Served) -> Result<(), Trouble> {
    if served.is_stopping() {
        return Err(Trouble::new(Code::Stopping, Code::Stopping.title()));
    }
    for graph in served.all() {
        graph.program()?;
    }
    if let Some(unready) = served.readiness.0.get()
        && let Some(why) = unready().await
    {
        return Err(Trouble::new(Code::Unready, why));
    }
    let mut last = served.trial.0.lock().await;
    if let Some((_, result)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
        return result.clone();
    }
    let tried = try_join_all(served.all().map(|graph| try_to_write(graph.store())));
    let result = match tokio::time::timeout(STORE_TIMEOUT, tried).await {
        Ok(tried) => tried.map(drop).map_err(Trouble::from),
        Err(_) => Err(Trouble::new(Code::StoreUnavailable, format!("the store did not answer within {} s", STORE_TIMEOUT.as_secs()))),
    };
    *last = Some((Instant::now(), result.clone()));
    result
}

/// Writes a record of no session, and removes it.
async fn try_to_write(store: &dyn SessionStore) -> Result<(), StoreError> {
    let (session, graph, program, node) = (SessionId::from(PROBE), PROBE.into(), "".into(), "".into());
    let at = crate::clock::now();
    let head =
        Head { session: session.clone(), graph, program, next: 1, began: at, at, node, standing: SessionStatus::Finished, due: None };
    let append = Append { session: session.clone(), expected: 0, records: vec!["{}".into()], head, snapshot: None };
    let appended = store.append(append).await;
    let removed = store.remove(&session, Removal::Session { expected: 1 }).await;
    // Another server tries the same store now, or was killed while it did.
    let is_done = |tried: &Result<(), StoreError>| !matches!(tried, Err(StoreError::Conflict { .. }));
    [appended, removed].into_iter().filter(is_done).collect()
}
