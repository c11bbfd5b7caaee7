//! A command as the graph hands it on.

use crate::message::ChatPlace;

/// What a command was typed with, and where.
pub(super) struct Typed {
    pub(super) place: ChatPlace,
    pub(super) args: Vec<String>,
    /// The key of the call that carries it out.
    pub(super) key: String,
    /// The name that no command has, where the list is shown for that.
    pub(super) unknown: Option<String>,
}

impl Typed {
    pub(super) fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }
}
