//! Values: JSON with exact integers, cheap to clone.

pub use trellis_base::value::{ConvertError, DEPTH, Iter, JsonError, Key, List, Mapping, Segment, Value, from_value, to_value};
