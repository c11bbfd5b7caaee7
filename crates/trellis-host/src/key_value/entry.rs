//! The record of a key: the text of its newest record.

use serde::{Deserialize, Serialize};
use trellis_core::{SessionId, Value};

use super::{StoredValue, ValueError};
use crate::store::{StoreError, Stored};

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ValueRecord {
    /// There is a value, until its time is over.
    StoredValue {
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
    },
    /// It was removed; until then its number is stored.
    Gone { until: u64 },
}

impl ValueRecord {
    /// JSON on one line.
    ///
    /// # Errors
    /// It would not come back as it is.
    pub(super) fn text(&self) -> Result<String, ValueError> {
        let text = serde_json::to_string(self).map_err(|_| ValueError::Value)?;
        let is_same = serde_json::from_str(&text).is_ok_and(|back: Self| back == *self);
        if is_same { Ok(text) } else { Err(ValueError::Value) }
    }
}

/// The place of a key.
#[derive(Debug, Default)]
pub(super) struct KeyPlace {
    /// The number of its writes.
    pub(super) next: u64,
    /// The time of its first write, in milliseconds since 1970.
    pub(super) began: Option<u64>,
    entry: Option<ValueRecord>,
}

impl KeyPlace {
    /// # Errors
    /// The newest record cannot be read. An older one is not asked: its value was replaced.
    pub(super) fn read(session: &SessionId, stored: &Stored) -> Result<Self, StoreError> {
        let corrupt = |message: String| StoreError::Corrupt { place: format!("value `{session}`"), message };
        let snapshot = stored.snapshot.as_ref().map(|(_, text)| text);
        let text = match stored.records.last() {
            Some(row) => Some(row.text.as_ref().map_err(|message| corrupt(message.to_string()))?),
            None => snapshot,
        };
        // The message about an unreadable text shows nothing of it.
        let entry = text.map(|text| serde_json::from_str(text)).transpose();
        let entry = entry.map_err(|error| corrupt(format!("it is no value of this version, column {}", error.column())))?;
        Ok(Self { next: stored.head.next, began: Some(stored.head.began), entry })
    }

    /// The value, if there is one at this moment.
    pub(super) fn live(&self, now: u64) -> Option<StoredValue> {
        match &self.entry {
            Some(ValueRecord::StoredValue { value, until }) if until.is_none_or(|until| until > now) => {
                Some(StoredValue { value: value.clone(), version: self.next, until: *until })
            }
            _ => None,
        }
    }
}
