//! Rows of a store as records, and why one cannot be read.

use serde::Deserialize;
use serde_json::error::Category;
use trellis_core::state::VERSION;

use super::{Row, StoreError};
use crate::journal::Record;

/// Reads a record of a session, as it was stored.
///
/// # Errors
/// It cannot be read, or was written by a newer version.
pub fn read(session: &str, row: &Row) -> Result<Record, StoreError> {
    let place = || format!("record {} of session `{session}`", row.seq);
    let text = row.text.as_ref().map_err(|why| StoreError::Corrupt { place: place(), message: why.to_string() })?;
    let record: Record = serde_json::from_str(text)
        .map_err(|error| newer(session, text).unwrap_or_else(|| StoreError::Corrupt { place: place(), message: unfit(&error) }))?;
    if record.seq != row.seq {
        let message = format!("record {} stands in its place", record.seq);
        return Err(StoreError::Corrupt { place: place(), message });
    }
    Ok(record)
}

/// Returns the reason why a text cannot be read. It may contain a secret, and is not quoted.
pub(super) fn unfit(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Data => format!("at column {} it does not have the form that is expected", error.column()),
        _ => error.to_string(),
    }
}

/// Returns the error if a text cannot be read because it is sealed, or because a newer version wrote it.
pub(super) fn newer(session: &str, text: &str) -> Option<StoreError> {
    if text.starts_with("{\"sealed\":") {
        let help = "name the file with its key (`--key-file`, `TRELLIS_KEY_FILE`)";
        return Some(StoreError::Key(format!("session `{session}` is sealed: {help}")));
    }
    #[derive(Deserialize)]
    struct Versioned {
        state: Version,
    }
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let version = serde_json::from_str::<Versioned>(text).ok()?.state.version;
    let store = format!("session `{session}`").into();
    (version > VERSION).then(|| StoreError::Newer { store, found: version.into(), known: VERSION.into() })
}
