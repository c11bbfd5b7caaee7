//! The records of a session, as `session show --json` prints them.

use serde_json::{Value as Json, json};
use trellis_core::SessionId;
use trellis_host::history::{History, Redactor};

use crate::{served::ServedGraph, trouble::Trouble};

/// Which records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordQuery {
    pub(crate) from: u64,
    pub(crate) limit: usize,
    /// Whether the newest are meant.
    pub(crate) newest: bool,
}

/// A record, or what stands in its place.
#[derive(Clone, Debug)]
pub(crate) struct RecordRow {
    pub(crate) seq: u64,
    pub(crate) json: Json,
}

/// A page of records.
#[derive(Clone, Debug)]
pub(crate) struct RecordPage {
    pub(crate) rows: Vec<RecordRow>,
    /// The oldest one that is kept.
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
    let mut redactor = graph.redactions.fresh();
    // What is secret may have been typed before the records that are asked for.
    let mut history = match &redactor {
        Some(_) => History::open(store, id).await?,
        None => History::since(store, id, if query.newest { 0 } else { query.from }).await?,
    };
    let first = match store.records(id, 0, 1).await?.first() {
        Some(row) => row.seq,
        None => history.head.next,
    };
    let from = if query.newest { history.head.next.saturating_sub(query.limit as u64) } else { query.from };
    let rows = rows(&mut history, redactor.as_mut());
    let mut rows: Vec<_> = rows.into_iter().filter(|row| row.seq >= from.max(first)).collect();
    let next = rows.get(query.limit).map(|row| row.seq);
    rows.truncate(query.limit);
    Ok(RecordPage { rows, first, next })
}

/// Records from number `from` on, hidden by a redactor that learns from them.
///
/// # Errors
/// As [`records`].
pub(crate) async fn rows_since(
    graph: &ServedGraph,
    id: &SessionId,
    from: u64,
    redactor: Option<&mut Redactor>,
) -> Result<Vec<RecordRow>, Trouble> {
    let mut history = History::since(graph.store(), id, from).await?;
    Ok(rows(&mut history, redactor))
}

/// Whether the store has records from number `from` on. One that does not answer has none to tell.
pub(crate) async fn has_records(graph: &ServedGraph, id: &SessionId, from: u64) -> bool {
    graph.store().records(id, from, 1).await.is_ok_and(|rows| !rows.is_empty())
}

fn rows(history: &mut History, redactor: Option<&mut Redactor>) -> Vec<RecordRow> {
    if let Some(redactor) = redactor {
        redactor.hide(history);
    }
    let records = history.records.iter().map(|record| RecordRow { seq: record.seq, json: json!(record) });
    let flaws = history.flaws.iter().filter(|flaw| !flaw.is_pruned);
    let missing =
        flaws.map(|flaw| RecordRow { seq: flaw.seq, json: json!({ "seq": flaw.seq, "until": flaw.until, "unreadable": &*flaw.why }) });
    let mut rows: Vec<_> = records.chain(missing).collect();
    rows.sort_by_key(|row| row.seq);
    rows
}
