//! The values that a host may give when a session begins (language 7.1).

use std::collections::BTreeMap;

use super::{Program, WriteSource, WriteTarget};
use trellis_base::{
    template::Shape,
    value::{Key, Value},
};

impl Program {
    /// Returns the keys that some node has a default for: a host may give them too. Each with whether its defaults are numbers, so that a given value
    /// must be one as well.
    pub fn defaults(&self) -> BTreeMap<&Key, bool> {
        let mut keys = BTreeMap::new();
        for write in self.nodes.iter().flat_map(|node| &node.entry.defaults) {
            let WriteTarget::Absent(key) = &write.to else { continue };
            let is_number = matches!(&write.value, WriteSource::Shape(Shape::Literal(Value::Int(_) | Value::UInt(_) | Value::Float(_))));
            *keys.entry(key).or_insert(true) &= is_number;
        }
        keys
    }
}
