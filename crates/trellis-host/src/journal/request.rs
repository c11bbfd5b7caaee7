//! The requester of a record: a request that is sent twice is taken once.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{MemoryJournal, Record};

/// Requests that a session remembers.
const MAX_REQUESTS: usize = 32;

/// The request that made a record, as a server knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestKey {
    /// The client's own name for it: the same name is the same request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// A digest of the request, which distinguishes two requests of one name. A record that holds a secret has one without its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Arc<str>>,
    /// The requester, as the server names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    #[serde(skip)]
    veiled: Option<VeiledDigest>,
}

/// The digest for a record that holds a secret: one of few possible values could be found by trying.
#[derive(Clone)]
struct VeiledDigest {
    /// Of the request without its values.
    digest: Arc<str>,
    holds_secret: Arc<dyn Fn(&Record) -> bool + Send + Sync>,
}

impl fmt::Debug for VeiledDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VeiledDigest").field(&self.digest).finish()
    }
}

impl PartialEq for VeiledDigest {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for VeiledDigest {}

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

    /// Sets the digest of the request without its values, which a record keeps instead of the other where it holds a secret.
    #[must_use]
    pub fn veiled(self, digest: impl Into<Arc<str>>, holds_secret: impl Fn(&Record) -> bool + Send + Sync + 'static) -> Self {
        Self { veiled: Some(VeiledDigest { digest: digest.into(), holds_secret: Arc::new(holds_secret) }), ..self }
    }

    /// Returns whether this is the request of that name which was taken. Of one that gave a secret the values are not compared.
    pub fn is_repeated(&self, taken: &Self) -> bool {
        let veiled = self.veiled.as_ref().is_some_and(|veiled| taken.digest.as_ref() == Some(&veiled.digest));
        taken.digest == self.digest || veiled
    }

    /// Returns the request as a record keeps it.
    pub(crate) fn of(&self, record: &Record) -> Self {
        let veiled = self.veiled.as_ref().filter(|veiled| (veiled.holds_secret)(record)).map(|veiled| Arc::clone(&veiled.digest));
        Self { digest: veiled.or_else(|| self.digest.clone()), veiled: None, ..self.clone() }
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
    /// Sets the requester of the record `seq`, and returns it as the record keeps it; `None` if that is not here.
    pub(crate) fn attribute(&mut self, seq: u64, request: &RequestKey) -> Option<RequestKey> {
        let record = self.records.iter_mut().find(|record| record.seq == seq)?;
        record.request = Some(request.of(record));
        record.request.clone()
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
