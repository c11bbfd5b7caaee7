//! A short name for everything that was compiled: information for people and records, no protection.

use std::sync::Arc;

use crate::syntax::document::{Document, SEED, mix};

/// Sixteen hexadecimal digits over every path and text, the same on every platform.
pub(super) fn of(documents: &[Arc<Document>]) -> Arc<str> {
    let hash = documents.iter().fold(SEED, |hash, document| mix(hash, &document.hash.to_le_bytes()));
    format!("{hash:016x}").into()
}
