//! Where records lead by what they changed.

use trellis_core::State;

use super::Record;

/// Why records lead to no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// No record opens an epoch.
    #[error("the journal holds no start")]
    NoStart,
    /// A record is missing, or stands in another's place.
    #[error("record {expected} is missing: record {found} stands in its place")]
    Gap {
        /// The `seq` that comes next.
        expected: u64,
        /// The `seq` that was found.
        found: u64,
    },
}

/// The state of the root that records lead to: that of the latest epoch, with every change since. It needs no program: what was recorded is what holds.
///
/// # Errors
/// The records open no epoch, or one of them is missing.
pub fn fold(records: &[Record]) -> Result<State, FoldError> {
    let epoch = records.iter().rposition(|record| record.child.is_none() && record.entry.epoch().is_some()).ok_or(FoldError::NoStart)?;
    let mut state = records[epoch].entry.epoch().cloned().ok_or(FoldError::NoStart)?;
    for (record, expected) in records[epoch + 1..].iter().zip(records[epoch].seq + 1..) {
        if record.seq != expected {
            return Err(FoldError::Gap { expected, found: record.seq });
        }
        if record.child.is_none() {
            record.apply(&mut state);
        }
    }
    Ok(state)
}
