//! JSON Schemas, and how values fit them.

pub use trellis_base::schema::{Breach, Flaw, Hole, Schema, SchemaError, SchemaWord, below};
