//! The records of a session, as `session show --json` prints them.

use serde_json::{Value as Json, json};
use trellis_core::SessionId;
use trellis_host::history::History;

use crate::{served::ServedGraph, trouble::Trouble};

/// The records to return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordQuery {
    pub(crate) from: u64,
    pub(crate) limit: usize,
    /// True for the newest records.
    pub(crate) newest: bool,
}

/// A record, or a note in its place.
#[derive(Clone, Debug)]
pub(crate) struct RecordRow {
    pub(crate) seq: u64,
    pub(crate) json: Json,
}

/// A page of records.
#[derive(Clone, Debug)]
pub(crate) struct RecordPage {
    pub(crate) rows: Vec<RecordRow>,
    /// The number of the oldest stored record.
    pub(crate) first: u64,
    /// The first of the next page, if there is one.
    pub(crate) next: Option<u64>,
}

/// Records of a session; those that cannot be read say so.
///
/// # Errors
/// There is no such session, or the store fails.
pub(crate) async fn records(graph: &ServedGraph, id: &SessionId, query: RecordQuery) -> Result<RecordPage, Trouble> {
    let store = graph.store();
    let history = graph.redactions.history(store, id, if query.newest { 0 } else { query.from }).await?;
    let first = match store.records(id, 0, 1).await?.first() {
        Some(row) => row.seq,
        None => history.head.next,
    };
    let from = if query.newest { history.head.next.saturating_sub(query.limit as u64) } else { query.from };
    let mut rows: Vec<_> = rows(&history).into_iter().filter(|row| row.seq >= from.max(first)).collect();
    let next = rows.get(query.limit).map(|row| row.seq);
    rows.truncate(query.limit);
    Ok(RecordPage { rows, first, next })
}

/// Records from number `from` on.
///
/// # Errors
/// As [`records`].
pub(crate) async fn rows_since(graph: &ServedGraph, id: &SessionId, from: u64) -> Result<Vec<RecordRow>, Trouble> {
    Ok(rows(&graph.redactions.history(graph.store(), id, from).await?))
}

/// Returns whether the store has records from number `from` on; false if it does not respond.
pub(crate) async fn has_records(graph: &ServedGraph, id: &SessionId, from: u64) -> bool {
    graph.store().records(id, from, 1).await.is_ok_and(|rows| !rows.is_empty())
}

fn rows(history: &History) -> Vec<RecordRow> {
    let records = history.records.iter().map(|record| RecordRow { seq: record.seq, json: json!(record) });
    let flaws = history.flaws.iter().filter(|flaw| !flaw.is_pruned);
    let missing =
        flaws.map(|flaw| RecordRow { seq: flaw.seq, json: json!({ "seq": flaw.seq, "until": flaw.until, "unreadable": &*flaw.why }) });
    let mut rows: Vec<_> = records.chain(missing).collect();
    rows.sort_by_key(|row| row.seq);
    rows
}
