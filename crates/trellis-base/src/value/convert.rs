//! Values from Rust's own types: `From` where nothing can go wrong, `TryFrom` where a number may not fit.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{ConvertError, Key, Value};

macro_rules! from_integers {
    ($($integer:ty => $through:ty),*) => {
        $(impl From<$integer> for Value {
            fn from(number: $integer) -> Self {
                Self::from(<$through>::from(number))
            }
        })*
    };
}

from_integers!(i8 => i64, i16 => i64, i32 => i64, u8 => i64, u16 => i64);

macro_rules! try_from_integers {
    ($($integer:ty),*) => {
        $(impl TryFrom<$integer> for Value {
            type Error = ConvertError;

            /// # Errors
            /// The integer does not fit 64 bits.
            fn try_from(number: $integer) -> Result<Self, ConvertError> {
                let signed = i64::try_from(number).map(Self::from);
                signed.or_else(|_| u64::try_from(number).map(Self::from)).map_err(|_| ConvertError::number(number))
            }
        })*
    };
}

try_from_integers!(i128, u128, isize, usize);

impl TryFrom<f64> for Value {
    type Error = ConvertError;

    /// # Errors
    /// The number is infinite or not a number.
    fn try_from(number: f64) -> Result<Self, ConvertError> {
        Self::float(number).ok_or_else(|| ConvertError::infinite(number))
    }
}

impl TryFrom<f32> for Value {
    type Error = ConvertError;

    /// # Errors
    /// The number is infinite or not a number.
    fn try_from(number: f32) -> Result<Self, ConvertError> {
        Self::try_from(f64::from(number))
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Null
    }
}

impl From<char> for Value {
    fn from(char: char) -> Self {
        Self::text(char.encode_utf8(&mut [0; 4]) as &str)
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Text(text)
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Self::text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    /// `None` is null.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<K: Into<Key>, V: Into<Value>> From<BTreeMap<K, V>> for Value {
    fn from(entries: BTreeMap<K, V>) -> Self {
        Self::map(entries)
    }
}

impl<K: Into<Key>, V: Into<Value>, S> From<HashMap<K, V, S>> for Value {
    fn from(entries: HashMap<K, V, S>) -> Self {
        Self::map(entries)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    /// Collects a list.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::list(items.into_iter().map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_types_become_values() {
        let values = Value::from([
            Value::from(-1_i8),
            Value::from(u64::MAX),
            Value::try_from(7_usize).unwrap(),
            Value::try_from(i128::from(u64::MAX)).unwrap(),
            Value::try_from(0.5).unwrap(),
            Value::from('é'),
            Value::from(Some("a")),
            Value::from(None::<bool>),
            Value::from(vec![1, 2]),
            Value::from(BTreeMap::from([("a", "b".to_owned())])),
            Value::from(HashMap::from([("c", [true])])),
            Value::from(()),
        ]);
        let json = r#"[-1,18446744073709551615,7,18446744073709551615,0.5,"é","a",null,[1,2],{"a":"b"},{"c":[true]},null]"#;
        assert_eq!(values.to_json(), json);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let refused = |result: Result<Value, ConvertError>| result.unwrap_err().to_string();
        assert_eq!(refused(Value::try_from(u128::MAX)), "the number 340282366920938463463374607431768211455 does not fit 64 bits");
        assert_eq!(refused(Value::try_from(i128::MIN)), "the number -170141183460469231731687303715884105728 does not fit 64 bits");
        assert_eq!(refused(Value::try_from(f64::NAN)), "a number must be finite, not NaN");
        assert_eq!(refused(Value::try_from(f32::NEG_INFINITY)), "a number must be finite, not -inf");
    }
}
