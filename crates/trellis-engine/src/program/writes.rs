//! The writes of a reply, as one list that programs share.

use std::{ops::Deref, slice, sync::Arc};

use trellis_base::{path::KeyPath, span::Span, template::Shape, value::Key};

/// One write (language 2, remember).
#[derive(Clone, Debug)]
pub struct Write {
    /// The target of the write.
    pub to: WriteTarget,
    /// The source of the value.
    pub value: WriteSource,
    /// The key in the author's file that asks for it.
    pub origin: Span,
}

/// The target of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteTarget {
    /// `input` itself: `input_default` in place of an answer that did not come.
    Input,
    /// `sys.ans`.
    Ans,
    /// `sys.error`.
    Error,
    /// A context path.
    Path(KeyPath),
    /// The list at a context path: items are added, an absent key starts a list.
    Append(KeyPath),
    /// A context key, only while it is absent (`default_context`).
    Absent(Key),
}

/// The source of a written value.
#[derive(Clone, Debug)]
pub enum WriteSource {
    /// The accepted input or the bare result.
    Input,
    /// The error that led here.
    Error,
    /// A shape over the scope as it is then.
    Shape(Shape),
    /// The outcome of this branch in a result; nothing is written if the branch did not succeed (language 10.3).
    Branch(Key),
}

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
