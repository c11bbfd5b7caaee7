//! The guards of a reply: the values that they distinguish, those that they leave without an edge, and the findings about both.
//!
//! The checks know the operands from a node alone, the data analysis from the flow of values; results and wording are the same.

pub(super) mod cases;
pub(super) mod gaps;
pub(super) mod impossible;
pub(super) mod value_index;
