//! The part of a watched graph that may have changed.
//!
//! **Invariant:** an extent may name too much, never too little: where it is not known which files changed, it is everything.

use std::{collections::BTreeSet, path::PathBuf};

/// The largest number of files in an extent; beyond it, looking at everything is as good as looking at many.
#[cfg(feature = "watching")]
const MOST: usize = 64;

/// The part that may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The content of these files, if there is any. Their paths are absolute, in folders without links.
    Files(BTreeSet<PathBuf>),
    /// Anything: folders, links or rules may be others, events were lost, or the system does not watch.
    #[default]
    Anything,
}

#[cfg(feature = "watching")]
impl Extent {
    /// Both.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Files(mut files), Self::Files(more)) => {
                files.extend(more);
                if files.len() <= MOST { Self::Files(files) } else { Self::Anything }
            }
            _ => Self::Anything,
        }
    }
}
