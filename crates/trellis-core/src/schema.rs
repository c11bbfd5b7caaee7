//! JSON Schema 2020-12 behind one door: the validator, and what it says about types.

use std::fmt;

use crate::{path::Segment, value::Value};

/// A compiled schema. Cheap to clone.
#[derive(Clone)]
pub struct Schema(std::sync::Arc<Inner>);

struct Inner {
    source: Value,
}

/// Why a value is no JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// Path to the part that is wrong, as [`crate::syntax::project::BindingSyntax::spans`] has it: `properties.id.type`.
    pub path: String,
    /// One line.
    pub message: String,
}

/// One way in which a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// JSON pointer into the value; empty for the value itself.
    pub pointer: String,
    /// One line, lower case, without a full stop.
    pub message: String,
}

impl Schema {
    /// Compiles a schema; remote references are refused.
    ///
    /// # Errors
    /// It is no valid schema.
    pub fn new(source: &Value) -> Result<Self, SchemaError> {
        let _ = source;
        todo!()
    }

    /// The schema as written.
    pub fn source(&self) -> &Value {
        &self.0.source
    }

    /// Every way in which `value` does not fit, sorted by pointer.
    pub fn breaches(&self, value: &Value) -> Vec<Breach> {
        let _ = value;
        todo!()
    }

    /// Whether `value` fits.
    pub fn fits(&self, value: &Value) -> bool {
        let _ = value;
        todo!()
    }

    /// The values that can stand at `path` below a fitting value, where they are few and known (`enum`, `const`, booleans, null); nothing where they are open.
    /// The second part says whether that place may also be absent.
    pub fn closed(&self, path: &[Segment]) -> Option<(Vec<Value>, bool)> {
        let _ = path;
        todo!()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.0.source).finish()
    }
}
