//! A short name for everything that was compiled: information for people and records, no protection.

use std::sync::Arc;

use crate::syntax::document::Document;

/// Sixteen hexadecimal digits over every path and text, the same on every platform.
pub(super) fn of(documents: &[Arc<Document>]) -> Arc<str> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for document in documents {
        hash = mix(hash, document.path.as_bytes());
        hash = mix(hash, document.text.as_bytes());
    }
    format!("{hash:016x}").into()
}

/// Eight bytes at a time, so that ten thousand files cost a millisecond.
fn mix(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(8);
    let mut step = |word: u64| hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    for chunk in &mut chunks {
        step(chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }
    step(chunks.remainder().iter().fold(bytes.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
    hash
}
