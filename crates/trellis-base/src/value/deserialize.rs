//! A [`Value`] as any Rust type that serde deserialises.
//!
//! **Invariant:** nothing is copied that the type can borrow, and an error names its place in the value.

use serde::{
    Deserialize,
    de::{
        Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
        value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::Segment;
use super::{ConvertError, Key, Value, key::KeyDeserializer};

/// Reads a value as a Rust type, which may borrow from it. It reads every result of [`to_value`](super::to_value) back.
///
/// # Errors
/// The value does not fit the type. The error names the place.
///
/// ```
/// use trellis_base::{Value, value::from_value};
///
/// #[derive(Debug, PartialEq, serde::Deserialize)]
/// struct Order<'v> {
///     id: u64,
///     note: &'v str,
/// }
///
/// let value = Value::map([("id", Value::from(7)), ("note", Value::from("no sugar"))]);
/// assert_eq!(from_value::<Order>(&value)?, Order { id: 7, note: "no sugar" });
///
/// let error = from_value::<Vec<Order>>(&Value::from([Value::map([("id", "seven")])])).unwrap_err();
/// assert_eq!(error.to_string(), "at `0.id`: invalid type: string \"seven\", expected u64");
/// # Ok::<(), trellis_base::value::ConvertError>(())
/// ```
pub fn from_value<'v, T: Deserialize<'v>>(value: &'v Value) -> Result<T, ConvertError> {
    T::deserialize(value)
}

impl Value {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(truth) => Unexpected::Bool(*truth),
            Self::Int(number) => Unexpected::Signed(*number),
            Self::UInt(number) => Unexpected::Unsigned(*number),
            Self::Float(number) => Unexpected::Float(*number),
            Self::Text(text) => Unexpected::Str(text),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        }
    }

    fn is_no(&self, expected: &dyn Expected) -> ConvertError {
        ConvertError::invalid_type(self.unexpected(), expected)
    }
}

impl<'v> IntoDeserializer<'v, ConvertError> for &'v Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'v> Deserializer<'v> for &'v Value {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            // A number without a sign comes as one, as from `serde_json`.
            Value::Int(number) => match u64::try_from(*number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => visitor.visit_i64(*number),
            },
            Value::UInt(number) => visitor.visit_u64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(items) => {
                let mut access = ListAccess { items: items.iter(), at: 0 };
                let taken = visitor.visit_seq(&mut access)?;
                all_taken(taken, items.len(), access.items.len())
            }
            Value::Map(entries) => {
                let mut access = EntryAccess { entries: entries.iter(), value: None };
                let taken = visitor.visit_map(&mut access)?;
                all_taken(taken, entries.len(), access.entries.len())
            }
        }
    }

    fn deserialize_option<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        match self {
            Value::Null => visitor.visit_none(),
            present => visitor.visit_some(present),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'v>>(self, _name: &'static str, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'v>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        match self {
            Value::Text(name) => visitor.visit_enum(Variant { name, content: None }),
            Value::Map(entries) => match (entries.iter().next(), entries.len()) {
                (Some((name, content)), 1) => visitor.visit_enum(Variant { name, content: Some(content) }),
                _ => Err(ConvertError::invalid_value(Unexpected::Map, &"a mapping with one key, the variant")),
            },
            other => Err(other.is_no(&"text or a mapping, for a variant")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'v>>(self, _name: &'static str, visitor: V) -> Result<V::Value, ConvertError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <V: Visitor<'v>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit seq tuple tuple_struct map struct identifier
    }
}

/// Returns the result of a visitor, unless it left entries over.
fn all_taken<T>(taken: T, len: usize, left: usize) -> Result<T, ConvertError> {
    if left == 0 { Ok(taken) } else { Err(ConvertError::invalid_length(len, &&*format!("{} of them", len - left))) }
}

/// Hands out the items of a list.
struct ListAccess<I> {
    items: I,
    at: usize,
}

impl<'v, I: Iterator<Item = &'v Value> + ExactSizeIterator> SeqAccess<'v> for ListAccess<I> {
    type Error = ConvertError;

    fn next_element_seed<T: serde::de::DeserializeSeed<'v>>(&mut self, seed: T) -> Result<Option<T::Value>, ConvertError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let at = self.at;
        self.at += 1;
        seed.deserialize(item).map(Some).map_err(|error| error.within(Segment::Index(at)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// Hands out the entries of a mapping.
struct EntryAccess<'v, I: Iterator<Item = (&'v Key, &'v Value)>> {
    entries: I,
    value: Option<(&'v Key, &'v Value)>,
}

impl<'v, I: Iterator<Item = (&'v Key, &'v Value)> + ExactSizeIterator> MapAccess<'v> for EntryAccess<'v, I> {
    type Error = ConvertError;

    fn next_key_seed<K: serde::de::DeserializeSeed<'v>>(&mut self, seed: K) -> Result<Option<K::Value>, ConvertError> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key, value));
        seed.deserialize(KeyDeserializer(key)).map(Some).map_err(|error| error.within(Segment::Key(key.clone())))
    }

    fn next_value_seed<T: serde::de::DeserializeSeed<'v>>(&mut self, seed: T) -> Result<T::Value, ConvertError> {
        let (key, value) = self.value.take().ok_or_else(|| ConvertError::new("a value was asked for before its key"))?;
        seed.deserialize(value).map_err(|error| error.within(Segment::Key(key.clone())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A variant by its name, and its content if it has any.
struct Variant<'v> {
    name: &'v str,
    content: Option<&'v Value>,
}

impl<'v> EnumAccess<'v> for Variant<'v> {
    type Error = ConvertError;
    type Variant = VariantContent<'v>;

    fn variant_seed<T: serde::de::DeserializeSeed<'v>>(self, seed: T) -> Result<(T::Value, VariantContent<'v>), ConvertError> {
        let variant = seed.deserialize(StrDeserializer::<ConvertError>::new(self.name))?;
        Ok((variant, VariantContent(self)))
    }
}

struct VariantContent<'v>(Variant<'v>);

impl<'v> VariantContent<'v> {
    fn read<T>(self, kind: &'static str, read: impl FnOnce(&'v Value) -> Result<T, ConvertError>) -> Result<T, ConvertError> {
        let Variant { name, content } = self.0;
        let content = content.ok_or_else(|| ConvertError::invalid_type(Unexpected::UnitVariant, &kind))?;
        read(content).map_err(|error| error.within(Segment::Key(name.into())))
    }
}

impl<'v> VariantAccess<'v> for VariantContent<'v> {
    type Error = ConvertError;

    fn unit_variant(self) -> Result<(), ConvertError> {
        if self.0.content.is_none() { Ok(()) } else { self.read("a variant", <()>::deserialize) }
    }

    fn newtype_variant_seed<T: serde::de::DeserializeSeed<'v>>(self, seed: T) -> Result<T::Value, ConvertError> {
        self.read("a variant with content", |content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'v>>(self, _len: usize, visitor: V) -> Result<V::Value, ConvertError> {
        self.read("a variant with a list", |content| match content {
            Value::List(_) => content.deserialize_any(visitor),
            other => Err(other.is_no(&"a list, for the variant")),
        })
    }

    fn struct_variant<V: Visitor<'v>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, ConvertError> {
        self.read("a variant with fields", |content| match content {
            Value::List(_) | Value::Map(_) => content.deserialize_any(visitor),
            other => Err(other.is_no(&"a mapping, for the variant")),
        })
    }
}
