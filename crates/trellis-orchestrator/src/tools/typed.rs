//! A typed command, as the graph passes it to a function.

use crate::message::ChatPlace;

/// The arguments and the place of a typed command.
pub(super) struct Typed {
    pub(super) place: ChatPlace,
    /// The person who typed it, as the provider names them.
    pub(super) sender: String,
    pub(super) args: Vec<String>,
    /// The key of the call that carries it out.
    pub(super) key: String,
    /// The unknown name, if the list of commands is shown for that.
    pub(super) unknown: Option<String>,
}

impl Typed {
    /// Returns the name of the person who typed it, unique over all providers.
    pub(super) fn who(&self) -> String {
        format!("{}:{}", self.place.provider, self.sender)
    }

    pub(super) fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }
}
