//! Heads, records and appends that look like those of sessions.

use std::sync::Arc;

use serde_json::json;
use trellis_core::SessionId;
use trellis_host::store::{Append, Head, Query, Removal, SessionStatus, SessionStore, StoreError, Stored, Which};

/// The head of a session that goes on with `next`, and moved at that moment.
pub(crate) fn head(session: &str, next: u64) -> Head {
    Head {
        session: session.into(),
        graph: "orders".into(),
        program: "f00dfeed".into(),
        next,
        began: 1_790_000_000_000,
        at: 1_790_000_000_000 + next,
        node: "orders/ask".into(),
        standing: SessionStatus::WaitingForInput,
        due: None,
    }
}

/// A record: JSON on one line.
pub(crate) fn record(seq: u64, text: &str) -> Arc<str> {
    json!({ "seq": seq, "text": text }).to_string().into()
}

/// A snapshot: JSON on one line.
pub(crate) fn snapshot(text: &str) -> Arc<str> {
    json!({ "state": { "text": text } }).to_string().into()
}

/// Appends a record for each text, behind `expected`.
pub(crate) fn append(session: &str, expected: u64, texts: &[&str]) -> Append {
    let records: Vec<_> = texts.iter().zip(expected..).map(|(text, seq)| record(seq, text)).collect();
    let head = head(session, expected + records.len() as u64);
    Append { session: session.into(), expected, records, head, snapshot: None }
}

/// The same with a snapshot.
pub(crate) fn with_snapshot(append: Append, text: &str) -> Append {
    Append { snapshot: Some(snapshot(text)), ..append }
}

/// The same with another head.
pub(crate) fn with_head(mut append: Append, change: impl FnOnce(&mut Head)) -> Append {
    change(&mut append.head);
    append
}

/// Loads one session.
pub(crate) async fn load(store: &dyn SessionStore, session: &str) -> Option<Stored> {
    let mut stored = store.load(&[SessionId::from(session)]).await.unwrap();
    assert_eq!(stored.len(), 1);
    stored.remove(0)
}

/// Its records as they were kept, all of them readable and numbered on from `from`.
pub(crate) async fn texts(store: &dyn SessionStore, session: &str, from: u64) -> Vec<Arc<str>> {
    let rows = store.records(&session.into(), from, usize::MAX).await.unwrap();
    let numbers: Vec<_> = rows.iter().map(|row| row.seq).collect();
    let first = numbers.first().copied().unwrap_or(from);
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>());
    rows.into_iter().map(|row| row.text.unwrap()).collect()
}

/// Makes a query for `list`, without a filter.
pub(crate) fn query(which: Which, after: Option<(u64, &str)>, limit: usize) -> Query {
    Query { graph: None, which, after: after.map(|(at, session)| (at, session.into())), limit }
}

/// The names of what was listed.
pub(crate) fn names(heads: &[Head]) -> Vec<&str> {
    heads.iter().map(|head| head.session.as_str()).collect()
}

/// Takes a session out.
pub(crate) async fn take_out(store: &dyn SessionStore, session: &str, expected: u64) -> Result<(), StoreError> {
    store.remove(&session.into(), Removal::Session { expected }).await
}

/// The conflict of a session.
pub(crate) fn conflict(session: &str, expected: u64, found: u64) -> StoreError {
    StoreError::Conflict { session: session.into(), expected, found }
}
