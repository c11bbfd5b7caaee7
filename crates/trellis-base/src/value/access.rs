//! Access to values: their kinds and their parts.

use super::Value;

impl Value {
    /// The integer, if it is one and fits.
    ///
    /// ```
    /// use trellis_base::Value;
    ///
    /// assert_eq!(Value::from(-7).as_i64(), Some(-7));
    /// assert_eq!(Value::from(u64::MAX).as_i64(), None);
    /// assert_eq!(Value::from("7").as_i64(), None);
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The integer, if it is one and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            Self::UInt(number) => Some(*number),
            _ => None,
        }
    }

    /// The number, if it is one. An integer beyond 2^53 becomes the double that is nearest.
    #[expect(clippy::cast_precision_loss, reason = "a caller who asks for a double gets the nearest one")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::UInt(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value under `key`, if it is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The value at a dotted path, as conditions write it: each part is a key of a mapping or an index of a list, from 0. The empty path is the
    /// value itself.
    ///
    /// ```
    /// use trellis_base::Value;
    ///
    /// let order = Value::from_json(r#"{"items": [{"id": 7}]}"#)?;
    /// assert_eq!(order.at("items.0.id").and_then(Value::as_i64), Some(7));
    /// assert_eq!(order.at("items.1.id"), None);
    /// # Ok::<(), trellis_base::value::JsonError>(())
    /// ```
    pub fn at(&self, path: &str) -> Option<&Value> {
        if path.is_empty() {
            return Some(self);
        }
        path.split('.').try_fold(self, |value, part| match value {
            Self::Map(entries) => entries.get(part),
            Self::List(items) if part.bytes().all(|byte| byte.is_ascii_digit()) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }
}
