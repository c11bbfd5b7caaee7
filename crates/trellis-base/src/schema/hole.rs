//! Holes: the parts of a value that are not known yet, by their JSON pointers.

/// A part of a value that is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// JSON pointer to it.
    pub pointer: String,
    /// True if it will be a text.
    pub text: bool,
    /// True if its key may be left out.
    pub optional: bool,
}

/// The JSON pointer of a key below another.
pub fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
