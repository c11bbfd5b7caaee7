//! A typed command, as the graph passes it to a function.

use crate::message::ChatPlace;

/// What a command was typed with, and where.
pub(super) struct Typed {
    pub(super) place: ChatPlace,
    /// Who typed it, as the provider names them.
    pub(super) sender: String,
    pub(super) args: Vec<String>,
    /// The key of the call that carries it out.
    pub(super) key: String,
    /// The name that no command has, where the list is shown for that.
    pub(super) unknown: Option<String>,
}

impl Typed {
    /// Who typed it, over all providers.
    pub(super) fn who(&self) -> String {
        format!("{}:{}", self.place.provider, self.sender)
    }

    pub(super) fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }
}
