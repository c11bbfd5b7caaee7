//! Keys of project files that a host reads: bindings, `servers`, `models`, `policy`, `budget` (language 9.1).

use std::collections::BTreeMap;

use trellis_base::{
    diagnostic::FilePath,
    span::{Span, Spanned},
    template::Shape,
    value::{Mapping, Value},
};

/// Values that a host reads, with their places.
#[derive(Clone, Debug, Default)]
pub struct HostConfig {
    /// The file of the keys.
    pub path: FilePath,
    /// The values as written, by key: `http`, `env` … of a binding, `servers`, `models` … of a project.
    pub values: Mapping,
    /// The place of each value, by its path: `process.0`, `env.TOKEN`, `servers.wiki.url`.
    pub spans: BTreeMap<String, Span>,
    /// Values that are filled in when they are used, by their path (language 9.2): `http` and `args` of a binding read its call
    /// ([`Scope::of_call`](trellis_base::scope::Scope::of_call)), the others (`env`, `servers.wiki.headers`, `models.providers.cloud.key`) hold secrets
    /// and nothing else.
    pub shapes: BTreeMap<String, Spanned<Shape>>,
}

impl HostConfig {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Returns the value at the end of these keys: `["servers", "wiki"]`.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        rest.iter().try_fold(self.get(first)?, |value, key| value.get(key))
    }

    /// Returns the place of a path, or of the nearest value around it that is known.
    pub fn span(&self, path: &str) -> Option<Span> {
        let mut path = Some(path);
        while let Some(place) = path {
            if let Some(span) = self.spans.get(place) {
                return Some(*span);
            }
            path = place.rsplit_once('.').map(|(around, _)| around);
        }
        None
    }

    /// Returns the shape at a path.
    pub fn shape(&self, path: &str) -> Option<&Spanned<Shape>> {
        self.shapes.get(path)
    }
}
