//! The fold of records by their changes.

use trellis_core::State;

use super::Record;

/// The reason why records lead to no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// No record opens an epoch.
    #[error("the journal holds no start")]
    NoStart,
    /// A record is missing, or has another's number.
    #[error("record {expected} is missing: record {found} stands in its place")]
    Gap {
        /// The `seq` that comes next.
        expected: u64,
        /// The `seq` that was found.
        found: u64,
    },
}

/// Returns the state of the root after these records: that of the latest epoch, with every change since. It needs no program: the recorded changes
/// apply.
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
