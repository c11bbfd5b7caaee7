//! The words that some keys accept, for lists of them.

use super::values;
#[cfg(test)]
use super::{act, decide, listen, node, project};

/// The short names of types.
pub(crate) fn short_types() -> Vec<&'static str> {
    names(&values::TYPES)
}

/// Those of keys whose words are described one by one, by key.
#[cfg(test)]
pub(crate) fn described() -> [(&'static str, Vec<&'static str>); 5] {
    [
        ("type", names(&node::KINDS)),
        ("input_type", names(&listen::TYPES)),
        ("end", names(&decide::ENDS)),
        ("templates", names(&project::DIALECTS)),
        ("effect", names(&act::EFFECTS)),
    ]
}

fn names<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}
