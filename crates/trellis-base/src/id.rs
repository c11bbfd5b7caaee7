//! Names that must not be mixed up: nodes, sessions, calls, signals.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name `text`.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as shared text.
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    )*};
}

names! {
    /// A node: its path below the root without extension, `/` on every platform (language 1.3).
    NodeId,
    /// A session, as its host names it.
    SessionId,
    /// One attempt of one call (language 7.8).
    CallId,
    /// The key that all attempts of one call share (language 7.8).
    IdempotencyKey,
    /// The random number of a start, as text (language 7.8): keys of calls derive from it, so that no two starts share one. A host draws it, and
    /// shows it to no tool: whoever knows it can test guesses at the names behind a key.
    KeySeed,
    /// A signal such as `interrupt` or `timeout` (language 7.5).
    SignalName,
}

impl NodeId {
    /// Names that no node may have: they are targets with a meaning of their own (language 1.6).
    pub const RESERVED: [&str; 2] = ["rollback", "fail"];

    /// The folder that holds the node, without a trailing slash; empty at the root.
    pub fn folder(&self) -> &str {
        self.as_str().rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.as_str().rsplit_once('/').map_or(self.as_str(), |(_, name)| name)
    }

    /// Returns whether it is the beginning of its folder (language 1.4).
    pub fn is_start(&self) -> bool {
        self.name() == "start"
    }
}

impl SignalName {
    /// The signal of a listening node whose time is up.
    pub const TIMEOUT: &'static str = "timeout";
    /// The signal that Ctrl-C becomes.
    pub const INTERRUPT: &'static str = "interrupt";
}
