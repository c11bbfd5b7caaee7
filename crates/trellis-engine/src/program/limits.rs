//! The bounds of a program, and values that exceed one of them.
//!
//! ```text
//! inputs, results, contexts                    at most `depth` levels and `value` bytes
//! values that the graph makes of them          at most ROOM levels more, `value` bytes, and `context` bytes in all
//! records, states, calls around the values     fewer levels than readers of JSON take beyond that
//! ```
//!
//! **Invariant:** a stored value can be read again: [`Limits::DEEPEST`], [`ROOM`] and the levels of a record or a call that calls others are
//! within the [`trellis_base::value::DEPTH`] that a reader accepts.

use std::fmt;

use crate::state::PendingCall;
use trellis_base::{
    context::Context,
    language::DEEPEST,
    template::DEFAULT_FUEL,
    value::{Key, Mapping, Value},
};

/// Levels that a graph may add around received values: dotted paths, mappings and lists of its own, arguments.
pub const ROOM: u32 = 32;

/// Levels of calls within calls, as they are stored: each takes four.
const CALLS: u32 = 16;

/// The bounds (language A.1) that the core enforces, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one input: 4 KiB.
    pub input: u64,
    /// Levels of lists and mappings in a value that comes in: 64, which is also the most.
    pub depth: u32,
    /// Bytes of one value as compact JSON: 16 MiB.
    pub value: u64,
    /// Bytes of a session's context as compact JSON: 16 MiB.
    pub context: u64,
    /// Bytes of one rendered template: 1 MiB.
    pub template_output: u64,
    /// Instructions of one rendered template: 1,000,000.
    pub template_fuel: u64,
    /// Steps through nodes that do not stop, in a row: 10,000. Enforced by hosts.
    pub pass_through: u64,
    /// Bytes of one tool output: 1 MiB. Enforced by hosts.
    pub tool_output: u64,
    /// Bytes that one tool writes on standard error: 16 MiB. Enforced by hosts.
    pub tool_stderr: u64,
    /// Effects remembered at once: 10,000.
    pub effects: u64,
    /// Parts of a `parallel` or `each` that run at once, where the call sets no `limit`: 16, at most 64.
    pub abreast: u32,
    /// Parts of one `parallel` or `each`: 1,000.
    pub parts: u64,
    /// Bytes of the outcomes of the parts of one call, together, as compact JSON: 16 MiB.
    pub parts_output: u64,
    /// Child sessions that are alive in one tree: 1,000. Enforced by hosts.
    pub children: u64,
    /// Children in children: 64. Enforced by hosts.
    pub nested_children: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            input: 4 << 10,
            depth: Self::DEEPEST,
            value: 16 << 20,
            context: 16 << 20,
            template_output: 1 << 20,
            template_fuel: DEFAULT_FUEL,
            pass_through: 10_000,
            tool_output: 1 << 20,
            tool_stderr: 16 << 20,
            effects: 10_000,
            abreast: 16,
            parts: 1_000,
            parts_output: 16 << 20,
            children: 1_000,
            nested_children: 64,
        }
    }
}

/// A value or a context is above a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The bound that was exceeded.
    pub bound: Bound,
    /// The measured amount.
    pub met: u64,
    /// The allowed amount.
    pub limit: u64,
}

/// A key is above a bound, or the context with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {excess}", key.as_ref().map_or_else(|| "the context".to_owned(), |key| format!("`{key}`")))]
pub struct KeyExcess {
    /// The key; `None` for the context as a whole.
    pub key: Option<Key>,
    /// The bound, and the measured amount.
    pub excess: Excess,
}

/// The bounds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `limits.depth`: levels of a value that comes in.
    Depth,
    /// `limits.depth` and [`ROOM`]: levels of a stored value.
    DepthKept,
    /// `limits.value`: bytes of a value.
    Value,
    /// `limits.context`: bytes of a context.
    Context,
}

impl Limits {
    /// The highest `depth` that can be set.
    pub const DEEPEST: u32 = DEEPEST;

    /// Checks that a value from outside is within the bounds.
    ///
    /// # Errors
    /// It is nested too deeply, or too large.
    pub fn admit(&self, value: &Value) -> Result<(), Excess> {
        self.nest(value.depth())?;
        within(Bound::Value, value.size(), self.value)
    }

    /// Checks that a value of this many levels may enter.
    pub(crate) fn nest(&self, depth: u32) -> Result<(), Excess> {
        within(Bound::Depth, depth.into(), self.depth.into())
    }

    /// Checks that a value that the graph made may be stored.
    ///
    /// # Errors
    /// It is nested too deeply, or too large.
    pub fn keep(&self, value: &Value) -> Result<(), Excess> {
        within(Bound::DepthKept, value.depth().into(), (self.depth + ROOM).into())?;
        within(Bound::Value, value.size(), self.value)
    }

    /// Checks that keys may enter a context: `given` are the values as received, by key or dotted path, and `keys` the keys as the context would
    /// have them.
    ///
    /// # Errors
    /// A value is nested too deeply or too large, or the context would be too large with them.
    pub fn admit_keys(&self, context: &Context, given: &Mapping, keys: &Mapping) -> Result<(), KeyExcess> {
        let of = |key: &Key| {
            let key = Some(key.clone());
            |excess| KeyExcess { key, excess }
        };
        given.iter().try_for_each(|(key, value)| self.admit(value).map_err(of(key)))?;
        keys.iter().try_for_each(|(key, value)| self.keep(value).map_err(of(key)))?;
        let mut context = context.clone();
        context.extend(keys);
        within(Bound::Context, context.size(), self.context).map_err(|excess| KeyExcess { key: None, excess })
    }

    /// Checks that a call may be made with these arguments, and those of the calls in it.
    pub(crate) fn send(&self, call: &PendingCall) -> Result<(), Excess> {
        call.values().iter().try_for_each(|value| self.keep(value))?;
        within(Bound::DepthKept, call.depth().into(), (self.depth + ROOM + CALLS).into())
    }
}

fn within(bound: Bound, met: u64, limit: u64) -> Result<(), Excess> {
    if met > limit { Err(Excess { bound, met, limit }) } else { Ok(()) }
}

impl fmt::Display for Excess {
    /// Writes the text after the name of the value: `is nested 65 levels deep, the limit is 64 (`limits.depth`)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, met, limit } = self;
        match bound {
            Bound::Depth => write!(f, "is nested {met} levels deep, the limit is {limit} (`limits.depth`)"),
            Bound::DepthKept => write!(f, "would be nested {met} levels deep, the limit is {limit} (`limits.depth` and {ROOM} more)"),
            Bound::Value => write!(f, "has {met} bytes as JSON, the limit is {limit} (`limits.value`)"),
            Bound::Context => write!(f, "would have {met} bytes as JSON, the limit is {limit} (`limits.context`)"),
        }
    }
}
