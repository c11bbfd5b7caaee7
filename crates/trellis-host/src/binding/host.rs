//! What the bindings of a host share, over all its graphs and reloads.

use super::Secrets;

/// Things that bindings share: the secrets, and whatever stays open between calls. Clones share the same things, so a host makes one and hands it to
/// every [`super::Bindings::new`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Host {
    /// The values of secrets.
    pub secrets: Secrets,
    /// Indexes of `documents.search`.
    #[cfg(feature = "sqlite")]
    pub(super) indexes: super::builtin::Indexes,
}

impl Host {
    /// A host that knows no secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with secrets.
    #[must_use]
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }
}
