//! Checks that need only the fixpoint: no path is searched for them.

pub(super) mod branch_undo;
pub(super) mod declared_types;
pub(super) mod each_items;
pub(super) mod invalid_text;
pub(super) mod never_said;
pub(super) mod never_true;
pub(super) mod open_input;
pub(super) mod returned_values;
pub(super) mod schema_words;
mod written_part;
