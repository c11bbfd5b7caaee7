//! Rights of tokens.

use std::fmt;

/// One thing that a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// See graphs, sessions and events.
    Read,
    /// Begin sessions and answer them.
    Walk,
    /// Decide whether a call may run.
    Approve,
    /// Move sessions, set their context, remove them, reload graphs.
    Operate,
    /// Read metrics.
    Metrics,
    /// Write in the chat that is one's own, and read it: nothing of anybody else.
    Chat,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Read, Self::Walk, Self::Approve, Self::Operate, Self::Metrics, Self::Chat];

    /// As a tokens file has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Walk => "walk",
            Self::Approve => "approve",
            Self::Operate => "operate",
            Self::Metrics => "metrics",
            Self::Chat => "chat",
        }
    }

    /// The right of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The set of rights of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// Everything.
    pub fn all() -> Self {
        Right::ALL.into_iter().collect()
    }

    /// Returns whether the set contains this right.
    pub fn has(self, right: Right) -> bool {
        self.0 & (1 << right as u8) != 0
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        Self(rights.into_iter().fold(0, |bits, right| bits | (1 << right as u8)))
    }
}
