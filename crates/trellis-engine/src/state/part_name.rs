//! Names of parts of a call, and the calls that were made for them already.
//!
//! **Invariant:** nothing here knows a call, so that a call can hold both.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use trellis_base::value::Value;

/// The name of a part within its call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PartName {
    /// A branch of `parallel`.
    Branch(Arc<str>),
    /// An item of `each`, by its place from 0.
    Item(u32),
}

impl PartName {
    /// The name as `sys.error.part` has it.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Branch(name) => Value::Text(Arc::clone(name)),
            Self::Item(at) => Value::Int(i64::from(*at)),
        }
    }
}

impl std::fmt::Display for PartName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Branch(name) => f.write_str(name),
            Self::Item(at) => write!(f, "{at}"),
        }
    }
}

/// First attempts of the parts of a call, each made once; a copy of the call makes its own.
#[derive(Debug)]
pub struct PartCalls<T>(OnceLock<Box<[OnceLock<Arc<T>>]>>);

impl<T> PartCalls<T> {
    /// The call of a part, made by `make` when it is asked for first.
    pub(crate) fn get(&self, count: usize, at: usize, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        let calls = self.0.get_or_init(|| std::iter::repeat_with(OnceLock::new).take(count).collect());
        calls.get(at).map(|call| Arc::clone(call.get_or_init(|| Arc::new(make()))))
    }
}

impl<T> Clone for PartCalls<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PartialEq for PartCalls<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Default for PartCalls<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}
