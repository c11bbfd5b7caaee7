//! The size of a value, and the depth of its nesting.
//!
//! ```text
//! scalar ─────────────▶ Measure        at once
//! list, mapping ──────▶ Measure        the sum of its parts, measured once and stored with them
//! ```
//!
//! **Invariant:** no function here recurses on the depth of a value, and shared parts of lists and mappings are measured once.

use super::Value;

/// The size of a value, and the depth of its nesting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measure {
    /// Bytes as compact JSON; a character that JSON escapes in a text counts as itself.
    pub(crate) size: u64,
    /// Levels of lists and mappings: 0 for a text, 1 for `[]`, 2 for `[{}]`.
    pub(crate) depth: u32,
}

/// The sum over the parts of a list or a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartSizes {
    /// Bytes with one comma each, and of a mapping with the keys.
    bytes: u64,
    /// Of the deepest part.
    depth: u32,
}

impl PartSizes {
    pub(crate) fn add(&mut self, part: Measure) {
        self.bytes = self.bytes.saturating_add(part.size).saturating_add(1);
        self.depth = self.depth.max(part.depth);
    }

    pub(crate) fn add_entry(&mut self, key: &str, part: Measure) {
        self.add(entry(key, part));
    }

    /// Returns the sum after an entry was set. The depth never falls: if the deepest entry was replaced, the parts must be measured again.
    pub(crate) fn with_entry(mut self, key: &str, before: Option<Measure>, after: Measure) -> Self {
        if let Some(before) = before {
            self.bytes = self.bytes.saturating_sub(entry(key, before).size + 1);
        }
        self.add_entry(key, after);
        self
    }

    /// Returns whether a replaced part may have been the deepest.
    pub(super) fn may_fall(self, before: Measure, after: Measure) -> bool {
        before.depth == self.depth && after.depth < before.depth
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), depth: self.depth.max(other.depth) }
    }

    /// The list or mapping that holds them.
    pub(crate) fn whole(self) -> Measure {
        // The last part has no comma, and an empty list has two brackets.
        Measure { size: self.bytes.max(1).saturating_add(1), depth: self.depth.saturating_add(1) }
    }
}

/// An entry of a mapping: quotes and colon included.
fn entry(key: &str, part: Measure) -> Measure {
    Measure { size: part.size.saturating_add(key.len() as u64 + 3), depth: part.depth }
}

impl Value {
    /// Returns the bytes of the value as compact JSON; a character that JSON escapes in a text counts as itself. A list or mapping is measured once.
    pub fn size(&self) -> u64 {
        self.measure().size
    }

    /// Levels of lists and mappings: 0 for a text, 1 for `[]`, 2 for `[{}]`. A list or mapping is measured once.
    pub fn depth(&self) -> u32 {
        self.measure().depth
    }

    pub(crate) fn measure(&self) -> Measure {
        self.measured().unwrap_or_else(|| {
            let mut open = vec![self];
            while let Some(value) = open.last().copied() {
                let waiting = open.len();
                value.parts(&mut |part| {
                    if part.measured().is_none() {
                        open.push(part);
                    }
                });
                if open.len() == waiting {
                    value.sum_up();
                    open.pop();
                }
            }
            self.measured().unwrap_or_default()
        })
    }

    /// The measure, if no part has to be measured for it.
    pub(super) fn measured(&self) -> Option<Measure> {
        let scalar = |size| Some(Measure { size, depth: 0 });
        match self {
            Self::Null | Self::Bool(true) => scalar(4),
            Self::Bool(false) => scalar(5),
            Self::Int(number) => scalar(u64::from(*number < 0) + digits(number.unsigned_abs())),
            Self::UInt(number) => scalar(digits(*number)),
            Self::Float(_) => scalar(self.to_json().len() as u64),
            Self::Text(text) => scalar(text.len() as u64 + 2),
            Self::List(items) => items.measured(),
            Self::Map(entries) => entries.measured(),
        }
    }

    fn parts<'v>(&'v self, see: &mut impl FnMut(&'v Value)) {
        match self {
            Self::List(items) => items.iter().for_each(see),
            Self::Map(entries) => entries.iter().for_each(|(_, value)| see(value)),
            _ => {}
        }
    }

    /// Stores the sum of parts that are all measured.
    fn sum_up(&self) {
        match self {
            Self::List(items) => items.sum_up(),
            Self::Map(entries) => entries.sum_up(),
            _ => {}
        }
    }
}

fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn a_size_is_the_length_as_json_and_a_depth_the_brackets() {
        let texts = [
            ("null", 0),
            ("-12", 0),
            ("18446744073709551615", 0),
            ("0.5", 0),
            (r#""äb""#, 0),
            ("[]", 1),
            ("{}", 1),
            ("[[],[1,2,-3],{}]", 2),
            (r#"{"a":{"b":[true,false,null]},"c":10}"#, 3),
        ];
        for (text, depth) in texts {
            assert_eq!((json(text).size(), json(text).depth()), (text.len() as u64, depth), "{text}");
        }
    }

    #[test]
    fn a_value_of_a_million_levels_is_measured_compared_printed_and_dropped() {
        let deep = |leaf: i64| {
            (0..1_000_000).fold(Value::Int(leaf), |inside, at| match at % 2 {
                0 => Value::list([inside]),
                _ => Value::map([("a", inside)]),
            })
        };
        let (value, other) = (deep(1), deep(1));
        assert_eq!(value.depth(), 1_000_000);
        assert!(value == other && value.is_same(&other) && value != deep(2));
        assert_eq!(value.to_json().len() as u64, value.size());
        assert!(serde_json::to_string(&value).unwrap_err().to_string().contains("1000000 levels"));
        assert!(format!("{value:?}").len() < 1_000);
    }

    #[test]
    fn what_is_shared_is_looked_at_once() {
        let doubled = (0..80).fold(json("[1]"), |inside, _| Value::list([inside.clone(), inside]));
        assert_eq!((doubled.size(), doubled.depth()), (u64::MAX, 81));
    }

    #[test]
    fn a_change_is_measured_again() {
        let Value::Map(mut entries) = json(r#"{"a":[[1]],"b":2}"#) else { unreachable!() };
        let size = |entries: &crate::value::Mapping| Value::Map(entries.clone()).measure();
        assert_eq!(size(&entries).depth, 3);
        entries.insert("b".into(), json("[1,2]"));
        assert_eq!(size(&entries), json(r#"{"a":[[1]],"b":[1,2]}"#).measure());
        entries.insert("a".into(), Value::Int(1));
        assert_eq!(size(&entries), json(r#"{"a":1,"b":[1,2]}"#).measure());
        *entries.get_mut("b").unwrap() = Value::Null;
        assert_eq!(size(&entries), json(r#"{"a":1,"b":null}"#).measure());
    }
}
