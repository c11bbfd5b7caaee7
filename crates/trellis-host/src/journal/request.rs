//! The requester of a record: a request that is sent twice is taken once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::MemoryJournal;

/// Requests that a session remembers.
const MAX_REQUESTS: usize = 32;

/// The request that made a record, as a server knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestKey {
    /// The client's own name for it: the same name is the same request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// A digest of the request, which distinguishes two requests of one name. `None` where it could disclose a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Arc<str>>,
    /// The requester, as the server names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
}

impl RequestKey {
    /// Creates a request of a named requester.
    pub fn by(label: impl Into<Arc<str>>) -> Self {
        Self { by: Some(label.into()), ..Self::default() }
    }

    /// Adds the name that its client gave it.
    #[must_use]
    pub fn with_key(self, key: impl Into<Arc<str>>, digest: Option<Arc<str>>) -> Self {
        Self { key: Some(key.into()), digest, ..self }
    }
}

/// The named requests that a session took last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TakenRequests(Vec<RequestKey>);

impl TakenRequests {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the request of this name, by the same requester.
    pub fn find(&self, request: &RequestKey) -> Option<&RequestKey> {
        let key = request.key.as_ref()?;
        self.0.iter().rev().find(|taken| taken.key.as_ref() == Some(key) && taken.by == request.by)
    }

    /// Remembers a request that has a name, and forgets the oldest.
    pub(crate) fn remember(&mut self, request: Option<&RequestKey>) {
        let Some(request) = request.filter(|request| request.key.is_some()) else { return };
        if self.0.len() >= MAX_REQUESTS {
            self.0.remove(0);
        }
        self.0.push(request.clone());
    }
}

impl MemoryJournal {
    /// Sets the requester of the record `seq`; returns false if it is not here.
    pub(crate) fn attribute(&mut self, seq: u64, request: &RequestKey) -> bool {
        let record = self.records.iter_mut().find(|record| record.seq == seq);
        record.map(|record| record.request = Some(request.clone())).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_requests_are_remembered_by_name_and_author() {
        let mut taken = TakenRequests::default();
        let request = |by: &str, key: &str| RequestKey::by(by).with_key(key, Some("d".into()));
        taken.remember(Some(&RequestKey::by("ana")));
        assert!(taken.is_empty(), "it has no name");
        for number in 0..=MAX_REQUESTS {
            taken.remember(Some(&request("ana", &number.to_string())));
        }
        assert!(taken.find(&request("ana", "0")).is_none());
        assert!(taken.find(&request("ana", "1")).is_some() && taken.find(&request("bob", "1")).is_none());
    }
}
