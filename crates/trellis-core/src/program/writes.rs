//! What a reply writes, as one list that programs share.

use std::{ops::Deref, slice, sync::Arc};

use super::Write;

/// Writes in order; cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct Writes(Arc<[Write]>);

impl std::convert::From<Vec<Write>> for Writes {
    fn from(writes: Vec<Write>) -> Self {
        // An empty list costs nothing.
        if writes.is_empty() { Self::default() } else { Self(writes.into()) }
    }
}

impl Deref for Writes {
    type Target = [Write];

    fn deref(&self) -> &[Write] {
        &self.0
    }
}

impl<'w> IntoIterator for &'w Writes {
    type IntoIter = slice::Iter<'w, Write>;
    type Item = &'w Write;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
