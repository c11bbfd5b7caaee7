//! The words that some keys accept, for lists of them.

use super::values;
#[cfg(test)]
use super::{act, decide, listen, node, project};

/// The short names of types.
pub(crate) fn short_types() -> Vec<&'static str> {
    names(&values::TYPES)
}

/// The names of types in JSON Schemas.
pub(crate) fn json_types() -> Vec<&'static str> {
    let named = values::TYPES.iter().map(|(_, name)| *name).filter(|name| !name.is_empty());
    named.chain(["object", "array", "null"]).collect()
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
