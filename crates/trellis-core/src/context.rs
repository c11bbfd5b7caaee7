//! The context of a session.

pub use trellis_base::context::{Context, NotAMapping};
