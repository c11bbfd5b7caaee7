//! The guards of a reply: which values they tell apart, which they leave without a way, and the findings about both.
//!
//! The checks ask by what a node alone says, the flow of data by what it knows of the operands; the answers and their words are the same.

pub(super) mod cases;
pub(super) mod gaps;
pub(super) mod impossible;
pub(super) mod value_index;
