//! The values that templates and guards can read (language 4.1 to 4.3).

pub use trellis_base::scope::{RESERVED, Scope, Sys};
